import { describe, expect, test } from 'vitest'
import { newState } from '../../src/tokens/endpoint/state.ts'
import { failure } from '../support/fake-provider.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const MINUTE = 60_000

/** Accounts whose tokens, of different lives, are all due; a sweep says in how long it would look again, ms. */
async function overdue(count: number, perSecond = 1_000) {
  const chance = { random: 0 }
  const w = await world({ change: () => ({ random: () => chance.random }) })
  const { store, keys, clock, services } = w
  // As daemons have learned it.
  const state = newState(clock.now())
  await store.set(keys.endpoint, JSON.stringify({ ...state, pace: { ...state.pace, perSecond } }))
  // The longest life first in the set of due moments, so that its order is not that of expiry.
  for (let n = 0; n < count; n++) await w.account({ hubId: n + 1, lifeMs: 40 * MINUTE - n * 1_000 })
  clock.move(39 * MINUTE)
  const handedOn: number[] = []
  return {
    ...w,
    chance,
    handedOn,
    endpoint: services.endpoint,
    run: async () => {
      const { next, hubIds } = await w.sweep('refresh-tokens')
      handedOn.push(...hubIds)
      return next === undefined ? undefined : next - clock.now()
    },
    plan: (hubId: number, at: number) => store.zadd(keys.due.refresh, at, hubId),
  }
}

describe('a sweep for tokens', () => {
  test('hands on everybody who is due, nearest to expiry first, each once', async () => {
    const { handedOn, run } = await overdue(40)
    await run()
    expect(handedOn).toEqual(Array.from({ length: 40 }, (_, n) => 40 - n))
    await run()
    expect(handedOn).toHaveLength(40)
  })

  test('hands on no more than the endpoint takes soon, and looks again at once for the rest', async () => {
    const { handedOn, run } = await overdue(60, 10)
    expect(await run()).toBeLessThanOrEqual(1_000)
    expect(handedOn.length).toBeGreaterThan(5)
    expect(handedOn.length).toBeLessThanOrEqual(30)
    expect(handedOn[0]).toBe(60)
  })

  test('hands on nothing while enough is waiting', async () => {
    const { handedOn, run, services } = await overdue(10)
    const waiting = Array.from({ length: 50 }, () => ({ name: 'refresh-tokens', data: { hubIds: [] } }))
    await services.queues.refreshTokens.addBulk(waiting)
    expect(await run()).toBeLessThanOrEqual(1_000)
    expect(handedOn).toEqual([])
  })

  test('hands on one account as a probe while the breaker is open, when its moment has come', async () => {
    const { handedOn, run, endpoint, clock } = await overdue(40)
    await endpoint.room(0, 1_000)
    const { failure: down } = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down)
    const waits = (await run()) ?? 0
    expect(handedOn).toEqual([])
    expect(waits).toBeGreaterThan(1_000)
    clock.move(waits)
    await run()
    expect(handedOn).toHaveLength(1)
  })

  test('probes with anybody: two dead accounts must not keep the trouble going', async () => {
    const { handedOn, run, endpoint, clock, chance } = await overdue(40)
    await endpoint.room(0, 1_000)
    const { failure: down } = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down)
    for (chance.random of [0.1, 0.3, 0.5, 0.7]) {
      clock.move(30_000)
      await run()
    }
    expect(new Set(handedOn).size).toBe(4)
  })

  test('after the clock of Redis was set back takes up whose token seems to come from the future', async () => {
    const { handedOn, run, account, clock } = await overdue(3)
    await run()
    await account({ hubId: 99 })
    clock.set(-60 * MINUTE)
    await run()
    await run()
    expect(handedOn).toContain(99)
  })
})

describe('between two looks of a fleet at rest', () => {
  /** Two accounts of one life, of which one is due and the other will be in `nextMs`. */
  async function resting(lifeMs: number, nextMs: number) {
    const { account, clock, run, plan, handedOn } = await overdue(0)
    for (const hubId of [1, 2]) await account({ hubId, obtainedAt: clock.now() - lifeMs / 2, lifeMs })
    await plan(1, clock.now())
    await plan(2, clock.now() + nextMs)
    const waits = await run()
    expect(handedOn).toEqual([1])
    return waits
  }

  test('lies a moment, so that who comes due in it travels along; of its life a hundredth at most', async () => {
    expect(await resting(30 * MINUTE, 10)).toBe(2_500)
    expect(await resting(30 * MINUTE, 5_000)).toBe(5_000)
    expect(await resting(15_000, 10)).toBe(150)
    expect(await resting(15_000, 400)).toBe(400)
  })

  test('of which the first has nobody, lies no more than until somebody is due', async () => {
    const { account, clock, run, plan } = await overdue(0)
    await account({ hubId: 1 })
    await plan(1, clock.now() + 40)
    expect(await run()).toBe(40)
  })
})
