import type { Account } from '../accounts/account.ts'
import { iso } from '../text/format-time.ts'
import type { PolledShape, RefreshedShape } from './shapes/account.ts'

/** Outcome of reading an account's limits now; `reason`: why it was not read, or not all of it. */
export function polledJson(hubId: number, account: Account | undefined, reason: string | undefined): PolledShape {
  return {
    hubId,
    hubDomain: account?.hubDomain ?? '',
    state: account?.state ?? null,
    outcome: reason === undefined ? 'read' : 'failed',
    reason: reason ?? null,
    polledAt: iso(account?.polledAt ?? null),
  }
}

/** An account whose tokens were just refreshed. */
export function refreshedJson({ hubId, hubDomain, state, token }: Account): RefreshedShape {
  return { hubId, hubDomain, state, outcome: 'refreshed', expiresAt: iso(token.expiresAt) }
}
