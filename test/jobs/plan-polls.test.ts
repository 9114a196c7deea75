import { describe, expect, test } from 'vitest'
import { replanPolls } from '../../src/app/reload.ts'
import type { Services } from '../../src/app/services.ts'
import { properties } from '../limits/reports.ts'
import { fails, reads } from '../support/fake-provider.ts'
import { HUB } from '../support/world.ts'
import { HOUR, MINUTE, PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const RULE = { name: 'overall', on: 'customProperties.overall', warning: { percent: 80 } }

/** An account whose polls read what the test says next. */
async function watched(limits: object = {}) {
  const w = await polled({
    rules: [RULE],
    settings: {
      limits: { every: '1h', soonest: '5m', ...limits },
      provider: { accountRate: { requests: 1_000, per: '10s' } },
    },
    provider: { customProperties: reads(properties(100)) },
  })
  const { services, store, keys, clock } = w
  return {
    ...w,
    /** Polls at its next moment, as a sweep would. */
    poll: async (usage?: number) => {
      clock.move(Math.max(0, await w.waits()))
      if (usage !== undefined) w.says.customProperties = reads(properties(usage))
      await w.poll()
    },
    /** When the account counts as read. */
    fresh: async () => Number(await store.zscore(keys.fresh, HUB)),
    turn: async () => (await w.read()).turn ?? undefined,
    replan: (polling: Partial<Services['polling']>) =>
      replanPolls({ ...services, polling: { ...services.polling, ...polling } }),
  }
}

describe('a period that was made shorter in the config', () => {
  const shorter = { every: 10 * MINUTE }

  test('holds for the others where what is known of one account can not be read', async () => {
    const one = await watched()
    await one.poll()
    const beside = HUB - 64
    await one.store.zadd(one.keys.due.poll, one.clock.now() + 900_000, beside)
    await one.store.hset(one.keys.account(beside).account, { state: 'active' })
    await one.store.set(one.keys.account(beside).poll, 'garbage')
    await one.replan(shorter)
    expect(await one.waits()).toBeLessThan(10 * MINUTE)
  })

  test('holds from the start, not from the turn on that the longer one had planned', async () => {
    const one = await watched()
    await one.poll()
    expect(await one.waits()).toBeGreaterThan(10 * MINUTE)
    await one.replan(shorter)
    expect(await one.waits()).toBeLessThan(10 * MINUTE)
    expect(one.logged.lines().filter(({ code }) => code === 'poll.replanned')).toMatchObject([{ accounts: 1 }])
  })

  test('of other accounts, or what the provider said to wait, moves nothing', async () => {
    const one = await watched()
    await one.poll()
    const planned = await one.waits()
    await one.replan({ accounts: [{ match: { account: ['99'] }, every: MINUTE }] })
    expect(await one.waits()).toBe(planned)
    one.says.customProperties = fails('transient', { status: 429, retryAfterMs: 5 * HOUR })
    await one.poll()
    await one.replan(shorter)
    expect(await one.waits()).toBe(5 * HOUR)
  })
})

describe('the next poll of an account', () => {
  test('is at its regular turn while it is still, and its record says so', async () => {
    const one = await watched()
    await one.poll()
    expect((await one.turn())?.because).toEqual({ is: 'new' })
    await one.poll(101)
    expect((await one.turn())?.because).toEqual({ is: 'still' })
    expect(await one.waits()).toBeGreaterThan(0.93 * HOUR)
    expect(await one.waits()).toBeLessThan(0.98 * HOUR)
  })

  test('is soon for as long as it is about to enter a level, or to leave one', async () => {
    const one = await watched()
    await one.poll(790)
    expect((await one.turn())?.because).toMatchObject({ is: 'near', series: 'overall', move: 'enter', of: 80 })
    await one.poll(801)
    for (let n = 0; n < 3; n++) {
      await one.poll()
      expect(await one.waits()).toBe(5 * MINUTE)
    }
    expect((await one.turn())?.because).toMatchObject({ is: 'near', usage: 801, move: 'leave', of: 77 })
  })

  test('and what it polls may be set for some accounts', async () => {
    const accounts = [{ match: { account: '*.example.com' }, every: '2m', associations: [PAIR] }]
    const one = await watched({ accounts })
    await one.poll()
    expect(one.calls()).toEqual(['customProperties', 'associations'])
    await one.poll()
    expect(await one.waits()).toBeLessThan(2 * MINUTE)
  })
})

describe('what counts as the last reading of an account', () => {
  test('is as much later as it may be older than others: one that is polled once a week is not stale after a day', async () => {
    const seldom = await watched({ accounts: [{ match: { account: '*' }, every: '7d' }] })
    await seldom.poll()
    expect((await seldom.fresh()) - seldom.clock.now()).toBe((2 * 168 - 26) * HOUR)
    const often = await watched()
    await often.poll()
    expect(await often.fresh()).toBe(often.clock.now())
  })
})
