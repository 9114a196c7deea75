import { describe, expect, test } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = 1_763_719_200_000

async function plan(keys: Keys, moments: Record<number, number>): Promise<void> {
  for (const [hubId, at] of Object.entries(moments)) await redis.store.zadd(keys.due.refresh, at, hubId)
}

test('what is planned for later is brought forward a part at a time, and claims last on for as long as one may', async () => {
  const keys = redis.freshKeys()
  const [early, soon, live, old] = [NOW - 10, NOW + 50_000, NOW + 25_000.5, NOW + 3_600_000.25]
  const later = Object.fromEntries(Array.from({ length: 2_400 }, (_, n) => [n + 10, NOW + 61_000 + n]))
  await plan(keys, { 1: early, 2: soon, 3: live, 4: old, ...later })
  const bring = () => redis.store.bringForward(keys.due.refresh, NOW, 60_000, 1_000)
  expect([await bring(), await bring(), await bring(), await bring()]).toEqual([1_000, 1_000, 401, 0])
  expect(await redis.store.zcount(keys.due.refresh, NOW, NOW)).toBe(2_400)
  const others = await redis.store.zmscore(keys.due.refresh, 1, 2, 3, 4)
  expect(others.map(Number)).toEqual([early, soon, live, NOW + 60_000.25])
})

describe('a claim', () => {
  test('is made once: of many claimers at once each account goes to one', async () => {
    const keys = redis.freshKeys()
    const due = new DueSets(redis.store, keys)
    const all = Array.from({ length: 200 }, (_, n) => 1 + 64 * n)
    for (const hubId of all) await redis.store.zadd(keys.due.poll, 1, hubId)
    const claims = await Promise.all(Array.from({ length: 30 }, () => due.claim('poll', 10, 60_000)))
    const claimed = claims.flat().map(({ hubId }) => hubId)
    expect(claimed.sort((a, b) => a - b)).toEqual(all)
  })

  test('takes what has been due for longest, and holds it for as long as it says', async () => {
    const keys = redis.freshKeys()
    const due = new DueSets(redis.store, keys)
    const now = await redis.store.readTime(keys.fleet)
    for (const [hubId, ms] of [-60_000, -10, -30_000, 60_000, -20].entries())
      await redis.store.zadd(keys.due.poll, now + ms, hubId + 1)
    const take = async (most: number) => (await due.claim('poll', most, 30_000)).map(({ hubId }) => hubId)
    expect([await take(2), await take(9), await take(9)]).toEqual([[1, 3], [5, 2], []])
    expect(await due.when('poll', 1)).toBeGreaterThanOrEqual(now + 30_000)
    expect(await due.when('poll', 1)).toBeLessThan(now + 60_000)
  })
})

describe('a claim of refreshes, where more are due than may go', () => {
  /** Accounts by how long they have been due, and, of those that have a token, when it ends, ms from now. */
  async function backlog(accounts: Record<number, { due: number; ends?: number }>) {
    const keys = redis.freshKeys()
    const now = await redis.store.readTime(keys.fleet)
    for (const [hubId, { due, ends }] of Object.entries(accounts)) {
      await redis.store.hset(keys.own(Number(hubId)), { state: 'active', version: 1, obtainedAt: 1, expiresAt: 1 })
      await redis.store.zadd(keys.due.refresh, now - due, hubId)
      if (ends !== undefined) await redis.store.zadd(keys.expiry, now + ends, hubId)
    }
    return async (most: number, { first = 0, chance = 0 } = {}) => {
      const tokens = new TokenStore(redis.store, keys, systemClock, () => chance)
      const claimed = await tokens.claim(most, 60_000, first)
      return claimed.map(({ hubId }) => hubId)
    }
  }
  const IMPORTED = Object.fromEntries(Array.from({ length: 1_000 }, (_, n) => [n + 1, { due: 900_000 - n }]))

  test('takes the nearest to the end of their tokens first, however many others have been due for longer; these get a quarter', async () => {
    const healthy = Object.fromEntries(
      Array.from({ length: 60 }, (_, n) => [2_000 + n, { due: 1_000, ends: 600_000 - 1_000 * n }]),
    )
    const claim = await backlog({ ...IMPORTED, ...healthy })
    expect(await claim(8)).toEqual([2_059, 2_058, 2_057, 2_056, 2_055, 2_054, 1, 2])
    expect(await claim(6)).toEqual([2_053, 2_052, 2_051, 2_050, 3, 4])
  })

  test('takes the nearest three times of four where it may take one alone: the others have their turn, too', async () => {
    const healthy = Object.fromEntries(Array.from({ length: 10 }, (_, n) => [2_000 + n, { due: 1_000, ends: n }]))
    const claim = await backlog({ ...IMPORTED, ...healthy })
    const chances = [0.1, 0.26, 0.5, 0.9]
    const claimed = await chances.reduce<Promise<number[]>>(
      async (before, chance) => [...(await before), ...(await claim(1, { chance }))],
      Promise.resolve([]),
    )
    expect(claimed).toEqual([1, 2_000, 2_001, 2_002])
  })

  test('passes over hundreds of tokens that end sooner and are not due', async () => {
    const underWay = Object.fromEntries(Array.from({ length: 700 }, (_, n) => [3_000 + n, { due: -60_000, ends: n }]))
    const claim = await backlog({ ...IMPORTED, ...underWay, 2000: { due: 1_000, ends: 1_000 } })
    expect(await claim(4)).toEqual([2_000, 1, 2, 3])
  })

  test('begins anywhere among the tokens where one is tried as a trial: those that end first may all be dead', async () => {
    const healthy = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [2_000 + n, { due: 1_000, ends: n }]))
    const claim = await backlog({ ...IMPORTED, ...healthy })
    const claimed = [await claim(1, { first: 0.35, chance: 0.5 }), await claim(1, { first: 0.99, chance: 0.5 })]
    expect(claimed).toEqual([[2_175], [2_495]])
  })
})
