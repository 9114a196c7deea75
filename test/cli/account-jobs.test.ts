import { randomBytes } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { PolledOutcome } from '../../jobs/poll-commits.ts'
import type { Account } from '../../src/accounts/account.ts'
import type { Registry } from '../../src/accounts/registry.ts'
import { pollNow, refreshNow, whyNotRead } from '../../src/app/account-jobs.ts'
import { AuditLog } from '../../src/audit/audit-log.ts'
import { createKeys } from '../../src/redis/keys.ts'
import type { RefreshOutcome } from '../../src/tokens/refresh-account.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

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
    ['unstored', well, 'what was read could not be stored: try again'],
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

test.each([
  ['a program repeats are in the audit once a day', 'token', 4],
  ['a person repeats are in the audit each time', 'session', 10],
  ['a command repeats are in the audit each time', 'command', 10],
] as const)('polls and refreshes that %s', async (_, via, entries) => {
  const store = redis.connect('pages')
  const { log } = logLines()
  const keys = createKeys(`test-${randomBytes(6).toString('hex')}`)
  const audit = new AuditLog({ store, keys, clock: new HandClock(Date.now()), log })
  const who = { name: 'billing', via }
  const registry = { get: async () => ({ token: { version: 1 } }) } as unknown as Registry
  const jobs = { poll: async () => undefined, refresh: async () => ({ is: 'gone' }) as RefreshOutcome }
  for (const hubId of [1, 2, 1, 2, 1]) {
    await pollNow(jobs, { registry, audit }, hubId, who)
    await refreshNow(jobs, { registry, audit }, hubId, who)
  }
  expect(await store.xlen(keys.audit)).toBe(entries)
})
