import { describe, expect, test } from 'vitest'
import { AccountCalls, type CallsOf, pausedUntil } from '../../../src/limits/polling/account-calls.ts'
import type { CrmResult } from '../../../src/provider/failure.ts'
import { failure } from '../../support/fake-provider.ts'
import { HUB, worldOfFile } from '../../support/world.ts'

const world = worldOfFile()
const never = new AbortController().signal
const fine: CrmResult<number> = { ok: true, value: 1 }

/** Polls of one account, one after the other; each call is answered at once. */
async function account(requests: number, per = '10s') {
  const w = await world({ settings: { provider: { accountRate: { requests, per } } } })
  const { services, clock, keys, store } = w
  const said: number[] = []
  const deps = { ...services, stillPolling: () => void said.push(clock.now()) }
  const begin = (of: Partial<CallsOf> = {}, signal = never) =>
    new AccountCalls(deps, { hubId: HUB, before: undefined, ...of }, signal)
  return { connect: w.account, store, keys, clock, polls: services.polls, said, begin }
}

const calls = (count: number, answer = async (): Promise<CrmResult<unknown>> => fine) =>
  Array<() => Promise<CrmResult<unknown>>>(count).fill(answer)

describe('the calls of a poll', () => {
  test('wait for its share, as often as it takes, and say while they do that the poll goes on', async () => {
    const { begin, clock, said } = await account(1, '50s')
    const began = clock.now()
    const poll = begin()
    const making = poll.make(calls(2))
    for (const ms of [20_000, 20_000, 10_000]) {
      await clock.sleeper()
      clock.move(ms)
    }
    await making
    expect(poll.made).toEqual([began, began + 50_000])
    expect(said).toHaveLength(3)
  })

  test('count from their answers on: the provider counted them no later', async () => {
    const { begin, clock } = await account(2)
    const began = clock.now()
    const slow = async () => {
      if (clock.now() === began) clock.move(1_500)
      return fine
    }
    const poll = begin()
    const making = poll.make(calls(3, slow))
    await clock.sleeper()
    expect(clock.waits).toEqual([10_000])
    clock.move(10_000)
    await making
    expect(poll.made).toEqual([began + 1_500, began + 1_500, began + 11_500])
  })

  test('are left to a later poll where the share is gone for long and none was made yet', async () => {
    const { begin, clock } = await account(3, '10m')
    const now = clock.now()
    const poll = begin({ before: [[now - 60_000, 3]] })
    await poll.make(calls(2))
    expect(poll).toMatchObject({ made: [], leftOut: true, pausedUntil: now + 540_000 })
  })
})

describe('a paused account', () => {
  const begun = async ({ polls }: Awaited<ReturnType<typeof account>>, hubId = HUB) =>
    (await polls.loadOne(hubId))?.pausedUntil

  test('is left alone by every worker until the pause ends, and no other account is', async () => {
    const one = await account(20)
    const [hubId, other] = [HUB, HUB + 64]
    for (const each of [hubId, other]) await one.connect({ hubId: each })
    const refused = one.begin()
    await refused.make(calls(1, async () => failure('transient', { status: 429, retryAfterMs: 60_000 })))
    const until = one.clock.now() + 60_000
    expect(refused.pausedUntil).toBe(until)
    expect([await begun(one), await begun(one, other)]).toEqual([until, 0])
    for (const [ms, made] of [
      [0, 0],
      [59_999, 0],
      [1, 2],
    ] as const) {
      one.clock.move(ms)
      const poll = one.begin()
      poll.beginRound(until)
      await poll.make(calls(2))
      expect([poll.made.length, poll.leftOut]).toEqual([made, made === 0])
    }
    // Nobody waited.
    expect(one.clock.waits).toEqual([])
  })

  test('has no further call of the poll that was told so, not even one that waits for its place', async () => {
    const { begin } = await account(20)
    const poll = begin()
    let made = 0
    const one = async () => {
      made++
      return failure('transient', { status: 429 })
    }
    await poll.make(calls(12, one))
    expect([made, poll.leftOut]).toEqual([5, true])
    await poll.make(calls(1, one))
    expect(made).toBe(5)
  })

  test('stays so when the poll asks anew, until the pause is over', async () => {
    const { begin, clock } = await account(20)
    const poll = begin()
    await poll.make(calls(1, async () => failure('transient', { status: 429, retryAfterMs: 5_000 })))
    poll.beginRound(0)
    await poll.make(calls(1))
    expect([poll.made.length, poll.leftOut]).toEqual([1, true])
    clock.move(5_000)
    poll.beginRound(0)
    await poll.make(calls(1))
    expect([poll.made.length, poll.leftOut, poll.pausedUntil]).toEqual([2, false, undefined])
  })
})

const NOW = 1_763_719_200_000
const left = (remaining: number, intervalMs = 10_000) => ({ bucket: { intervalMs, max: 110, remaining } })

test.each([
  ['an answer that tells nothing', fine, undefined],
  ['an answer from a bucket with a fifth left', { ...fine, ...left(22) }, undefined],
  ['an answer from a bucket with less', { ...fine, ...left(21) }, 10_000],
  ['an answer from an empty bucket', { ...fine, ...left(0, 1_000) }, 1_000],
  ['an answer from a bucket that is filled once a day', { ...fine, ...left(0, 86_400_000) }, 60_000],
  ['a 429 that tells how long', failure('transient', { status: 429, retryAfterMs: 7_000 }), 7_000],
  ['a 429 that does not', failure('transient', { status: 429 }), 10_000],
  [
    'a 429 whose bucket is empty for longer',
    { ...failure('transient', { status: 429, retryAfterMs: 1_000 }), ...left(0) },
    10_000,
  ],
  ['a 429 of a day', failure('transient', { status: 429, retryAfterMs: 86_400_000 }), 86_400_000],
  ['a 503 that tells how long', failure('transient', { status: 503, retryAfterMs: 20_000 }), 20_000],
  ['a 503 that does not', failure('transient', { status: 503 }), undefined],
  ['a 477 that tells how long', failure('parked', { status: 477, retryAfterMs: 3_600_000 }), 3_600_000],
  ['a 401', failure('unauthorized', { status: 401, retryAfterMs: 7_000 }), undefined],
  ['no answer at all', failure('transient', { status: 0 }), undefined],
  ['a failure from a bucket that is nearly used up', { ...failure('forbidden'), ...left(3) }, 10_000],
] as [string, CrmResult<number>, number | undefined][])('%s', (_, result, ms) => {
  expect(pausedUntil(result, NOW)).toBe(ms === undefined ? undefined : NOW + ms)
})
