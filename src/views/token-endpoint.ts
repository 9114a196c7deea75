import { ENDPOINT_CAUSE, firstExpiry } from '../alerts/kinds/fleet-alert.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { countOf } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { decodeEndpoint } from '../tokens/endpoint/state.ts'

import type { FleetStatusShape, TokenEndpointShape } from './shapes/fleet-status.ts'

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

/** What is wrong with it: `client secret rejected`. */
export function endpointTrouble({ cause }: Pick<TokenEndpointStatus, 'cause'>): string {
  return cause === null ? 'provider fails' : ENDPOINT_CAUSE[cause]
}

/** `Failing: client secret rejected, 24 accounts, first token expires in 4 min`; `works`. */
export function endpointText({ at, tokenEndpoint, tokens, accounts }: FleetStatusShape): string {
  if (tokenEndpoint === null || tokenEndpoint.breaker === 'closed') return 'works'
  const { active, failing, parked } = accounts.byState
  const { nearestExpiryAt } = tokens
  const first = nearestExpiryAt === null ? '' : `, ${firstExpiry(Date.parse(nearestExpiryAt), Date.parse(at))}`
  return `${tokenEndpoint.breaker === 'open' ? 'Failing' : 'Recovering'}: ${endpointTrouble(tokenEndpoint)}, ${countOf(active + failing + parked, 'account')}${first}`
}
