import type { Registry } from '../accounts/registry.ts'
import { loadReadings } from '../limits/load-readings.ts'
import { type Series, seriesOf } from '../limits/series.ts'
import { type AlertWrites, stepJson, untilWritten } from '../redis/steps.ts'
import { defined } from '../runtime/defined.ts'
import { type LinkKind, readSigned, signedPath } from '../runtime/signed-links.ts'
import type { AlertLevel } from './alert.ts'
import {
  type Acknowledged,
  currentAcknowledgement,
  encodeState,
  type SeriesState,
  withoutAcknowledgement,
} from './alert-state.ts'
import type { AlertsDeps } from './deps.ts'
import { sentBucket } from './evaluation/judge-bucket.ts'
import { asReading, readingValues } from './evaluation/worse.ts'
import { type OpenState, openStatesOf, readOpenStates } from './open-alerts.ts'

/** An alert as the operator who acknowledges it saw it. */
export interface AlertAtLevel {
  id: string
  hubId: number
  level: AlertLevel
}

export type AcknowledgeOutcome =
  | { is: 'acknowledged' | 'already'; acknowledged: Acknowledged }
  | { is: 'not-open' }
  /** The alert is at a higher level than the operator saw: that level is not acknowledged. */
  | { is: 'gone-worse' }

type StoreDeps = Pick<AlertsDeps, 'store' | 'keys'>

/** An operator takes an alert up: it is not sent again until it gets worse. It lasts `acknowledgeForMs` at most. */
export async function storeAcknowledgement(
  deps: StoreDeps & { acknowledgeForMs: number },
  seen: AlertAtLevel,
  by: { by: string; comment?: string | undefined },
  now: number,
): Promise<AcknowledgeOutcome> {
  const { store, keys, acknowledgeForMs } = deps
  return untilWritten<AcknowledgeOutcome>(`alert ${seen.id} of account ${seen.hubId}`, async () => {
    const open = await findAlertOf(deps, seen.hubId, seen.id)
    if (open === undefined) return { is: 'not-open' }
    const before = currentAcknowledgement(open.state, now)
    if (before !== undefined) return { is: 'already', acknowledged: before }
    if (open.state.level === 'critical' && seen.level !== 'critical') return { is: 'gone-worse' }
    const reading = sentBucket(open.field, open.state) ?? (await lastReading(deps, open.hubId, open.field))
    const after = acknowledgeState(open.state, { ...by, at: now, until: now + acknowledgeForMs }, reading)
    const writes: AlertWrites = { changes: [[open.field, open.stored, encodeState(after)]], entries: [] }
    // In the same step, so that receivers with `events` are notified whatever dies next.
    const details = stepJson({ hubId: open.hubId, field: open.field, at: now })
    const outcome = await store.changeAlerts(keys.own(open.hubId), open.hubId, stepJson(writes), open.id, details)
    // Another daemon changed the alert just before.
    if (outcome === 'stale' || after.acknowledged === undefined) return 'stale'
    return { is: 'acknowledged', acknowledged: after.acknowledged }
  })
}

export type UnacknowledgeOutcome = { is: 'withdrawn' | 'not-acknowledged' | 'not-open' }

/** Takes an acknowledgement back: the alert is sent again when it repeats, and when it gets worse. */
export async function withdrawAcknowledgement(
  { store, keys }: StoreDeps,
  { hubId, id }: Pick<AlertAtLevel, 'hubId' | 'id'>,
  now: number,
): Promise<UnacknowledgeOutcome> {
  return untilWritten<UnacknowledgeOutcome>(`alert ${id} of account ${hubId}`, async () => {
    const open = await findAlertOf({ store, keys }, hubId, id)
    if (open === undefined) return { is: 'not-open' }
    if (currentAcknowledgement(open.state, now) === undefined) return { is: 'not-acknowledged' }
    const after = encodeState(withoutAcknowledgement(open.state))
    const writes: AlertWrites = { changes: [[open.field, open.stored, after]], entries: [] }
    const outcome = await store.changeAlerts(keys.own(hubId), hubId, stepJson(writes))
    return outcome === 'changed' ? { is: 'withdrawn' } : 'stale'
  })
}

async function lastReading({ store, keys }: StoreDeps, hubId: number, field: string): Promise<Series | undefined> {
  const kept = await loadReadings(store, keys, hubId)
  return kept && seriesOf(kept).find(({ id }) => id === field)
}

export type FoundAlert =
  | { is: 'found'; alert: OpenState }
  /** No open alert has it. */
  | { is: 'unknown' }
  | { is: 'several'; ids: string[] }
  /** Nothing that could be the id of an alert. */
  | { is: 'no-id' }

/** An alert's id, or how it begins; what follows a hyphen is the number of one of its transitions. */
const ID = /^([0-9a-f]{6,16})(?:-\d{1,9})?$/i

/** The open alert with this id, or with the only one that begins so. All accounts with alerts are searched. */
export async function findAlert(
  { store, keys, registry }: StoreDeps & { registry: Pick<Registry, 'alerting'> },
  text: string,
): Promise<FoundAlert> {
  const [, beginning] = ID.exec(text.trim()) ?? []
  if (beginning === undefined) return { is: 'no-id' }
  const found: OpenState[] = []
  for await (const some of readOpenStates(store, keys, await registry.alerting())) {
    found.push(...some.filter(({ id }) => id.startsWith(beginning.toLowerCase())))
  }
  const [alert, ...others] = found
  if (alert === undefined) return { is: 'unknown' }
  return others.length === 0 ? { is: 'found', alert } : { is: 'several', ids: found.map(({ id }) => id).sort() }
}

/** The open alert with this id among those of one account. */
export async function findAlertOf({ store, keys }: StoreDeps, hubId: number, alertId: string) {
  return (await openStatesOf(store, keys, hubId)).find(({ id }) => id === alertId)
}

/** The operator, and the latest end of the acknowledgement. Times in ms. */
export interface Acknowledgement {
  by: string
  comment?: string | undefined
  at: number
  until: number
}

type Reading = Pick<Series, 'usage' | 'limit' | 'percent'>

/**
 * An acknowledged open alert, with the reading that the operator saw: only a worse one is sent. Without a reading, with
 * the values of the last message. A pending level can't be acknowledged: it is not entered yet.
 */
export function acknowledgeState(
  state: SeriesState,
  { by, comment, at, until }: Acknowledgement,
  reading?: Reading,
): SeriesState {
  if (state.level === 'ok') return state
  const seen = reading ?? (state.lastSent === null ? undefined : asReading(state.lastSent))
  return { ...state, acknowledged: { at, by, until, ...defined({ comment }), ...(seen && readingValues(seen)) } }
}

/** Path of the links in mails that acknowledge an alert. */
export const ACKNOWLEDGE_PATH = '/acknowledge'

const LINKS: LinkKind<'account' | 'alert'> = {
  path: ACKNOWLEDGE_PATH,
  purpose: 'acknowledge',
  parameters: { account: /^\d{1,16}$/, alert: /^[0-9a-f]{16}$/ },
}

/** Links with the keys and the time that are in force when they are asked for: a SIGHUP may bring others. */
export class AckLinks {
  readonly #keys: () => readonly [Buffer, ...Buffer[]]
  readonly #lastMs: () => number

  /** The first key signs, all verify. */
  constructor(keys: () => readonly [Buffer, ...Buffer[]], lastMs: () => number) {
    this.#keys = keys
    this.#lastMs = lastMs
  }

  /** A path of this server, signed. */
  pathTo({ hubId, alertId }: LinkedAlert, now: number): string {
    return signedPath(LINKS, { account: String(hubId), alert: alertId }, this.#keys()[0], now + this.#lastMs())
  }

  read(query: unknown, now: number): ReadAckLink {
    const link = readSigned(LINKS, query, this.#keys(), now)
    if (link.is !== 'good') return link
    return { is: 'good', query: link.query, hubId: Number(link.values.account), alertId: link.values.alert }
  }
}

/** The holder of the link may acknowledge this alert until it is closed. */
export interface LinkedAlert {
  hubId: number
  /** The alert's own, not that of one of its transitions. */
  alertId: string
}

export type ReadAckLink =
  /** `query`: the link's own, and nothing that came along with it. */
  | ({ is: 'good'; query: string } & LinkedAlert)
  | { is: 'expired' }
  /** Not signed here, or changed since. */
  | { is: 'forged' }
