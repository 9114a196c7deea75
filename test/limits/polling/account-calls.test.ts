import { expect, test } from 'vitest'
import { AccountCalls } from '../../../src/limits/polling/account-calls.ts'
import { CallShare } from '../../../src/limits/polling/call-share.ts'
import { NOTHING_USED } from '../../../src/provider/bucket-use.ts'
import { InFlight } from '../../../src/runtime/concurrency.ts'
import { failure } from '../../support/fake-provider.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()

test("the calls of a poll add up what they show of the account's bucket", async () => {
  const clock = new HandClock()
  const share = new CallShare(redis.store, redis.freshKeys(), { requests: 20, perMs: 10_000 }, clock)
  const deps = { share, inFlight: new InFlight(64), clock, stillPolling: async () => {} }
  const calls = new AccountCalls(deps, { hubId: 123, polls: '0' }, new AbortController().signal)
  expect(calls.bucketUse).toEqual(NOTHING_USED)
  const bucket = { intervalMs: 10_000, max: 110, remaining: 80 }
  await calls.make([async () => ({ ok: true, value: 'a report', bucket })])
  await calls.make([async () => failure('transient', { status: 429 })])
  expect(calls.bucketUse).toEqual({ lastSeen: { used: 30, of: 110, intervalMs: 10_000 }, refused: 1 })
})
