import { keptReadings } from '../../limits/history/kept-readings.ts'
import { type Series, seriesOf } from '../../limits/series.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { type AlertWrites, accountStepKeys, stepJson } from '../../redis/steps.ts'
import type { AlertLevel } from '../alert.ts'
import { encodeState } from '../alert-state.ts'
import type { Acknowledged } from '../series-state.ts'
import { acknowledgeState, lastingAcknowledgement } from './acknowledge-state.ts'
import { findAlertOf } from './find-alert.ts'

export interface AcknowledgeDeps {
  store: Store
  keys: Keys
  /** How long it lasts at most. */
  acknowledgeForMs: number
}

/** An alert as whoever acknowledges it saw it. */
export interface SeenAlert {
  id: string
  hubId: number
  level: AlertLevel
}

export type AcknowledgeOutcome =
  | { is: 'acknowledged' | 'already'; acknowledged: Acknowledged }
  | { is: 'not-open' }
  /** It is at a higher level than was seen: nobody has acknowledged that. */
  | { is: 'gone-worse' }

/** Somebody takes an alert up: it is not told again until it gets worse. */
export async function acknowledgeAlert(
  deps: AcknowledgeDeps,
  seen: SeenAlert,
  by: { by: string; comment?: string | undefined },
  now: number,
): Promise<AcknowledgeOutcome> {
  const { store, keys, acknowledgeForMs } = deps
  for (;;) {
    const open = await findAlertOf(deps, seen.hubId, seen.id)
    if (open === undefined) return { is: 'not-open' }
    const before = lastingAcknowledgement(open.state, now)
    if (before !== undefined) return { is: 'already', acknowledged: before }
    if (open.state.level === 'critical' && seen.level !== 'critical') return { is: 'gone-worse' }
    const reading = await lastReading(deps, open.hubId, open.field)
    const after = acknowledgeState(open.state, { ...by, at: now, until: now + acknowledgeForMs }, reading)
    const writes: AlertWrites = { changes: [[open.field, open.stored, encodeState(after)]], entries: [] }
    const outcome = await store.changeAlerts(...accountStepKeys(keys, open.hubId), open.hubId, stepJson(writes))
    if (outcome === 'changed' && after.acknowledged !== undefined) {
      return { is: 'acknowledged', acknowledged: after.acknowledged }
    }
    // Somebody else has just changed it, so they got ahead: as often as that happens, this is tried again.
  }
}

async function lastReading(
  { store, keys }: AcknowledgeDeps,
  hubId: number,
  field: string,
): Promise<Series | undefined> {
  const own = keys.account(hubId)
  const kept = keptReadings(hubId, own, await store.getBuffer(own.readings))
  return kept === undefined ? undefined : seriesOf(kept).find(({ id }) => id === field)
}
