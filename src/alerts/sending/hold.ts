import { COVERAGE, PROVIDER } from '../../limits/coverage.ts'
import { DATA } from '../../redis/installation.ts'
import { NO_ACCOUNT } from '../../redis/steps.ts'
import { type Alert, UNINSTALL_RULE } from '../alert.ts'
import { decodeState } from '../alert-state.ts'
import type { AlertsDeps } from '../deps.ts'
import type { FleetTrouble } from '../kinds/fleet-alert.ts'
import { endOfQuietTime, type Route, receiversOf, routeTo } from '../route.ts'
import { type Silence, silenceOf } from '../silence.ts'

/** Why an alert is not sent for now. Times are ms. */
export type HoldReason =
  | { is: 'silence'; id: string; until: number }
  | { is: 'quiet-hours'; until: number }
  | { is: 'fleet'; trouble: string }

/** Why a held alert is never sent. */
export function endedBefore(because: HoldReason): string {
  switch (because.is) {
    case 'silence':
      return `ended before silence ${because.id} did`
    case 'quiet-hours':
      return 'ended before the quiet hours did'
    case 'fleet':
      return `ended before the alert about all accounts did (${because.trouble})`
  }
}

/** Everything that may hold an alert back. */
export interface Circumstances {
  silences: readonly Silence[]
  routes: readonly Route[]
  /** Troubles of all accounts whose alert is open, but for the share of failed calls. */
  fleet: readonly FleetTrouble[]
  /** Receivers that send to each account's own contact. */
  contacts?: readonly string[] | undefined
}

/** Why an alert that fires is not sent to a receiver for now; undefined: it is sent. */
export function holdReason(
  alert: Alert,
  receiver: string,
  { silences, routes, fleet, contacts = [] }: Circumstances,
  now: number,
): HoldReason | undefined {
  const silence = silenceOf(silences, alert, now)
  if (silence !== undefined) return { is: 'silence', id: silence.id, until: silence.endsAt }
  // The trouble of one account may be that of all: no customer is written to before it is over.
  const covers = (open: FleetTrouble) => contacts.includes(receiver) || coversAlert(open, alert)
  const hasFleetAlert = contacts.includes(receiver) || getsFleetAlerts(routes, receiver)
  const trouble = hasFleetAlert ? fleet.find(covers) : undefined
  if (trouble !== undefined) return { is: 'fleet', trouble }
  const until = quietUntil(routes, alert, now, receiver)
  return until === undefined ? undefined : { is: 'quiet-hours', until }
}

/** A receiver that does not get fleet alerts learns of the trouble only by those of the accounts. */
function getsFleetAlerts(routes: readonly Route[], receiver: string): boolean {
  return receiversOf(routes, { kind: 'fleet', level: 'critical', rule: 'fleet' }).includes(receiver)
}

/**
 * True where the fleet alert covers the account's. An account whose refresh token is refused, or whose
 * scopes don't do, has a trouble of its own.
 */
function coversAlert(trouble: FleetTrouble, { kind, rule, cause }: Alert): boolean {
  switch (trouble) {
    case 'token-endpoint':
    case 'provider':
      return (kind === 'token' && (cause === 'failing' || rule === UNINSTALL_RULE)) || kind === 'poll'
    case 'coverage':
      return kind === 'poll' && (cause === 'failing' || cause === 'unauthorized')
    case 'calls':
    case 'data':
      return false
  }
}

/** Troubles that make what is known of accounts doubtful. A share of failed calls in 30 days does not. */
const TROUBLES: readonly FleetTrouble[] = ['token-endpoint', PROVIDER, COVERAGE, DATA]

type CircumstancesSources = Pick<AlertsDeps, 'store' | 'keys' | 'silences' | 'routes'> & Partial<AlertsDeps>

/** Everything that may hold alerts back now. */
export async function readCircumstances(
  { store, keys, silences, routes, group }: CircumstancesSources,
  now: number,
): Promise<Circumstances> {
  const [active, states] = await Promise.all([
    silences.active(now),
    store.hmget(keys.account(NO_ACCOUNT).alerts, ...TROUBLES),
  ])
  const fleet = TROUBLES.filter((_, n) => (decodeState(states[n])?.level ?? 'ok') !== 'ok')
  return { silences: active, routes, fleet, contacts: group?.contacts }
}

/** Until when an alert is not sent because its route is quiet; undefined where it may be sent now. */
export function quietUntil(routes: readonly Route[], alert: Alert, now: number, receiver: string): number | undefined {
  const { quiet = [] } = routeTo(routes, alert, receiver) ?? {}
  return endOfQuietTime(quiet, now)
}
