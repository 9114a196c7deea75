import { COVERAGE, type Coverage, type CoverageSettings, type CoverageTrouble } from '../../limits/coverage.ts'
import type { Store } from '../../redis/connect.ts'
import type { DATA } from '../../redis/data-trouble.ts'
import type { Keys } from '../../redis/keys.ts'
import { type AlertWrites, bothWrites, NO_ALERT_WRITES, NOBODY } from '../../redis/steps.ts'
import { countOf, formatCount, formatPercent } from '../../text/format-number.ts'
import type { Breaker, Cause } from '../../tokens/endpoint/breaker.ts'
import type { EndpointState } from '../../tokens/endpoint/state.ts'
import type { EndpointDeps } from '../../tokens/endpoint/token-endpoint.ts'
import { type News, tellNews } from './told-alert.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = 'token-endpoint' | 'clock' | typeof COVERAGE | typeof DATA

/** What is written about a trouble of the whole fleet; `stored`: the state of its alert, '' = none. */
export type FleetAnnouncer = (
  trouble: FleetTrouble,
  is: 'firing' | 'over',
  stored: string,
  message: string,
  now: number,
) => AlertWrites

/** The alert about what keeps all accounts from being refreshed, or read. `page`: the status page. */
export function fleetAnnouncer({ repeatEveryMs, page }: { repeatEveryMs: number; page: string }): FleetAnnouncer {
  return (trouble, is, stored, message, now) => {
    const news: News = is === 'over' ? { is, message } : { is, level: 'critical', message }
    return tellNews({ field: trouble, stored, url: page, now }, news, repeatEveryMs)
  }
}

interface EndpointNews {
  trouble: 'token-endpoint' | 'clock'
  is: News['is']
  message: string
}

/** The provider's clock and ours: beyond this somebody must act. */
const SKEW_LIMIT_MS = 60_000

/** The alerts about what all accounts suffer from at the token endpoint. */
export function endpointAnnouncer(store: Store, keys: Keys, announce: FleetAnnouncer): EndpointDeps['announce'] {
  return async (before, state, now) => {
    const news = newsOf(before, state, now)
    if (news.length === 0) return NO_ALERT_WRITES
    // Read now: an alert may have been acknowledged, or announced by another daemon, a moment ago.
    const open = await store.hmget(keys.account(NOBODY).alerts, ...news.map(({ trouble }) => trouble))
    return news
      .map(({ trouble, is, message }, n) => announce(trouble, is, open[n] ?? '', message, now))
      .reduce(bothWrites)
  }
}

/** A trouble that lasts is news each time: the alert knows when it is repeated. `before`: undefined where it is lost. */
function newsOf(before: EndpointState | undefined, state: EndpointState, now: number): EndpointNews[] {
  const { breaker, skewMs } = state
  const news: EndpointNews[] = []
  const say = (trouble: EndpointNews['trouble'], is: News['is'], message: string) => news.push({ trouble, is, message })
  if (breaker.is === 'open') say('token-endpoint', 'firing', describeTrouble(breaker))
  if (breaker.is === 'closed' && before?.breaker.is !== 'closed') {
    say('token-endpoint', 'over', describeRecovery(before?.breaker.since, now))
  }
  if (skewMs !== null && Math.abs(skewMs) >= SKEW_LIMIT_MS) say('clock', 'firing', describeSkew(skewMs))
  if (isClockRight(state) && (before === undefined || !isClockRight(before))) {
    say('clock', 'over', "This machine's clock agrees with the provider's again.")
  }
  return news
}

function isClockRight({ skewMs }: EndpointState): boolean {
  return skewMs !== null && Math.abs(skewMs) < SKEW_LIMIT_MS / 2
}

const WHAT: Record<Cause, string> = {
  credentials:
    'The provider refuses the app itself: check provider.clientId and provider.clientSecret, and the app in the ' +
    "provider's developer account",
  refused:
    'The provider refuses the refresh tokens of many accounts at once: was the app suspended or deleted, or do ' +
    'provider.clientId and provider.clientSecret belong to another app?',
  unreachable: "The provider's token endpoint fails: see its status page, and this machine's network and name service",
  throttled: 'The provider answers every token request with 429: another system may be using up its limit',
}

/** What is wrong, why we think so, what is done about it. */
function describeTrouble({ cause, detail }: Breaker): string {
  return (
    `${WHAT[cause ?? 'unreachable']} (${detail}). No account was changed: one at a time is tried as a probe, and all ` +
    'are refreshed, nearest to expiry first, as soon as one works.'
  )
}

function describeRecovery(since: number | undefined, now: number): string {
  return since === undefined
    ? 'Tokens are refreshed again.'
    : `Tokens are refreshed again; the trouble lasted ${lasted(now - since)}.`
}

function describeSkew(skewMs: number): string {
  const which = skewMs > 0 ? 'behind' : 'ahead of'
  return (
    `This machine's clock is ${lasted(Math.abs(skewMs))} ${which} the provider's. Tokens would seem to live longer or ` +
    'shorter than they do: set the clock (NTP).'
  )
}

function lasted(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}

/** What is found of the fleet's readings, as a sweep sees it. */
export interface JudgedCoverage {
  coverage: Coverage
  trouble: CoverageTrouble | undefined
  /** What an account was told whose polls fail, if any fails. */
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
  return announce(COVERAGE, is, stored, message, now)
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
      `Polls of ${formatCount(failing)} of ${countOf(polled, 'account')} fail at once${why}. Each is tried again and ` +
      `again, and none gets an alert of its own meanwhile: see the provider's status page; ${todo}.`
    )
  }
  return (
    `${formatCount(stale)} of ${countOf(polled, 'account')} have had no reading for ${hours(freshnessMs)}: ` +
    `${formatPercent(((polled - stale) / polled) * 100)} are covered, ${formatPercent(objective * 100)} should be` +
    `${failing === 0 ? '' : `; polls of ${formatCount(failing)} fail${why}`}. plimsoll status shows what ` +
    `is overdue and the state of the token endpoint; ${todo}.`
  )
}

function describeOver({ polled, stale }: Coverage): string {
  return `Limits are read as they should be: ${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading.`
}

function hours(ms: number): string {
  const minutes = Math.round(ms / 60_000)
  return minutes < 120 ? `${minutes} min` : `${formatCount(Math.round(minutes / 60))} h`
}
