import { describe, expect, test } from 'vitest'
import { newState } from '../../src/tokens/endpoint/state.ts'
import { failure, tokens } from '../support/fake-provider.ts'
import { whileMoving } from '../support/fleet-by-hand.ts'
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
  await store.hset(keys.fleet, 'endpoint', JSON.stringify({ ...state, pace: { ...state.pace, perSecond } }))
  // The longest life first in the set of due moments, so that its order is not that of expiry.
  for (let n = 0; n < count; n++) {
    await w.account({ hubId: n + 1, lifeMs: 40 * MINUTE - n * 1_000, refreshToken: `refresh-${n + 1}` })
  }
  clock.move(39 * MINUTE)
  w.says.refresh = async (token) => tokens(token.reveal().replace('refresh', 'access'))
  return {
    ...w,
    chance,
    endpoint: services.endpoint,
    /** Says in how long it is looked again, ms. */
    run: async () => {
      const next = await whileMoving(w, w.work('refresh-tokens'))
      return next === undefined ? undefined : next - clock.now()
    },
    /** Whom the provider was asked for, in that order. */
    asked: () => w.provider.calls.map(([, token]) => Number(token?.split('-')[1])),
  }
}

describe('a sweep for tokens', () => {
  test('has everybody refreshed who is due, each once', async () => {
    const { asked, run } = await overdue(40)
    expect(await run()).toBeLessThanOrEqual(1_000)
    expect(asked().toSorted((a, b) => a - b)).toEqual(Array.from({ length: 40 }, (_, n) => n + 1))
    await run()
    expect(asked()).toHaveLength(40)
  })

  test('takes up no more than the endpoint takes soon, nearest to expiry first', async () => {
    const { asked, run, clock } = await overdue(60, 10)
    const begun = clock.now()
    await run()
    expect(asked()).toHaveLength(60)
    expect(clock.now() - begun).toBeGreaterThan(300)
    expect(asked()[0]).toBe(60)
    expect(
      asked()
        .slice(0, 8)
        .filter((hubId) => hubId > 50).length,
    ).toBeGreaterThanOrEqual(6)
  })

  test('takes up one account as a probe while the breaker is open, when its moment has come', async () => {
    const { asked, run, endpoint, clock } = await overdue(40)
    await endpoint.room(0, 1_000)
    const { failure: down } = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down)
    const waits = (await run()) ?? 0
    expect(asked()).toEqual([])
    expect(waits).toBeGreaterThan(1_000)
    clock.move(waits)
    await run()
    expect(asked().length).toBeGreaterThan(0)
  })

  test('probes with anybody: two dead accounts must not keep the trouble going', async () => {
    const { asked, run, endpoint, clock, chance, says } = await overdue(40)
    await endpoint.room(0, 1_000)
    const down = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down.failure)
    says.refresh = async () => down
    for (chance.random of [0.1, 0.3, 0.5, 0.7]) {
      clock.move(30_000)
      await run()
    }
    expect(asked()).toHaveLength(4)
    expect(new Set(asked()).size).toBe(4)
  })

  test('after the clock of Redis was set back takes up whose token seems to come from the future', async () => {
    const { asked, run, account, clock } = await overdue(3)
    await run()
    await account({ hubId: 99, refreshToken: 'refresh-99' })
    clock.set(-60 * MINUTE)
    await run()
    await run()
    expect(asked()).toContain(99)
  })
})

test('a sweep that finds nothing due says when something will be', async () => {
  const { account, run, of, clock } = await overdue(0)
  expect(await run()).toBeUndefined()
  await account({ hubId: 1 })
  expect(await run()).toBe(Number(await of(1).dueAt('refresh')) - clock.now())
})
