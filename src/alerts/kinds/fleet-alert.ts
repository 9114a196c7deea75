import { COVERAGE, type Coverage, type CoverageSettings, type CoverageTrouble } from '../../limits/coverage.ts'
import type { Store } from '../../redis/connect.ts'
import type { DATA } from '../../redis/installation.ts'
import type { Keys } from '../../redis/keys.ts'
import { type AlertWrites, bothWrites, NO_ACCOUNT, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { countOf, formatCount, formatPercent, formatSpan } from '../../text/format-number.ts'
import { formatMoment } from '../../text/format-time.ts'
import type { Cause } from '../../tokens/endpoint/breaker.ts'
import type { EndpointState } from '../../tokens/endpoint/state.ts'
import type { EndpointDeps } from '../../tokens/endpoint/token-endpoint.ts'
import type { AlertLevel } from '../alert.ts'
import { type News, notifyNews } from './notified-alert.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = 'token-endpoint' | 'clock' | 'calls' | typeof COVERAGE | typeof DATA

/** Writes about a trouble of all accounts; `stored`: the state of its alert, '' = none. */
export type FleetAnnouncer = (news: FleetNews) => AlertWrites

interface FleetNews {
  trouble: FleetTrouble
  is: 'firing' | 'over'
  stored: string
  /** Default: critical. */
  level?: AlertLevel | undefined
  message: string
  now: number
  /** Cause of a trouble of the token endpoint. */
  cause?: Cause
}

/** The alert about what keeps all accounts from being refreshed, or read. `page`: the status page. */
export function fleetAnnouncer({ repeatEveryMs, page }: { repeatEveryMs: number; page: string }): FleetAnnouncer {
  return ({ trouble, is, stored, level = 'critical', message, now, cause }) => {
    const why = trouble === 'token-endpoint' ? cause : trouble
    const news: News = is === 'over' ? { is, message } : { is, level, message, ...(why && { cause: why }) }
    return notifyNews({ field: trouble, stored, url: page, now }, news, repeatEveryMs)
  }
}

/** The provider's clock and ours: beyond this the clock must be set. */
const SKEW_LIMIT_MS = 60_000

/** Moment at which the first of the access tokens ends, ms. */
export type NearestExpiry = (now: number) => Promise<number | undefined>

/** The alerts about what all accounts suffer from at the token endpoint. */
export function endpointAnnouncer(
  store: Store,
  keys: Keys,
  announce: FleetAnnouncer,
  nearestExpiry: NearestExpiry,
): EndpointDeps['announce'] {
  return async (before, state, now) => {
    const { breaker, skewMs } = state
    const isNew = (was: (state: EndpointState) => boolean) => before === undefined || !was(before)
    const isOver = breaker.is === 'closed' && isNew((was) => was.breaker.is === 'closed')
    const isAhead = skewMs !== null && Math.abs(skewMs) >= SKEW_LIMIT_MS
    const isRight = isClockRight(state) && isNew(isClockRight)
    // A trouble that lasts is news each time: the alert knows when it is repeated.
    if (!(breaker.is === 'open' || isOver || isAhead || isRight)) return NO_ALERT_WRITES
    // Read now: an alert may have been acknowledged, or announced by another daemon, a moment ago.
    const [endpoint, clock] = await store.hmget(keys.account(NO_ACCOUNT).alerts, 'token-endpoint', 'clock')
    const cause = breaker.cause ?? 'unreachable'
    const ofEndpoint = { trouble: 'token-endpoint', stored: endpoint ?? '', now } as const
    const ofClock = { trouble: 'clock', stored: clock ?? '', now } as const
    const fires = (message: string) => announce({ ...ofEndpoint, is: 'firing', message, cause })
    const writes: AlertWrites[] = []
    // The first token to end is searched for only where the alert is sent.
    if (breaker.is === 'open' && fires('').entries.length > 0)
      writes.push(fires(describeTrouble(cause, state, await nearestExpiry(now), now)))
    if (isOver)
      writes.push(announce({ ...ofEndpoint, is: 'over', message: 'Tokens of all accounts are refreshed again.' }))
    if (isAhead) writes.push(announce({ ...ofClock, is: 'firing', message: describeSkew(skewMs) }))
    if (isRight)
      writes.push(
        announce({ ...ofClock, is: 'over', message: "This machine's clock agrees with the provider's again." }),
      )
    return writes.reduce(bothWrites, NO_ALERT_WRITES)
  }
}

function isClockRight({ skewMs }: EndpointState): boolean {
  return skewMs !== null && Math.abs(skewMs) < SKEW_LIMIT_MS / 2
}

/** The causes of trouble at the token endpoint, in a few words. */
export const ENDPOINT_CAUSE: Record<Cause, string> = {
  credentials: 'client secret rejected',
  refused: 'refresh tokens of many accounts refused at once',
  unreachable: 'provider unreachable',
  throttled: 'provider throttles every refresh',
}

const TO_DO: Record<Cause, string> = {
  credentials: "Check provider.clientId and provider.clientSecret, and the app in the provider's developer account.",
  refused:
    'Was the app suspended or deleted, or do provider.clientId and provider.clientSecret belong to another app? Check ' +
    "the provider's developer account.",
  unreachable: "Check the provider's status page, and this machine's network and name service.",
  throttled: 'The provider answers every token request with 429: find out what else uses up its limit.',
}

/** `first token expires in 4 min`. */
export function firstExpiry(expiresAt: number, now: number): string {
  return expiresAt <= now ? 'first token expired' : `first token expires in ${formatSpan(expiresAt - now)}`
}

/** Sentences: the trouble, how bad it is, what to do, what Plimsoll does. */
function describeTrouble(cause: Cause, { fleet, breaker }: EndpointState, expiresAt: number | undefined, now: number) {
  const accounts = countOf(fleet, 'account')
  const first =
    expiresAt === undefined ? '' : `${accounts}, ${firstExpiry(expiresAt, now)} (${formatMoment(expiresAt)}). `
  return (
    `All ${accounts}: tokens can't be refreshed (${ENDPOINT_CAUSE[cause]}). ${first}${TO_DO[cause]} ` +
    `${breaker.detail.charAt(0).toUpperCase()}${breaker.detail.slice(1)}. No account was changed: one at a time is tried, and all are refreshed, nearest to ` +
    'expiry first, as soon as one works.'
  )
}

function describeSkew(skewMs: number): string {
  const which = skewMs > 0 ? 'behind' : 'ahead of'
  return (
    `This machine's clock is ${formatSpan(Math.abs(skewMs))} ${which} the provider's. Tokens would seem to live longer or ` +
    'shorter than they do: set the clock (NTP).'
  )
}

/** The judgment of a sweep over the fleet's readings. */
export interface JudgedCoverage {
  coverage: Coverage
  trouble: CoverageTrouble | undefined
  /** The reason of an account whose polls fail, if any fails. */
  reason: string | undefined
  /** State of the alert as stored, '' = none. */
  stored: string
}

/** One alert for the fleet when many accounts have no fresh reading, and when they have again. */
export function announceCoverage(
  announce: FleetAnnouncer,
  settings: CoverageSettings,
  { coverage, trouble, reason, stored }: JudgedCoverage,
  now: number,
): AlertWrites {
  const is = trouble === undefined ? 'over' : 'firing'
  const message = trouble === undefined ? describeOver(coverage) : describe(coverage, settings, trouble, reason)
  return announce({ trouble: COVERAGE, is, stored, message, now })
}

function describe(
  { polled, stale, failing }: Coverage,
  { objective, freshnessMs }: CoverageSettings,
  trouble: CoverageTrouble,
  reason: string | undefined,
): string {
  const why = reason === undefined ? '' : ` (${reason})`
  const todo = 'plimsoll accounts list --stale names those without a fresh reading'
  if (trouble === 'failing') {
    return (
      `Limits of ${formatCount(failing)} of ${countOf(polled, 'account')} can't be read${why}. Check the provider's ` +
      `status page; ${todo}. Each is tried again, and none gets an alert of its own meanwhile.`
    )
  }
  return (
    `Limits of ${formatCount(stale)} of ${countOf(polled, 'account')} were not read for ${formatSpan(freshnessMs)}: ` +
    `${formatPercent(((polled - stale) / polled) * 100)} are covered, ${formatPercent(objective * 100)} should be` +
    `${failing === 0 ? '' : `; polls of ${formatCount(failing)} fail${why}`}. plimsoll status shows what ` +
    `is overdue and the state of the token endpoint; ${todo}.`
  )
}

function describeOver({ polled, stale }: Coverage): string {
  return `Limits are read again: ${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading.`
}
