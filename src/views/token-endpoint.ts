import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { iso } from '../text/format-time.ts'
import { decodeEndpoint } from '../tokens/endpoint/state.ts'
import type { TokenEndpointShape } from './shapes/fleet-status.ts'

/** How the provider's token endpoint fares with the whole fleet. */
export type TokenEndpointStatus = TokenEndpointShape

/** Null before the first daemon has asked for a token. */
export async function readTokenEndpoint(store: Store, keys: Keys): Promise<TokenEndpointStatus | null> {
  const state = decodeEndpoint((await store.get(keys.endpoint)) ?? '')
  if (state === undefined) return null
  const { breaker, pace, skewMs } = state
  const isClosed = breaker.is === 'closed'
  return {
    breaker: breaker.is,
    cause: breaker.cause,
    detail: isClosed ? null : breaker.detail,
    since: isClosed ? null : iso(breaker.since),
    requestsPerSecond: Math.round(pace.ceiling * 10) / 10,
    clockSkewMs: skewMs,
  }
}

/** `0.4 s ahead of ours`: the provider's clock. */
export function skewText(clockSkewMs: number): string {
  return `${(Math.abs(clockSkewMs) / 1_000).toFixed(1)} s ${clockSkewMs < 0 ? 'behind' : 'ahead of'} ours`
}
