import type { COVERAGE, Coverage, CoverageSettings, PROVIDER } from '../../limits/coverage.ts'
import type { Store } from '../../redis/connect.ts'
import type { DATA } from '../../redis/installation.ts'
import type { Keys } from '../../redis/keys.ts'
import { type AlertWrites, NO_ACCOUNT, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { capitalized, countOf, formatCount, formatPercent, formatSpan } from '../../text/format-number.ts'
import { formatMoment } from '../../text/format-time.ts'
import type { Cause } from '../../tokens/endpoint/breaker.ts'
import type { EndpointState } from '../../tokens/endpoint/state.ts'
import type { EndpointDeps } from '../../tokens/endpoint/token-endpoint.ts'
import type { AlertLevel, FleetCause } from '../alert.ts'
import { type News, notifyNews } from './notified-alert.ts'

/** Each room knows its own troubles; here they are all of one kind, each under its own field of the fleet's alerts. */
export type FleetTrouble = 'token-endpoint' | typeof PROVIDER | 'calls' | typeof COVERAGE | typeof DATA

/** All that is found about the accounts together at one moment. */
export interface FleetFindings {
  /** Why the breaker of the token endpoint is not closed; undefined: it is closed. */
  endpoint: Cause | undefined
  /** Polls of many accounts fail. */
  pollsFail: boolean
  /** Access tokens of accounts are over, because the token endpoint lets too few refreshes through. */
  isThrottled: boolean
  /** Too many accounts have no fresh reading. */
  isStale: boolean
  /** Level of the share of failed calls. */
  calls: AlertLevel | undefined
}

/** `covered`: the alert about the cause speaks for it. */
export type CauseVerdict = 'firing' | 'over' | 'covered'

/**
 * One cause is one alert. Errors and throttling of the token endpoint and polls that fail are all the provider's outage, which ends
 * once none of them is left. Old readings and failed calls are what an outage leaves behind: they open no alert while it lasts.
 */
export function decideFleetAlerts(
  { endpoint, pollsFail, isThrottled, isStale, calls }: FleetFindings,
  open: ReadonlySet<FleetTrouble>,
): Record<'provider' | 'coverage' | 'calls', CauseVerdict> {
  const isOfApp = endpoint !== undefined && alertOfCause(endpoint) === 'token-endpoint'
  // While refreshes are held back for the app's own error, tokens are over because of that.
  const tooFew = isThrottled && (!isOfApp || open.has('provider'))
  const isOutage = (endpoint !== undefined && !isOfApp) || pollsFail || tooFew
  const effect = (isThere: boolean, trouble: FleetTrouble): CauseVerdict => {
    if (!isThere) return 'over'
    return (isOutage || isOfApp) && !open.has(trouble) ? 'covered' : 'firing'
  }
  return {
    provider: isOutage ? 'firing' : 'over',
    coverage: effect(isStale, 'coverage'),
    calls: effect(calls !== undefined, 'calls'),
  }
}

/** The alert about a cause at the token endpoint: the app's own, or the provider's. */
export function alertOfCause(cause: Cause): 'token-endpoint' | 'provider' {
  return cause === 'credentials' || cause === 'refused' ? 'token-endpoint' : 'provider'
}

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
  /** For the token endpoint and the provider; others are their own cause. */
  cause?: FleetCause
}

/** The alert about what keeps all accounts from being refreshed, or read. `page`: the status page. */
export function fleetAnnouncer({ repeatEveryMs, page }: { repeatEveryMs: number; page: string }): FleetAnnouncer {
  return ({ trouble, is, stored, level = 'critical', message, now, cause }) => {
    const why = trouble === 'token-endpoint' || trouble === 'provider' ? cause : trouble
    const news: News = is === 'over' ? { is, message } : { is, level, message, ...(why && { cause: why }) }
    return notifyNews({ field: trouble, stored, url: page, now }, news, repeatEveryMs)
  }
}

/** Moment at which the first of the access tokens ends, ms. */
export type NearestExpiry = (now: number) => Promise<number | undefined>

/**
 * The alert about what all accounts suffer from at the token endpoint. The end of the provider's outage is found by the sweep,
 * which knows whether polls work.
 */
export function endpointAnnouncer(
  store: Store,
  keys: Keys,
  announce: FleetAnnouncer,
  nearestExpiry: NearestExpiry,
): EndpointDeps['announce'] {
  return async (before, state, now) => {
    const { breaker } = state
    const isOver = breaker.is === 'closed' && before?.breaker.is !== 'closed'
    // A trouble that lasts is news each time: the alert knows when it is repeated.
    if (breaker.is !== 'open' && !isOver) return NO_ALERT_WRITES
    // Read now: an alert may have been acknowledged, or announced by another daemon, a moment ago.
    const cause = breaker.cause ?? 'unreachable'
    const trouble = isOver ? 'token-endpoint' : alertOfCause(cause)
    const stored = (await store.hget(keys.account(NO_ACCOUNT).alerts, trouble)) ?? ''
    const news = { trouble, stored, now } as const
    if (isOver) return announce({ ...news, is: 'over', message: 'Tokens of all accounts are refreshed again.' })
    const fires = (message: string) => announce({ ...news, is: 'firing', message, cause })
    // The first token to end is searched for only where the alert is sent.
    if (fires('').entries.length === 0) return NO_ALERT_WRITES
    return fires(describeTrouble(cause, state, await nearestExpiry(now), now))
  }
}

/** The causes of trouble at the token endpoint, in a few words. */
export const ENDPOINT_CAUSE: Record<Cause, string> = {
  credentials: 'client secret rejected',
  refused: 'refresh tokens of many accounts refused at once',
  unreachable: 'HubSpot unreachable',
}

export const TO_DO: Record<Cause, string> = {
  credentials: 'Correct provider.clientSecret, or provider.clientId, then reload with SIGHUP.',
  refused:
    'Was the app suspended or deleted, or do provider.clientId and provider.clientSecret belong to another app? Check ' +
    'your HubSpot developer account.',
  unreachable: "Check HubSpot's status page, and this machine's network and name service.",
}

/** `first token expires in 4 min`. */
export function firstExpiry(expiresAt: number, now: number): string {
  return expiresAt <= now ? 'first token expired' : `first token expires in ${formatSpan(expiresAt - now)}`
}

/** Sentences: the trouble, how bad it is, what to do, what Plimsoll does. */
function describeTrouble(cause: Cause, { fleet, breaker }: EndpointState, expiresAt: number | undefined, now: number) {
  const first = expiresAt === undefined ? '' : `The ${firstExpiry(expiresAt, now)} (${formatMoment(expiresAt)}). `
  const what =
    cause === 'unreachable'
      ? "HubSpot can't be reached. Tokens can't be refreshed."
      : `tokens can't be refreshed (${ENDPOINT_CAUSE[cause]}).`
  return (
    `All ${countOf(fleet, 'account')}: ${what} ${first}${TO_DO[cause]} ` +
    `${capitalized(breaker.detail)}. Accounts keep their state. Plimsoll tries one; when it works, all others follow.`
  )
}

const NAMES_STALE = 'plimsoll accounts list --stale names those without a fresh reading'

export const SEE_STATUS = 'plimsoll status shows what is overdue and the state of the token endpoint.'
export const RAISE_LIMIT = "Find out what else uses up the app's limit, or ask HubSpot for a higher one."
export const CHECK_STATUS = "Check HubSpot's status page."

/** The provider's outage, as polls show it. */
export function describeFailingPolls({ polled, failing }: Coverage, reason: string | undefined): string {
  return (
    `Limits of ${formatCount(failing)} of ${countOf(polled, 'account')} can't be read${becauseOf(reason)}. ` +
    `${CHECK_STATUS} ${NAMES_STALE}. Plimsoll tries each again. None gets an alert of its own meanwhile.`
  )
}

/** Too few refreshes are let through. */
export function describeThrottled({ late, kept }: { late: number; kept: number }, mostPerSecond: number): string {
  return (
    `Tokens of ${formatCount(late)} of ${countOf(kept, 'account')} have expired: HubSpot throttles refreshes. The token endpoint answers 429, ` +
    `and lets about ${formatCount(Math.round(mostPerSecond * 10) / 10)} a second through. ${RAISE_LIMIT} The nearest to expiry go first.`
  )
}

export function describeStale(
  { polled, stale, failing }: Coverage,
  { objective, freshnessMs }: CoverageSettings,
  reason: string | undefined,
): string {
  return (
    `Limits of ${formatCount(stale)} of ${countOf(polled, 'account')} were not read for ${formatSpan(freshnessMs)}: ` +
    `${formatPercent(((polled - stale) / polled) * 100)} are covered, ${formatPercent(objective * 100)} should be` +
    `${failing === 0 ? '' : `; polls of ${formatCount(failing)} fail${becauseOf(reason)}`}. ${SEE_STATUS} ${NAMES_STALE}.`
  )
}

function becauseOf(reason: string | undefined): string {
  return reason === undefined ? '' : ` (${reason})`
}

/** The end of too old readings: read again only where they are. */
export function describeRead(coverage: Coverage): string {
  const isRead = coverage.polled > 0 && coverage.notWatched === 0
  return `${isRead ? 'Limits are read again' : 'No account waits for a reading any more'}: ${freshText(coverage)}.`
}

/** The end of the provider's outage; `isOpen`: the token endpoint takes refreshes, and does not refuse the app instead. */
export function describeReachable(coverage: Coverage, isOpen: boolean): string {
  const what = isOpen ? ': tokens are refreshed, and polls no longer fail' : ', but refuses refreshes'
  return `HubSpot can be reached again${what}. Now ${freshText(coverage)}.`
}

function freshText({ polled, stale, notWatched }: Coverage): string {
  const blocked =
    notWatched === 0 ? '' : `; of ${formatCount(notWatched)} no limit can be read, a permission is missing`
  return `${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading${blocked}`
}
