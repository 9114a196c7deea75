import { describe, expect, test } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { seedAccount } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = 1_763_719_200_000
const LIFE = 1_800_000
/** All of partition 1. */
const [ONE, TWO, THREE] = [1, 65, 129]

/** Accounts of partition 1 that were connected a life ago: all are due. */
async function fleet() {
  const keys = redis.freshKeys()
  for (const hubId of [ONE, TWO, THREE]) await seedAccount(redis.store, keys, { hubId, obtainedAt: NOW - LIFE })
  const at = async (hubId: number, moment: number) => redis.store.zadd(keys.partition(1).due.refresh, moment, hubId)
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
    await redis.store.zrem(keys.partition(1).due.refresh, TWO)
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
