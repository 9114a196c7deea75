import type { AccountState } from '../redis/keys.ts'
import type { RefreshFailure } from '../tokens/after-failure.ts'
import type { UninstallRequest } from './uninstall.ts'

/** What came of a refresh that failed. */
export interface FailedAttempt {
  failure: RefreshFailure
  state: AccountState
  /** Somebody is told of it just now: there was no time yet to connect the account again. */
  alerted: boolean
  /** Since when the refresh token is refused. */
  rejectedAt: number | null
}

/**
 * An account that was to be connected again, nobody did, and whose refresh token is refused once more: after so long
 * that is an uninstall. A provider that does not answer, or refuses the app, says nothing about the account.
 */
export function uninstallAfterRefusal(
  failed: FailedAttempt,
  afterMs: number | 'never',
  now: number,
): UninstallRequest | undefined {
  const { failure, state, alerted, rejectedAt } = failed
  if (afterMs === 'never' || rejectedAt === null || now - rejectedAt < afterMs) return undefined
  if (state !== 'reauthorize' || alerted || failure.class !== 'rejected') return undefined
  const day = new Date(rejectedAt).toISOString().slice(0, 10)
  return { by: 'evidence', reason: `refresh token refused since ${day}`, refusedSince: rejectedAt }
}
