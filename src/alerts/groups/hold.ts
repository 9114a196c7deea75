import { COVERAGE } from '../../limits/coverage.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { NOBODY } from '../../redis/steps.ts'
import type { Alert } from '../alert.ts'
import { decodeState } from '../alert-state.ts'
import type { FleetTrouble } from '../kinds/fleet-alert.ts'
import { endOfQuietTime } from '../routing/quiet-time.ts'
import { type Route, receiversOf, routeOf } from '../routing/route.ts'
import { type Silence, silenceOf } from '../silences/silence.ts'
import type { SilenceStore } from '../silences/silence-store.ts'
import type { HeldBecause } from './group.ts'

/** What may keep an alert from being sent. */
export interface Circumstances {
  silences: readonly Silence[]
  routes: readonly Route[]
  /** Troubles of all accounts whose alert is open. */
  fleet: readonly FleetTrouble[]
}

/** Why an alert that fires is not sent to a receiver for now; undefined: it is sent. */
export function holdOf(
  alert: Alert,
  receiver: string,
  { silences, routes, fleet }: Circumstances,
  now: number,
): HeldBecause | undefined {
  const silence = silenceOf(silences, alert, now)
  if (silence !== undefined) return { is: 'silence', id: silence.id, until: silence.endsAt }
  const trouble = getsFleetAlerts(routes, receiver) ? fleet.find((open) => speaksFor(open, alert)) : undefined
  if (trouble !== undefined) return { is: 'fleet', trouble }
  const until = quietUntil(routes, alert, now)
  return until === undefined ? undefined : { is: 'quiet-hours', until }
}

/** A receiver that does not get fleet alerts learns of the trouble only by those of the accounts. */
function getsFleetAlerts(routes: readonly Route[], receiver: string): boolean {
  return receiversOf(routes, { kind: 'fleet', level: 'critical', rule: 'fleet' }).includes(receiver)
}

/**
 * Whether the fleet alert covers the account's. An account whose refresh token is refused (critical), or whose
 * scopes don't do, has a trouble of its own.
 */
export function speaksFor(trouble: FleetTrouble, { kind, level, cause }: Alert): boolean {
  switch (trouble) {
    case 'token-endpoint':
    case 'clock':
      return (kind === 'token' && level === 'warning') || kind === 'poll'
    case 'coverage':
      return kind === 'poll' && cause === 'failing'
    case 'data':
      return false
  }
}

const TROUBLES: readonly FleetTrouble[] = ['token-endpoint', 'clock', COVERAGE]

interface CircumstanceDeps {
  store: Store
  keys: Keys
  silences: Pick<SilenceStore, 'active'>
  routes: readonly Route[]
}

/** What may keep alerts from being sent now. */
export async function readCircumstances(
  { store, keys, silences, routes }: CircumstanceDeps,
  now: number,
): Promise<Circumstances> {
  const [active, states] = await Promise.all([
    silences.active(now),
    store.hmget(keys.account(NOBODY).alerts, ...TROUBLES),
  ])
  const fleet = TROUBLES.filter((_, n) => {
    const stored = states[n]
    return stored != null && decodeState(stored).level !== 'ok'
  })
  return { silences: active, routes, fleet }
}

/** Until when an alert is not sent because its route is quiet; undefined where it may be sent now. */
export function quietUntil(routes: readonly Route[], alert: Alert, now: number): number | undefined {
  const { quiet = [] } = routeOf(routes, alert) ?? {}
  return endOfQuietTime(quiet, now)
}
