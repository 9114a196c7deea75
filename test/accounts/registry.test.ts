import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ACCOUNT_STATES, type AccountState } from '../../src/redis/keys.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()

/** The registry of some accounts, and what puts one of them into another state. */
async function fleet(hubIds: readonly number[]) {
  const { account, services, store, keys, close } = await world()
  await Promise.all(hubIds.map((hubId) => account({ hubId })))
  const setState = async (hubId: number, state: AccountState) => {
    const { state: lists } = keys
    await store.hset(keys.own(hubId), 'state', state)
    await store.zrem(lists.active, hubId)
    await store.zadd(lists[state], hubId, hubId)
  }
  return { registry: services.registry, setState, store, keys, close }
}

describe('the registry', () => {
  test('pages through all accounts by hubId', async () => {
    const ids = fc.uniqueArray(fc.integer({ min: 1, max: 2 ** 40 }), { minLength: 1, maxLength: 60 })
    await fc.assert(
      fc.asyncProperty(ids, fc.integer({ min: 1, max: 20 }), async (hubIds, limit) => {
        const { registry, close } = await fleet(hubIds)
        const pages: number[][] = []
        for (let after = 0; ; after = pages.at(-1)?.at(-1) ?? 0) {
          const page = await registry.page(limit, after)
          if (page.length === 0) break
          expect(page.length).toBeLessThanOrEqual(limit)
          pages.push(page.map(({ hubId }) => hubId))
        }
        expect(pages.flat()).toEqual([...hubIds].sort((a, b) => a - b))
        expect(pages.slice(0, -1).every((page) => page.length === limit)).toBe(true)
        await close()
      }),
      { numRuns: 15 },
    )
  })

  test('hands out a page of more than a thousand, in order', async () => {
    const hubIds = Array.from({ length: 1_203 }, (_, n) => 5_000 + n * 3)
    const { registry } = await fleet(hubIds)
    expect((await registry.page(5_000)).map(({ hubId }) => hubId)).toEqual(hubIds)
  })

  test('counts and pages by state', async () => {
    const { registry, setState } = await fleet([1, 2, 3, 65, 66, 130])
    await setState(2, 'failing')
    await setState(66, 'reauthorize')
    await setState(130, 'uninstalled')
    expect(await registry.countByState()).toEqual({
      active: 3,
      failing: 1,
      parked: 0,
      reauthorize: 1,
      uninstalling: 0,
      uninstalled: 1,
    })
    const ids = async (...states: AccountState[]) => (await registry.page(10, 0, states)).map(({ hubId }) => hubId)
    expect(await ids('failing', 'reauthorize')).toEqual([2, 66])
    expect(await ids('parked')).toEqual([])
    expect(await ids(...ACCOUNT_STATES)).toEqual([1, 2, 3, 65, 66, 130])
  })

  test('knows nothing of an account that is not there', async () => {
    const { registry } = await fleet([1])
    expect(await registry.get(2)).toBeUndefined()
    expect((await registry.getMany([2, 1, 3])).map(({ hubId }) => hubId)).toEqual([1])
    expect(await registry.grantedScopes(2)).toEqual([])
    expect(await registry.page(10, 1)).toEqual([])
  })

  test('lists who has an alert, in order', async () => {
    const { registry, store, keys } = await fleet([])
    for (const hubId of [900, 5, 64, 128]) await store.sadd(keys.alerting, hubId)
    expect(await registry.alerting()).toEqual([5, 64, 128, 900])
  })
})
