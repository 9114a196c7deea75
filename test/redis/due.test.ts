import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { seedAccount } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = 1_763_719_200_000

/** A claim, as the due sets make it. */
async function claim(keys: Keys, now: number, limit: number) {
  const [hubIds, next] = await redis.store.claimDue(keys.due.refresh, now, limit, now + 60_000)
  return { hubIds: hubIds.map(Number), next: next === '' ? undefined : Number(next) }
}

async function plan(keys: Keys, moments: Record<number, number>): Promise<void> {
  for (const [hubId, at] of Object.entries(moments)) await redis.store.zadd(keys.due.refresh, at, hubId)
}

test('much that is due later is made due a part at a time, so that no other command waits long', async () => {
  const keys = redis.freshKeys()
  await plan(keys, {
    1: NOW - 10,
    ...Object.fromEntries(Array.from({ length: 2_400 }, (_, n) => [n + 2, NOW + n + 1])),
  })
  const moved: number[] = []
  for (let part = 0; part < 4; part++) {
    const [hubIds] = await redis.store.claimDue(keys.due.refresh, '+inf', 1_000, NOW, `(${NOW}`)
    moved.push(hubIds.length)
  }
  expect(moved).toEqual([1_000, 1_000, 400, 0])
  expect(await redis.store.zcount(keys.due.refresh, NOW, NOW)).toBe(2_400)
  expect(await redis.store.zscore(keys.due.refresh, 1)).toBe(String(NOW - 10))
})

describe('a claim', () => {
  test('takes what is due and nothing else, nearest to its moment first', async () => {
    const keys = redis.freshKeys()
    await plan(keys, { 1: NOW - 10, 65: NOW - 500, 129: NOW, 193: NOW + 1, 257: NOW - 100 })
    expect(await claim(keys, NOW, 10)).toEqual({ hubIds: [65, 257, 1, 129], next: NOW + 1 })
  })

  test('takes no more than it may, and says that more is due', async () => {
    const keys = redis.freshKeys()
    await plan(keys, { 1: NOW - 3, 65: NOW - 2, 129: NOW - 1 })
    expect(await claim(keys, NOW, 2)).toEqual({ hubIds: [1, 65], next: NOW - 1 })
    expect(await claim(keys, NOW, 2)).toEqual({ hubIds: [129], next: NOW + 60_000 })
  })

  test('of accounts and one of deliveries, asked for at once, each get what they asked for', async () => {
    const keys = redis.freshKeys()
    await redis.store.zadd(keys.due.poll, NOW - 1, 1)
    await redis.store.zadd(keys.due.poll, NOW - 1, 2)
    await redis.store.zadd(keys.delivery.deliveriesDue, NOW - 1, 'told')
    const [deliveries, accounts] = await Promise.all([
      new Deliveries(redis.store, keys).claim(NOW, 10),
      new DueSets(redis.store, keys).claim('poll', 100, 60_000),
    ])
    expect(deliveries).toEqual({ ids: ['told'], next: NOW + 60_000 })
    expect(accounts.map(({ hubId }) => hubId)).toEqual([1, 2])
    expect(Number(await redis.store.zscore(keys.due.poll, 2))).toBe(accounts[1]?.claim)
  })

  test('of nothing says when something is due, or that nothing is planned', async () => {
    const keys = redis.freshKeys()
    expect(await claim(keys, NOW, 10)).toEqual({ hubIds: [], next: undefined })
    await plan(keys, { 1: NOW + 700 })
    expect(await claim(keys, NOW, 10)).toEqual({ hubIds: [], next: NOW + 700 })
  })

  test('is made once: of many claimers at once each account goes to one', async () => {
    const keys = redis.freshKeys()
    const all = Array.from({ length: 200 }, (_, n) => 1 + 64 * n)
    await plan(keys, Object.fromEntries(all.map((hubId) => [hubId, NOW - 1])))
    const claims = await Promise.all(Array.from({ length: 30 }, () => claim(keys, NOW, 10)))
    const claimed = claims.flatMap(({ hubIds }) => hubIds)
    expect(claimed.sort((a, b) => a - b)).toEqual(all)
  })

  test('lapses: what a dead worker held is due again, not before', async () => {
    const keys = redis.freshKeys()
    await plan(keys, { 1: NOW })
    expect((await claim(keys, NOW, 1)).hubIds).toEqual([1])
    expect((await claim(keys, NOW + 59_999, 1)).hubIds).toEqual([])
    expect((await claim(keys, NOW + 60_000, 1)).hubIds).toEqual([1])
  })

  test('never loses an account and never gives one twice while it is held, whatever is due when', async () => {
    const run = fc.record({
      offsets: fc.array(fc.integer({ min: -100_000, max: 100_000 }), { minLength: 1, maxLength: 20 }),
      steps: fc.array(fc.record({ passes: fc.nat(40_000), limit: fc.integer({ min: 1, max: 5 }) }), { maxLength: 12 }),
    })
    await fc.assert(
      fc.asyncProperty(run, async ({ offsets, steps }) => {
        const keys = redis.freshKeys()
        const due = new Map(offsets.map((offset, n) => [1 + 64 * n, NOW + offset]))
        await plan(keys, Object.fromEntries(due))
        let now = NOW
        for (const { passes, limit } of steps) {
          now += passes
          const { hubIds, next } = await claim(keys, now, limit)
          const expected = [...due].filter(([, at]) => at <= now).length
          expect(hubIds.length).toBe(Math.min(limit, expected))
          for (const hubId of hubIds) {
            expect(due.get(hubId)).toBeLessThanOrEqual(now)
            due.set(hubId, now + 60_000)
          }
          expect(next).toBe(Math.min(...due.values()))
        }
        expect(await redis.store.zcard(keys.due.refresh)).toBe(due.size)
      }),
      { numRuns: 40 },
    )
  })
})

const LIFE = 1_800_000
const [ONE, TWO, THREE] = [1, 65, 129]

/** Accounts that were connected a life ago: all are due. */
async function fleet() {
  const keys = redis.freshKeys()
  for (const hubId of [ONE, TWO, THREE]) await seedAccount(redis.store, keys, { hubId, obtainedAt: NOW - LIFE })
  const at = async (hubId: number, moment: number) => redis.store.zadd(keys.due.refresh, moment, hubId)
  const set = (hubId: number, fields: Record<string, string>) => redis.store.hset(keys.account(hubId).account, fields)
  return { keys, due: new DueSets(redis.store, keys), at, set }
}

describe('whose tokens are due', () => {
  test('is told with what it takes to choose among them, with the next moment and with the size of the fleet', async () => {
    const { keys, due, at, set } = await fleet()
    await at(THREE, NOW + 700)
    await set(TWO, { failures: '2', state: 'failing' })
    await seedAccount(redis.store, keys, { hubId: 2, obtainedAt: NOW })
    const found = await due.dueTokens(NOW)
    expect(found).toEqual({
      due: [
        { hubId: ONE, obtainedAt: NOW - LIFE, expiresAt: NOW, lane: 'healthy' },
        { hubId: TWO, obtainedAt: NOW - LIFE, expiresAt: NOW, lane: 'failing' },
      ],
      next: NOW + 700,
      fleet: 4,
    })
  })

  test('tells who fails, whatever the state, and who has never been refreshed', async () => {
    const { keys, due, set } = await fleet()
    await set(ONE, { failures: '1' })
    await set(TWO, { state: 'reauthorize' })
    await redis.store.hdel(keys.account(THREE).account, 'refreshedAt', 'obtainedAt', 'expiresAt')
    const found = await due.dueTokens(NOW)
    const laneOf = (hubId: number) => found.due.find((token) => token.hubId === hubId)?.lane
    expect([ONE, TWO, THREE].map(laneOf)).toEqual(['failing', 'failing', 'new'])
    expect(found.due).toContainEqual({ hubId: THREE, obtainedAt: 0, expiresAt: 0, lane: 'new' })
  })

  test('is nobody in an empty fleet', async () => {
    const due = new DueSets(redis.store, redis.freshKeys())
    expect(await due.dueTokens(NOW)).toEqual({ due: [], next: undefined, fleet: 0 })
  })
})

describe('a long backlog', () => {
  /** All of it, due at once, and who reads it. */
  async function backlog(count: number) {
    const keys = redis.freshKeys()
    const hubIds = Array.from({ length: count }, (_, n) => n + 1)
    const commands = redis.store.pipeline()
    for (const hubId of hubIds) {
      const expiresAt = NOW + LIFE - hubId
      commands.hset(keys.own(hubId), { state: 'active', obtainedAt: expiresAt - LIFE, expiresAt, refreshedAt: 1 })
      commands.zadd(keys.due.refresh, NOW, hubId)
    }
    await commands.exec()
    const asked = vi.spyOn(redis.store, 'zcard')
    onTestFinished(() => asked.mockRestore())
    const [due, other] = [new DueSets(redis.store, keys), new DueSets(redis.store, keys)]
    return { keys, due, other, reads: () => asked.mock.calls.length }
  }

  test('is read once a second, and each of it is given out once, nearest to expiry first', async () => {
    const { due, other, reads } = await backlog(5_000)
    const first = (await due.dueTokens(NOW)).due
    expect(first.slice(0, 2).map(({ hubId }) => hubId)).toEqual([5_000, 4_999])
    expect(await due.claimTokens(first.slice(0, 1_000), NOW)).toHaveLength(1_000)
    // Another daemon has some of the rest.
    expect(await other.claimTokens(first.slice(1_000, 1_500), NOW)).toHaveLength(500)
    const second = (await due.dueTokens(NOW + 500)).due
    expect([second.length, reads()]).toEqual([4_000, 1])
    expect(await due.claimTokens(second.slice(0, 1_000), NOW + 500)).toHaveLength(500)
    expect([(await due.dueTokens(NOW + 1_000)).due.length, reads()]).toEqual([3_000, 2])
  })

  test('that is chosen as a whole lets the next sweep rest no longer than until it is read anew', async () => {
    const { due } = await backlog(5_000)
    await due.claimTokens((await due.dueTokens(NOW)).due.slice(0, 1_000), NOW)
    const { due: rest, next } = await due.dueTokens(NOW + 900)
    expect([rest.length, next]).toEqual([4_000, NOW + 1_000])
  })

  test('is read anew once it is short, and where the clock was set back', async () => {
    const { due, reads } = await backlog(2_500)
    const { due: all } = await due.dueTokens(NOW + 10)
    expect([all.length, (await due.dueTokens(NOW + 10)).due.length, reads()]).toEqual([2_500, 2_500, 1])
    await due.dueTokens(NOW + 5)
    expect(reads()).toBe(2)
    await due.claimTokens(all.slice(0, 500), NOW + 5)
    expect([(await due.dueTokens(NOW + 5)).due.length, reads()]).toEqual([2_000, 3])
  })
})

describe('a claim on chosen tokens', () => {
  test('is made once, in the order given, and lapses after a tenth of the life', async () => {
    const { due } = await fleet()
    const chosen = (await due.dueTokens(NOW)).due.toReversed()
    const claims = await Promise.all(Array.from({ length: 10 }, () => due.claimTokens(chosen, NOW)))
    expect(claims.filter(({ length }) => length > 0)).toEqual([chosen.map(({ hubId }) => hubId)])
    expect((await due.dueTokens(NOW + 59_999)).due).toEqual([])
    expect((await due.dueTokens(NOW + 60_000)).due).toHaveLength(3)
  })

  test('leaves alone who was planned or uninstalled since the look', async () => {
    const { keys, due, at } = await fleet()
    const chosen = (await due.dueTokens(NOW)).due
    await at(ONE, NOW + 1)
    await redis.store.zrem(keys.due.refresh, TWO)
    expect(await due.claimTokens(chosen, NOW)).toEqual([THREE])
    expect(await due.when('refresh', ONE)).toBe(NOW + 1)
    expect(await due.when('refresh', TWO)).toBeNull()
  })

  test('on one that has never had an access token lasts longest', async () => {
    const { due } = await fleet()
    await due.claimTokens([{ hubId: ONE, obtainedAt: 0, expiresAt: 0, lane: 'new' }], NOW)
    expect(await due.when('refresh', ONE)).toBe(NOW + 60_000)
  })
})
