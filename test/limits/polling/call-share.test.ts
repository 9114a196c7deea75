import { describe, expect, test } from 'vitest'
import { pausedUntil } from '../../../src/limits/polling/account-calls.ts'
import { CallShare } from '../../../src/limits/polling/call-share.ts'
import type { CrmResult } from '../../../src/provider/failure.ts'
import { accountSteps } from '../../../src/redis/account-steps.ts'
import type { Keys } from '../../../src/redis/keys.ts'
import { failure } from '../../support/fake-provider.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const never = new AbortController().signal

function worker(requests: number, keys: Keys = redis.freshKeys(), clock = new HandClock()) {
  return { keys, clock, share: new CallShare(redis.store, keys, { requests, perMs: 10_000 }, clock) }
}

describe('the share of an account', () => {
  test('lets through as many calls as fit the window, the next when the first falls out of it', async () => {
    const { share, clock } = worker(3)
    expect(await share.take(HUB, 2, never)).toMatchObject({ granted: 2 })
    clock.move(4_000)
    expect(await share.take(HUB, 2, never)).toMatchObject({ granted: 1 })
    const waiting = share.take(HUB, 5, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([6_000])
    clock.move(6_000)
    expect(await waiting).toMatchObject({ granted: 2 })
  })

  test('has whoever waits for long say that it still does', async () => {
    const keys = redis.freshKeys()
    const clock = new HandClock()
    const share = new CallShare(redis.store, keys, { requests: 1, perMs: 50_000 }, clock)
    await share.take(HUB, 1, never)
    let said = 0
    const waiting = share.take(HUB, 1, never, async () => {
      said++
    })
    for (const ms of [20_000, 20_000, 10_000]) {
      await clock.sleeper()
      clock.move(ms)
    }
    expect(await waiting).toMatchObject({ granted: 1 })
    expect(said).toBe(3)
  })

  test('is 0 calls for whoever is told to stop, before or while waiting, and then takes nothing', async () => {
    const { share, clock, keys } = worker(1)
    await share.take(HUB, 1, never)
    const stop = new AbortController()
    const waiting = share.take(HUB, 1, stop.signal)
    await clock.sleeper()
    stop.abort(new Error('SIGTERM'))
    expect(await waiting).toMatchObject({ granted: 0 })
    clock.move(10_000)
    expect(await share.take(HUB, 1, stop.signal)).toMatchObject({ granted: 0 })
    expect(await redis.store.llen(keys.account(HUB).calls)).toBe(1)
  })

  test('is one for all workers', async () => {
    const first = worker(3)
    const second = worker(3, first.keys, first.clock)
    const taken = await Promise.all([first.share.take(HUB, 2, never), second.share.take(HUB, 2, never)])
    expect(taken.map(({ granted }) => granted).sort()).toEqual([1, 2])
  })

  test('does not wait for times from before the clock was set back', async () => {
    const { share, clock } = worker(2)
    await share.take(HUB, 2, never)
    clock.move(-86_400_000)
    expect(await share.take(HUB, 2, never)).toMatchObject({ granted: 2 })
    clock.move(-5_000)
    const waiting = share.take(HUB, 1, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([15_000])
    clock.move(15_000)
    expect(await waiting).toMatchObject({ granted: 1 })
  })

  test('that was made smaller lets nothing through before there is room in it', async () => {
    const { share, keys, clock } = worker(4)
    expect(await share.take(HUB, 1, never)).toMatchObject({ granted: 1 })
    clock.move(4_000)
    expect(await share.take(HUB, 3, never)).toMatchObject({ granted: 3 })
    clock.move(6_000)
    const smaller = worker(3, keys, clock)
    const waiting = smaller.share.take(HUB, 1, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([4_000])
    clock.move(4_000)
    expect(await waiting).toMatchObject({ granted: 1 })
    expect(await redis.store.llen(keys.account(HUB).calls)).toBe(3)
  })

  test('counts calls from their answers on where these are settled: the provider counted them no later', async () => {
    const { share, clock } = worker(3)
    const first = await share.take(HUB, 2, never)
    clock.move(700)
    await share.take(HUB, 1, never)
    clock.move(800)
    await share.settle(HUB, first)
    const waiting = share.take(HUB, 3, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([9_200])
    clock.move(9_200)
    expect(await waiting).toMatchObject({ granted: 1 })
    const last = share.take(HUB, 3, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([9_200, 800])
    clock.move(800)
    expect(await last).toMatchObject({ granted: 2 })
  })

  test('counts calls that took longer than the window, too', async () => {
    const { share, clock } = worker(1)
    const first = await share.take(HUB, 1, never)
    clock.move(11_000)
    await share.settle(HUB, first)
    const waiting = share.take(HUB, 1, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([10_000])
    clock.move(10_000)
    expect(await waiting).toMatchObject({ granted: 1 })
  })

  test('of one account is not that of another', async () => {
    const { share } = worker(1)
    expect(await share.take(1, 1, never)).toMatchObject({ granted: 1 })
    expect(await share.take(65, 1, never)).toMatchObject({ granted: 1 })
  })

  test('never grants more than it may within any window, whatever is asked when', async () => {
    const { keys, clock } = worker(5)
    const { calls } = keys.account(HUB)
    const granted: number[] = []
    let random = 7
    for (let step = 0; step < 300; step++) {
      random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
      clock.move(random % 1_700)
      const [now] = await accountSteps(redis.store).takeCalls(calls, clock.now(), 1 + (random % 4), 5, 10_000)
      granted.push(...Array<number>(now).fill(clock.now()))
    }
    for (const at of granted) {
      expect(granted.filter((other) => other > at - 10_000 && other <= at).length).toBeLessThanOrEqual(5)
    }
    // And no less than it could: the window is never idle for long with so much asked.
    expect(granted.length).toBeGreaterThan(((clock.now() - (granted[0] ?? 0)) / 10_000) * 4)
  })

  test('leaves nothing behind for an account that is quiet', async () => {
    const { share, keys } = worker(20)
    await share.take(HUB, 1, never)
    expect(await redis.store.pttl(keys.account(HUB).calls)).toBeGreaterThan(0)
  })
})

describe('a paused account', () => {
  test('is left alone by every worker until the pause ends, and no other account is', async () => {
    const one = worker(20)
    const other = worker(20, one.keys, one.clock)
    const until = one.clock.now() + 60_000
    await one.share.pause(HUB, until)
    for (const { share } of [one, other]) {
      expect(await share.take(HUB, 3, never)).toMatchObject({ granted: 0, pausedUntil: until })
      expect(await share.take(HUB + 64, 3, never)).toMatchObject({ granted: 3 })
    }
    one.clock.move(59_999)
    expect(await other.share.take(HUB, 3, never)).toMatchObject({ granted: 0, pausedUntil: until })
    one.clock.move(1)
    expect(await other.share.take(HUB, 3, never)).toMatchObject({ granted: 3 })
    // Nobody waited, and nothing was taken from the share meanwhile.
    expect(one.clock.waits).toEqual([])
    expect(await redis.store.llen(one.keys.account(HUB).calls)).toBe(3)
  })

  test('is told of to who waits for its share when the pause is said', async () => {
    const { share, clock } = worker(1)
    await share.take(HUB, 1, never)
    const waiting = share.take(HUB, 1, never)
    await clock.sleeper()
    const until = clock.now() + 60_000
    await share.pause(HUB, until)
    clock.move(10_000)
    expect(await waiting).toMatchObject({ granted: 0, pausedUntil: until })
  })

  test('stays so for the longest that was told, in whatever order', async () => {
    const { share, clock } = worker(20)
    const now = clock.now()
    for (const until of [now + 10_000, now + 30_000.4, now + 20_000, now - 1]) await share.pause(HUB, until)
    expect(await share.take(HUB, 1, never)).toMatchObject({ granted: 0, pausedUntil: now + 30_001 })
  })

  test('is not one because of a moment that has passed, and leaves nothing behind', async () => {
    const { share, clock, keys } = worker(20)
    await share.pause(HUB, clock.now())
    expect(await share.take(HUB, 1, never)).toMatchObject({ granted: 1 })
    expect(await redis.store.exists(keys.account(HUB).paused)).toBe(0)
    await share.pause(HUB, clock.now() + 5_000)
    const left = await redis.store.pttl(keys.account(HUB).paused)
    expect(left).toBeGreaterThan(0)
    expect(left).toBeLessThanOrEqual(5_000)
  })
})

const NOW = 1_763_719_200_000
const fine: CrmResult<number> = { ok: true, value: 1 }
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
