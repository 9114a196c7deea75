import { describe, expect, test } from 'vitest'
import { pollWanted } from '../../jobs/poll-limits.ts'
import { replanPolls } from '../../src/app/reload.ts'
import type { Services } from '../../src/app/services.ts'
import { decodeBudget } from '../../src/limits/polling/call-budget.ts'
import { properties } from '../limits/reports.ts'
import { fails, reads } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HUB } from '../support/world.ts'
import { HOUR, MINUTE, PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const RULE = { name: 'overall', on: 'customProperties.overall', warning: { percent: 80 } }

/** An account whose polls read what the test says next; `share`: its calls in ten seconds. */
async function watched(limits: object = {}, share = 1_000) {
  const w = await polled({
    rules: [RULE],
    settings: {
      limits: { every: '1h', soonest: '5m', ...limits },
      provider: { accountRate: { requests: share, per: '10s' } },
    },
    provider: { customProperties: reads(properties(100)) },
  })
  const { services, store, keys, clock } = w
  return {
    ...w,
    /** What the fleet's budget holds now. */
    hold: (level: number) => store.set(keys.pollBudget, JSON.stringify({ ...decodeBudget('', clock.now()), level })),
    /** Polls at its next moment, as a sweep would. */
    poll: async (usage?: number) => {
      clock.move(Math.max(0, await w.waits()))
      if (usage !== undefined) w.says.customProperties = reads(properties(usage))
      await w.poll()
    },
    /** Polls now, because somebody waits for it. */
    pollNow: (signal = new AbortController().signal) => pollWanted(services, HUB, signal),
    /** When the account counts as read. */
    fresh: async () => Number(await store.zscore(keys.partition(HUB % 64).fresh, HUB)),
    turn: async () => (await w.read()).turn ?? undefined,
    level: async () => decodeBudget((await store.get(keys.pollBudget)) ?? '', 0).level,
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
    await one.store.zadd(one.keys.partition(HUB % 64).due.poll, one.clock.now() + 900_000, beside)
    await one.store.hset(one.keys.account(beside).account, { state: 'active' })
    await one.store.set(one.keys.account(beside).watch, 'garbage')
    await one.replan(shorter)
    expect(await one.waits()).toBeLessThan(10 * MINUTE)
  })

  test('holds from the start, not from the turn on that the longer one had planned', async () => {
    const one = await watched()
    await one.poll()
    expect(await one.waits()).toBeGreaterThan(10 * MINUTE)
    await one.replan(shorter)
    expect(await one.waits()).toBeLessThan(10 * MINUTE)
    expect(await one.turn()).toMatchObject({
      because: { is: 'still' },
      regularAt: one.clock.now() + (await one.waits()),
    })
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
    await one.poll()
    expect((await one.turn())?.because).toEqual({ is: 'still' })
    expect(await one.waits()).toBeGreaterThan(0.93 * HOUR)
    expect(await one.waits()).toBeLessThan(0.98 * HOUR)
  })

  test('is soon when its numbers changed, and later again when they stay', async () => {
    const one = await watched()
    await one.poll(100)
    await one.poll(99)
    expect(await one.waits()).toBe(5 * MINUTE)
    expect((await one.turn())?.because).toEqual({ is: 'changed', at: one.clock.now() })
    await one.poll()
    expect(await one.waits()).toBe(5 * MINUTE)
    await one.poll()
    expect(await one.waits()).toBe(10 * MINUTE)
  })

  test('is soon when it is about to enter a level, or to leave one', async () => {
    const one = await watched()
    await one.poll(790)
    expect((await one.turn())?.because).toMatchObject({ is: 'near', series: 'overall', move: 'enter', of: 80 })
    await one.poll(801)
    for (let n = 0; n < 3; n++) await one.poll()
    expect((await one.turn())?.because).toMatchObject({ is: 'near', usage: 801, move: 'leave', of: 77 })
  })

  test('is soon when it rises fast, but not because its limit moved', async () => {
    const one = await watched()
    await one.poll(300)
    await one.poll(690)
    expect((await one.turn())?.because).toMatchObject({ is: 'rising', series: 'overall', to: 'warning' })
    expect(await one.waits()).toBe(5 * MINUTE)
    one.says.customProperties = reads(properties(690, 1_050))
    await one.poll()
    expect((await one.turn())?.because).toEqual({ is: 'changed', at: one.clock.now() })
  })

  test('is not sooner for what was read for the first time', async () => {
    const one = await watched()
    one.says.customProperties = fails('transient')
    one.services.polling.associations = [PAIR]
    await one.poll()
    one.says.customProperties = reads(properties(100))
    await one.poll()
    expect((await one.turn())?.because).toEqual({ is: 'still' })
  })

  test('is tried again after a failure, and waits as long as the provider says', async () => {
    const one = await watched()
    one.says.customProperties = fails('transient')
    await one.poll()
    expect(await one.waits()).toBe(5_000)
    expect((await one.turn())?.because).toEqual({ is: 'failed' })
    one.says.customProperties = fails('transient', { retryAfterMs: 42_000 })
    await one.poll()
    expect(await one.waits()).toBe(42_000)
    expect((await one.turn())?.because).toEqual({ is: 'told' })
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

describe('after the clock was set back', () => {
  test('who was polled by the old one is due at once, is planned by the new one, and can become stale', async () => {
    const one = await watched()
    await one.poll()
    one.clock.move(-24 * HOUR)
    expect(await one.services.due.bringForward(one.clock.now())).toEqual({ tokens: 1, polls: 1 })
    expect(await one.waits()).toBe(0)
    await one.poll()
    expect(await one.waits()).toBeLessThan(HOUR)
    expect(await one.fresh()).toBe(one.clock.now())
  })
})

describe('where the fleet has a call budget', () => {
  test('a poll takes from it what it calls', async () => {
    const one = await watched({ callsPerHour: 1_000, associations: [PAIR] })
    await one.hold(10)
    await one.poll()
    expect(one.calls()).toHaveLength(2)
    expect(await one.level()).toBe(8)
  })

  test('a new account that finds no room has waited since it was connected, and keeps that place', async () => {
    const one = await watched({ callsPerHour: 1_000 })
    const connectedAt = one.clock.now()
    for (const waited of [MINUTE, HOUR]) {
      one.clock.move(waited)
      await one.hold(-45)
      await one.poll()
      expect((await one.turn())?.regularAt).toBe(connectedAt)
      expect(one.clock.now() + (await one.waits())).toBeLessThanOrEqual(connectedAt)
    }
    expect(one.calls()).toEqual([])
  })

  test('an early poll that finds no room is put off, says why, and comes when there is some', async () => {
    const one = await watched({ callsPerHour: 1_000 })
    await one.poll(100)
    await one.poll(50)
    const planned = await one.turn()
    await one.hold(-40)
    one.clock.move(5 * MINUTE)
    await one.hold(-40)
    await one.poll()
    expect(one.calls()).toHaveLength(2)
    const putOff = await one.turn()
    expect(putOff).toMatchObject({
      regularAt: planned?.regularAt,
      because: { is: 'budget', instead: planned?.because },
    })
    expect(putOff?.urgency).toBeGreaterThan(planned?.urgency ?? 1)
    expect(await one.waits()).toBe(5 * MINUTE)
    one.clock.move(10 * MINUTE)
    await one.poll()
    expect(one.calls()).toHaveLength(3)
    expect((await one.turn())?.because).toMatchObject({ is: 'changed' })
  })

  test('a regular poll overdraws it, and keeps its place where even that is used up', async () => {
    const one = await watched({ callsPerHour: 1_000 })
    await one.hold(0)
    await one.poll()
    expect(await one.level()).toBe(-1)
    const due = await one.dueAt('poll')
    one.clock.move(2 * HOUR)
    await one.hold(-45)
    await one.poll()
    expect(one.calls()).toHaveLength(1)
    expect(await one.dueAt('poll')).toBe(Number(due))
    expect((await one.turn())?.because).toEqual({ is: 'budget', instead: { is: 'new' } })
    expect(one.logged.lines().filter(({ code }) => code === 'poll.budget')).toHaveLength(1)
  })

  test('a poll that somebody waits for needs no more than its calls; without room it changes nothing of the turn', async () => {
    const one = await watched({ callsPerHour: 1_000 })
    await one.poll()
    await one.hold(1)
    expect(await one.pollNow()).toBe('committed')
    const [turn, waits] = [await one.turn(), await one.waits()]
    await one.hold(0)
    expect(await one.pollNow()).toBe('no-room')
    expect([await one.turn(), await one.waits()]).toEqual([turn, waits])
    expect(one.logged.lines().filter(({ code }) => code === 'poll.budget')).toEqual([])
  })

  test('calls that were let through and not made are given back at once', async () => {
    const one = await watched({ callsPerHour: 1_000, associations: [PAIR] })
    await one.hold(10)
    one.clock.move(2 * MINUTE)
    await one.hold(10)
    await one.services.pauseCalls(HUB, one.clock.now() + MINUTE)
    expect(await one.pollNow()).toBe('paused')
    await eventually('what was not called', async () => (await one.level()) === 10)
    one.clock.move(MINUTE)
    await one.hold(10)
    expect(await one.pollNow()).toBe('committed')
    expect(await one.level()).toBe(8)
  })

  test('calls of a poll that was told to stop were made, too', async () => {
    const one = await watched({ callsPerHour: 1_000, associations: [PAIR] }, 1)
    await one.hold(10)
    const stop = new AbortController()
    const polled = one.pollNow(stop.signal)
    await one.clock.sleeper(10_000)
    stop.abort(new Error('SIGTERM'))
    expect(await polled).toBe('later')
    expect(one.calls()).toHaveLength(1)
    await eventually('what was not called', async () => (await one.level()) === 9)
  })

  test('a sweep leaves due what there is no room for, and looks again when there is', async () => {
    const one = await watched({ callsPerHour: 1_000 })
    await one.hold(-45)
    expect(await one.sweep('poll-limits')).toEqual({ next: one.clock.now() + 22_500, chunks: [] })
    one.clock.move(22_500)
    expect(await one.sweep('poll-limits')).toMatchObject({ chunks: [{ hubIds: [HUB] }] })
  })
})

test('without a call budget nothing of one is kept', async () => {
  const one = await watched()
  await one.poll()
  expect(await one.store.exists(one.keys.pollBudget)).toBe(0)
})
