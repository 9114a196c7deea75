import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { bothWrites, NO_ALERT_WRITES, NOBODY } from '../../redis/steps.ts'
import type { Breaker, Cause } from '../../tokens/endpoint/breaker.ts'
import type { EndpointState } from '../../tokens/endpoint/state.ts'
import type { EndpointDeps } from '../../tokens/endpoint/token-endpoint.ts'
import type { FleetAlerts } from './fleet-alert.ts'

interface News {
  trouble: 'token-endpoint' | 'clock'
  is: 'firing' | 'over'
  message: string
}

/** The provider's clock and ours: beyond this somebody must act. */
const SKEW_LIMIT_MS = 60_000

/** The alerts about what all accounts suffer from at the token endpoint. */
export function endpointAnnouncer(store: Store, keys: Keys, fleet: FleetAlerts): EndpointDeps['announce'] {
  return async (before, state, now) => {
    const news = newsOf(before, state, now)
    if (news.length === 0) return NO_ALERT_WRITES
    // Read now: an alert may have been acknowledged, or announced by another daemon, a moment ago.
    const open = await store.hmget(keys.account(NOBODY).alerts, ...news.map(({ trouble }) => trouble))
    return news
      .map(({ trouble, is, message }, n) => fleet.fleet(trouble, is, open[n] ?? '', message, now))
      .reduce(bothWrites)
  }
}

/** A trouble that lasts is news each time: the alert knows when it is repeated. `before`: undefined where it is lost. */
function newsOf(before: EndpointState | undefined, state: EndpointState, now: number): News[] {
  const { breaker, skewMs } = state
  const news: News[] = []
  const say = (trouble: News['trouble'], is: News['is'], message: string) => news.push({ trouble, is, message })
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
  throttled: 'The provider answers every token request with 429: something else may be using up its limit',
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
