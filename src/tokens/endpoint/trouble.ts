import type { Breaker, Cause } from './breaker.ts'

/** The provider's clock and ours: beyond this somebody should look. */
export const SKEW_LIMIT_MS = 60_000

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

/** What is wrong, why we think so, what is done about it: one text for the alert. */
export function describeTrouble({ cause, detail }: Breaker): string {
  return (
    `${WHAT[cause ?? 'unreachable']} (${detail}). No account was changed: one at a time is tried as a probe, and all ` +
    'are refreshed, nearest to expiry first, as soon as one works.'
  )
}

export function describeRecovery(since: number, now: number): string {
  return since === 0
    ? 'Tokens are refreshed again.'
    : `Tokens are refreshed again; the trouble lasted ${lasted(now - since)}.`
}

export function describeSkew(skewMs: number): string {
  const which = skewMs > 0 ? 'behind' : 'ahead of'
  return (
    `This machine's clock is ${lasted(Math.abs(skewMs))} ${which} the provider's. Tokens would seem to live longer or ` +
    'shorter than they do: set the clock (NTP).'
  )
}

export function describeRightClock(): string {
  return "This machine's clock agrees with the provider's again."
}

function lasted(ms: number): string {
  const seconds = Math.round(ms / 1_000)
  if (seconds < 120) return `${seconds} s`
  return seconds < 7_200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3_600)} h`
}
