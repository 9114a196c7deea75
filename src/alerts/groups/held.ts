import { COVERAGE } from '../../limits/coverage.ts'
import { NOBODY } from '../../redis/steps.ts'
import type { Alert } from '../alert.ts'
import { decodeState } from '../alert-state.ts'
import type { AlertsDeps } from '../deps.ts'
import type { FleetTrouble } from '../kinds/fleet-alert.ts'
import { endOfQuietTime, type Route, receiversOf, routeTo } from '../route.ts'
import { type Silence, silenceOf } from '../silence.ts'
import {
  checkAgainAt,
  decodeHeld,
  groupingFor,
  type HeldBecause,
  homesOf,
  isDigest,
  LATEST_MS,
  placeInGroup,
  receiverOfHeld,
  type WaitingAlert,
} from './group.ts'
import { readPaces } from './sent-lately.ts'

/** What may keep an alert from being sent. */
export interface Circumstances {
  silences: readonly Silence[]
  routes: readonly Route[]
  /** Troubles of all accounts whose alert is open. */
  fleet: readonly FleetTrouble[]
  /** Receivers that send to each account's own contact. */
  contacts?: readonly string[] | undefined
}

/** Why an alert that fires is not sent to a receiver for now; undefined: it is sent. */
export function holdOf(
  alert: Alert,
  receiver: string,
  { silences, routes, fleet, contacts = [] }: Circumstances,
  now: number,
): HeldBecause | undefined {
  const silence = silenceOf(silences, alert, now)
  if (silence !== undefined) return { is: 'silence', id: silence.id, until: silence.endsAt }
  const isContact = contacts.includes(receiver)
  const covers = (open: FleetTrouble) => speaksFor(open, alert) || (isContact && mayBeOurs(open, alert))
  const trouble = isContact || getsFleetAlerts(routes, receiver) ? fleet.find(covers) : undefined
  if (trouble !== undefined) return { is: 'fleet', trouble }
  const until = quietUntil(routes, alert, now, receiver)
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
      return kind === 'poll' && (cause === 'failing' || cause === 'unauthorized')
    case 'calls':
    case 'data':
      return false
  }
}

/** Customers are not asked to connect again while no token of any account can be refreshed. */
function mayBeOurs(trouble: FleetTrouble, { kind }: Pick<Alert, 'kind'>): boolean {
  return kind === 'token' && KEEPS_FROM_REFRESHING.includes(trouble)
}

/** What keeps all accounts' tokens from being refreshed. */
export const KEEPS_FROM_REFRESHING: readonly FleetTrouble[] = ['token-endpoint', 'clock']

const TROUBLES: readonly FleetTrouble[] = ['token-endpoint', 'clock', COVERAGE]

type CircumstancesSources = Pick<AlertsDeps, 'store' | 'keys' | 'silences' | 'routes'> & Partial<AlertsDeps>

/** What may keep alerts from being sent now. */
export async function readCircumstances(
  { store, keys, silences, routes, group }: CircumstancesSources,
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
  return { silences: active, routes, fleet, contacts: group?.contacts }
}

/** Until when an alert is not sent because its route is quiet; undefined where it may be sent now. */
export function quietUntil(routes: readonly Route[], alert: Alert, now: number, receiver: string): number | undefined {
  const { quiet = [] } = routeTo(routes, alert, receiver) ?? {}
  return endOfQuietTime(quiet, now)
}

/** Something that is held back, as it was read, and the group that it goes to, or that of a mass. */
export interface StoredHeld {
  field: string
  stored: string
  homes: readonly [own: string, mass: string]
}

/** What is held back goes to a group again; 500 at most. Returns how many were still as they were read. */
export async function release(
  deps: Pick<AlertsDeps, 'store' | 'keys' | 'group'>,
  found: readonly StoredHeld[],
  now: number,
): Promise<number> {
  const decoded = found.map((one) => ({ ...one, held: decodeHeld(one.stored) }))
  const paces = await readPaces(
    deps,
    decoded.flatMap(({ homes, held: { alert } }) => homes.map((key) => ({ key, alert }))),
    now,
  )
  return deps.store.releaseHeld(
    ...[deps.keys.delivery.ledger, now, deps.group.waitMs, deps.group.intervalMs],
    ...decoded.flatMap(({ field, stored, homes, held }) => {
      const { order = 0, alert, of, held: because } = held
      const waiting: WaitingAlert = { order, alert, of, held: because }
      const places = homes.flatMap((key) => [key, paces(key, alert)])
      return [field, stored, ...places, placeInGroup(waiting), JSON.stringify(waiting)]
    }),
  )
}

/** What is checked, and moved, at a time. */
const CHUNK = 500

/**
 * Checks again what is held back and has come to its time: what nothing holds back any more goes to its group again, and
 * is judged anew when that closes. Returns when to check next.
 */
export async function checkHeld(deps: AlertsDeps, now: number): Promise<number | undefined> {
  const { held, heldDue } = deps.keys.delivery
  await bringForward(deps, now)
  for (;;) {
    const fields = await deps.store.zrangebyscore(heldDue, '-inf', now, 'LIMIT', 0, CHUNK)
    if (fields.length === 0) break
    const [circumstances, stored] = await Promise.all([readCircumstances(deps, now), deps.store.hmget(held, ...fields)])
    const still: (string | number)[] = []
    const free: StoredHeld[] = []
    for (const [n, field] of fields.entries()) {
      const value = stored[n]
      if (value == null) continue
      const { alert, group } = decodeHeld(value)
      const receiver = receiverOfHeld(field)
      const because = holdOf(alert, receiver, circumstances, now)
      const homes = homesOf(
        receiver,
        { alert, ...(isDigest(group) && { firstReading: true }) },
        groupingFor(deps.group, receiver),
      )
      if (because === undefined) free.push({ field, stored: value, homes })
      else still.push(checkAgainAt(because, now), field)
    }
    if (still.length > 0) await deps.store.zadd(heldDue, 'XX', ...still)
    const released = free.length === 0 ? 0 : await release(deps, free, now)
    // Somebody else is at it.
    if (still.length === 0 && released === 0) break
  }
  const [, earliest] = await deps.store.zrange(heldDue, 0, '0', 'WITHSCORES')
  return earliest === undefined ? undefined : Number(earliest)
}

type HeldStore = Pick<AlertsDeps, 'store' | 'keys'>

/** When a silence ends early, all that is held back is checked now. */
export function checkHeldNow(deps: HeldStore, now: number): Promise<void> {
  return checkNow(deps, now, now)
}

/** Checks planned this late come from a clock that was ahead: they are due now. */
function bringForward(deps: HeldStore, now: number): Promise<void> {
  return checkNow(deps, now + LATEST_MS, now)
}

/** All that would be checked later than `latest` is checked now. */
async function checkNow({ store, keys }: HeldStore, latest: number, now: number): Promise<void> {
  for (;;) {
    const later = await store.zrangebyscore(keys.delivery.heldDue, `(${latest}`, '+inf', 'LIMIT', 0, CHUNK)
    if (later.length === 0) return
    await store.zadd(keys.delivery.heldDue, 'XX', ...later.flatMap((field) => [now, field]))
  }
}
