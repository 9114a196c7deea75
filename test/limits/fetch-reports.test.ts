import { describe, expect, test } from 'vitest'
import { CallShare } from '../../src/limits/call-share.ts'
import { type FetchDeps, fetchReports, wasUnauthorized } from '../../src/limits/fetch-reports.ts'
import { isFailure, type Pair } from '../../src/limits/readings.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { InFlight } from '../../src/runtime/in-flight.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { failure, fakeProvider } from '../support/fake-provider.ts'
import { HandClock } from '../support/hand-clock.ts'
import { useRedis } from '../support/test-store.ts'
import { associations, properties } from './reports.ts'

const redis = useRedis()
const HUB = 123
const token = new Secret('access-1')
const PAIRS: Pair[] = [
  { from: '0-1', to: '0-2' },
  { from: '0-1', to: '0-3' },
]
const never = new AbortController().signal

function worker(
  does: Partial<ProviderClient> = {},
  requests = 20,
  keys: Keys = redis.freshKeys(),
  clock = new HandClock(),
) {
  const calledAt: number[] = []
  const noted = <T>(value: T) => {
    calledAt.push(clock.now())
    return value
  }
  const provider = fakeProvider({
    customProperties: async () => noted({ ok: true, value: properties(1) }),
    associations: async () => noted({ ok: true, value: associations(5) }),
    ...does,
  })
  const share = new CallShare(redis.store, keys, { requests, perMs: 10_000 }, clock)
  const kept: [hubId: number, calls: number][] = []
  const deps: FetchDeps = {
    ...{ provider, share, inFlight: new InFlight(64), clock },
    stillPolling: async (hubId) => void kept.push([hubId, provider.calls.length]),
  }
  return { deps, provider, share, clock, keys, calledAt, kept }
}

describe('fetching the reports of an account', () => {
  test('asks for the custom properties and each pair, with the access token', async () => {
    const { deps, provider, clock } = worker()
    const fetched = await fetchReports(deps, HUB, token, PAIRS, never)
    expect(provider.calls.sort()).toEqual([
      ['associations', 'access-1', '0-1', '0-2'],
      ['associations', 'access-1', '0-1', '0-3'],
      ['customProperties', 'access-1'],
    ])
    expect(fetched?.at).toBe(clock.now())
    expect(fetched?.customProperties).toEqual(properties(1))
    expect([...(fetched?.associations.keys() ?? [])]).toEqual(['0-1/0-2', '0-1/0-3'])
  })

  test('loses nothing of the others when one call fails', async () => {
    const { deps } = worker({
      associations: async (_token, _from, to) =>
        to === '0-2' ? failure('transient') : { ok: true, value: associations(5) },
    })
    const fetched = await fetchReports(deps, HUB, token, PAIRS, never)
    expect(fetched?.customProperties).toEqual(properties(1))
    expect(fetched?.associations.get('0-1/0-2')).toMatchObject({ class: 'transient' })
    expect(fetched?.associations.get('0-1/0-3')).toEqual(associations(5))
    expect(fetched && wasUnauthorized(fetched)).toBe(false)
  })

  test.each([
    ['customProperties', { customProperties: async () => failure('unauthorized') }],
    ['a pair', { associations: async () => failure('unauthorized') }],
  ] as [string, Partial<ProviderClient>][])('tells that the access token was not accepted by %s', async (_, does) => {
    const fetched = await fetchReports(worker(does).deps, HUB, token, PAIRS, never)
    expect(fetched && wasUnauthorized(fetched)).toBe(true)
  })

  test('without pairs asks for the custom properties alone', async () => {
    const { deps, provider } = worker()
    expect((await fetchReports(deps, HUB, token, [], never))?.associations.size).toBe(0)
    expect(provider.calls).toHaveLength(1)
  })

  test('tells nobody that it is still polling where one batch is enough', async () => {
    const { deps, kept } = worker()
    await fetchReports(deps, HUB, token, PAIRS, never)
    expect(kept).toEqual([])
  })

  test('is nothing when it is told to stop between two batches, and the calls of the next are not made', async () => {
    const { deps, provider, clock } = worker({}, 2)
    const stop = new AbortController()
    const fetching = fetchReports(deps, HUB, token, PAIRS, stop.signal)
    await clock.sleeper()
    stop.abort(new Error('SIGTERM'))
    expect(await fetching).toBeUndefined()
    expect(provider.calls).toHaveLength(2)
  })

  test('makes no call when it is told to stop while it waits for its share', async () => {
    const { deps, provider, share, clock } = worker({}, 20)
    await share.take(HUB, 20, never)
    const stop = new AbortController()
    const fetching = fetchReports(deps, HUB, token, PAIRS, stop.signal)
    await clock.sleeper()
    stop.abort(new Error('SIGTERM'))
    expect(await fetching).toBeUndefined()
    expect(provider.calls).toEqual([])
  })

  test('of more pairs than the share has room for never makes more calls in a window than the share', async () => {
    const { deps, calledAt, kept, clock } = worker({}, 5)
    const many = Array.from({ length: 11 }, (_, n) => ({ from: '0-1', to: `2-${n}` }))
    let done = false
    const fetching = fetchReports(deps, HUB, token, many, never).finally(() => {
      done = true
    })
    while (!done) {
      await Promise.race([clock.sleeper(), fetching])
      clock.move(10_000)
    }
    expect((await fetching)?.associations.size).toBe(11)
    expect(calledAt).toHaveLength(12)
    // Before each batch but the first: the claim would end while the share is waited for.
    expect(kept).toEqual([
      [HUB, 5],
      [HUB, 10],
    ])
    for (const at of calledAt) {
      expect(calledAt.filter((other) => other > at - 10_000 && other <= at).length).toBeLessThanOrEqual(5)
    }
  })
})

describe('the share of an account', () => {
  test('lets through as many calls as fit the window, the next when the first falls out of it', async () => {
    const { share, clock } = worker({}, 3)
    expect(await share.take(HUB, 2, never)).toBe(2)
    clock.move(4_000)
    expect(await share.take(HUB, 2, never)).toBe(1)
    const waiting = share.take(HUB, 5, never)
    await clock.sleeper()
    expect(clock.waits).toEqual([6_000])
    clock.move(6_000)
    expect(await waiting).toBe(2)
  })

  test('is 0 calls for whoever is told to stop, before or while waiting, and then takes nothing', async () => {
    const { share, clock, keys } = worker({}, 1)
    await share.take(HUB, 1, never)
    const stop = new AbortController()
    const waiting = share.take(HUB, 1, stop.signal)
    await clock.sleeper()
    stop.abort(new Error('SIGTERM'))
    expect(await waiting).toBe(0)
    clock.move(10_000)
    expect(await share.take(HUB, 1, stop.signal)).toBe(0)
    expect(await redis.store.llen(keys.account(HUB).calls)).toBe(1)
  })

  test('is one for all workers', async () => {
    const first = worker({}, 3)
    const second = worker({}, 3, first.keys, first.clock)
    const taken = await Promise.all([
      redis.store.takeCalls(first.keys.account(HUB).calls, first.clock.now(), 2, 3, 10_000),
      redis.store.takeCalls(second.keys.account(HUB).calls, second.clock.now(), 2, 3, 10_000),
    ])
    expect(taken.map(([granted]) => granted).sort()).toEqual([1, 2])
  })

  test('of one account is not that of another', async () => {
    const { share } = worker({}, 1)
    expect(await share.take(1, 1, never)).toBe(1)
    expect(await share.take(65, 1, never)).toBe(1)
  })

  test('never grants more than it may within any window, whatever is asked when', async () => {
    const { keys, clock } = worker()
    const key = keys.account(HUB).calls
    const granted: number[] = []
    let random = 7
    for (let step = 0; step < 300; step++) {
      random = (random * 1_103_515_245 + 12_345) % 2_147_483_648
      clock.move(random % 1_700)
      const [calls] = await redis.store.takeCalls(key, clock.now(), 1 + (random % 4), 5, 10_000)
      granted.push(...Array<number>(calls).fill(clock.now()))
    }
    for (const at of granted) {
      expect(granted.filter((other) => other > at - 10_000 && other <= at).length).toBeLessThanOrEqual(5)
    }
    // And no less than it could: the window is never idle for long with so much asked.
    expect(granted.length).toBeGreaterThan(((clock.now() - (granted[0] ?? 0)) / 10_000) * 4)
  })

  test('leaves nothing behind for an account that is quiet', async () => {
    const { share, keys } = worker()
    await share.take(HUB, 1, never)
    expect(await redis.store.pttl(keys.account(HUB).calls)).toBeGreaterThan(0)
  })
})

test('a failure is told from a report', () => {
  expect(isFailure(failure('transient').failure)).toBe(true)
  expect([isFailure(properties(1)), isFailure(associations(1))]).toEqual([false, false])
})
