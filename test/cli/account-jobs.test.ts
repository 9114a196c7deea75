import { describe, expect, test } from 'vitest'
import type { PolledOutcome } from '../../jobs/poll-chunk.ts'
import type { Account } from '../../src/accounts/account.ts'
import { whyNotRead } from '../../src/app/account-jobs.ts'

const STARTED = 1_000
const well = { state: 'active' as const, pollFailure: null, pollBlocked: null, refreshFailure: null }
const failedAt = (at: number) => ({ ...well, pollFailure: { count: 1, reason: '503', at, since: at } })
const blocked = (what: 'all' | 'part') => ({ ...well, pollBlocked: { what, since: 1, scopes: ['tickets'] } })
const refused: Account['refreshFailure'] = { count: 2, class: 'rejected', reason: 'refused', at: 1, since: 1 }

describe('an account that was polled by a command', () => {
  test.each<[PolledOutcome, Parameters<typeof whyNotRead>[1], string | undefined]>([
    ['committed', well, undefined],
    ['committed', failedAt(STARTED), '503'],
    ['failed', failedAt(STARTED + 1), '503'],
    // A daemon was faster.
    ['lost', well, undefined],
    ['lost', failedAt(STARTED + 1), '503'],
    ['lost', failedAt(STARTED - 1), undefined],
    ['paused', well, "the provider's rate limit for it is reached, or nearly so: try again in a while"],
    ['blocked', blocked('all'), "limits can't be read: a permission is missing, see plimsoll accounts show"],
    ['committed', blocked('part'), "some limits can't be read: a permission is missing, see plimsoll accounts show"],
    ['later', well, 'its token is not available right now: try again'],
    ['later', { ...well, refreshFailure: refused }, "its token can't be refreshed: refused"],
    ['gone', { ...well, state: 'reauthorize' }, 'it must reconnect'],
    ['gone', { ...well, state: 'uninstalled' }, 'it is uninstalled'],
    ['gone', undefined, 'there is no such account'],
  ])('%s %o: %s', (outcome, account, why) => {
    expect(whyNotRead(outcome, account, STARTED)).toBe(why)
  })
})
