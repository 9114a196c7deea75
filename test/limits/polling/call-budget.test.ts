import { describe, expect, test } from 'vitest'
import { PollStore } from '../../../src/limits/poll-store.ts'
import { CallBudget, decodeBudget, type PollRequest } from '../../../src/limits/polling/call-budget.ts'
import { decodeTurn, type PollTurn } from '../../../src/limits/polling/poll-turn.ts'
import { pollBudgetText, type SharedText } from '../../../src/redis/steps.ts'
import { seedAccount } from '../../support/accounts.ts'
import { eventually } from '../../support/fleet.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { logLines } from '../../support/log-lines.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()
const HUB = 123
const PER_HOUR = 1_000

/** Some daemons that share a budget which holds so many calls. */
async function daemons(count: number, level: number) {
  const keys = redis.freshKeys()
  const clock = new HandClock()
  await redis.store.set(keys.pollBudget, JSON.stringify({ ...decodeBudget('', clock.now()), level }))
  const round = { trips: 0 }
  const text = () => {
    const shared = pollBudgetText(redis.store, keys)
    const change: SharedText['change'] = (decide) => {
      round.trips++
      return pollBudgetText(redis.store, keys).change(decide)
    }
    return Object.assign(shared, { change })
  }
  const lines = logLines()
  const budgets = Array.from({ length: count }, () => {
    return new CallBudget({ text: text(), callsPerHour: PER_HOUR, clock, log: lines.log })
  })
  const stored = async () => decodeBudget((await redis.store.get(keys.pollBudget)) ?? '', 0)
  return { keys, clock, budgets, round, stored, lines, text }
}

const regular = (clock: HandClock, calls = 1): PollRequest => ({ calls, regularAt: clock.now(), urgency: 0 })
const early = (clock: HandClock, urgency = 1): PollRequest => ({ calls: 1, regularAt: clock.now() + 60_000, urgency })

describe('the door to the call budget', () => {
  test('lets through together no more than the budget has room for, whoever asks', async () => {
    const { budgets, clock, stored } = await daemons(3, 20)
    const asked = budgets.flatMap((budget) => Array.from({ length: 40 }, () => budget.admits(early(clock))))
    const admitted = (await Promise.all(asked)).filter(Boolean)
    expect(admitted).toHaveLength(20)
    expect((await stored()).level).toBe(0)
  })

  test('takes one round trip for all who ask in one moment, and serves the urgent first', async () => {
    const { budgets, clock, round } = await daemons(1, 0)
    const [budget] = budgets as [CallBudget]
    await budget.admits(regular(clock))
    round.trips = 0
    clock.move(60_000)
    const asked = [...Array.from({ length: 14 }, () => early(clock, 0.9)), early(clock), regular(clock)]
    const admitted = await Promise.all(asked.map((request) => budget.admits(request)))
    expect(round.trips).toBe(1)
    expect(admitted.slice(-2)).toEqual([true, true])
    expect(admitted.slice(0, -2)).toContain(false)
  })

  test('tells at once what polls took beyond what they asked for, and what they left', async () => {
    const { budgets, clock, stored, round } = await daemons(1, 10)
    const [budget] = budgets as [CallBudget]
    budget.settle(7)
    await budget.admits(regular(clock))
    expect((await stored()).level).toBe(2)
    round.trips = 0
    // While one exchange is under way, too.
    budget.settle(-3)
    await Promise.resolve()
    for (let poll = 0; poll < 50; poll++) budget.settle(-0.1)
    await eventually('all is told, and nobody asked', async () => Math.round((await stored()).level) === 10)
    budget.settle(0)
    expect(round.trips).toBe(2)
  })

  test('has room again as soon as calls are given back', async () => {
    const { budgets, clock, stored } = await daemons(1, -24)
    expect(await budgets[0]?.admits(regular(clock, 21))).toBe(true)
    expect(await budgets[0]?.room()).toMatchObject({ polls: 0 })
    budgets[0]?.settle(-21)
    await eventually('what was given back', async () => (await stored()).level === -24)
    expect((await budgets[0]?.room())?.polls).toBeGreaterThan(0)
  })

  test('says once that regular turns find no room', async () => {
    const { budgets, clock, lines } = await daemons(2, -45)
    const answers = await Promise.all(budgets.map((budget) => budget.admits(regular(clock))))
    expect(answers).toEqual([false, false])
    expect(lines.lines().map(({ code }) => code)).toEqual(['poll.budget'])
  })

  test('says how many polls are worth taking up', async () => {
    const { budgets, clock } = await daemons(1, -45)
    expect(await budgets[0]?.room()).toEqual({ polls: 0, until: clock.now() + 22_500 })
    clock.move(22_500)
    expect(await budgets[0]?.room()).toEqual({ polls: 5, until: clock.now() })
  })

  test('fails whoever asks while Redis is away, and forgets nothing', async () => {
    const { text, clock, lines, stored } = await daemons(0, 10)
    let isAway = true
    const present = text()
    const change: SharedText['change'] = (decide) =>
      isAway ? Promise.reject(new Error('away')) : text().change(decide)
    const away = Object.assign(present, { change })
    const budget = new CallBudget({ text: away, callsPerHour: PER_HOUR, clock, log: lines.log })
    budget.settle(4)
    await expect(budget.admits(regular(clock))).rejects.toThrow('away')
    isAway = false
    expect(await budget.admits(regular(clock))).toBe(true)
    expect((await stored()).level).toBe(5)
  })
})

describe('a poll that is put off', () => {
  const TURN: PollTurn = { regularAt: 9_000, urgency: 1, because: { is: 'budget', instead: { is: 'still' } } }

  async function polled() {
    const { keys } = await daemons(0, 0)
    const polls = new PollStore(redis.store, keys)
    await seedAccount(redis.store, keys, { hubId: HUB, obtainedAt: 1_000 })
    const due = keys.partition(keys.partitionOf(HUB)).due.poll
    await redis.store.zadd(due, 5, HUB)
    const kept = async () => ({
      because: decodeTurn((await redis.store.hget(keys.account(HUB).account, 'pollBecause')) ?? ''),
      at: Number(await redis.store.zscore(due, HUB)),
    })
    return { keys, polls, due, kept }
  }

  test('is due later, and its account says why', async () => {
    const { polls, kept } = await polled()
    await polls.move(HUB, '0', { at: 7_000, ...TURN })
    expect(await kept()).toEqual({ because: TURN, at: 7_000 })
  })

  test('stays where somebody who polled it meanwhile has planned it', async () => {
    const { keys, polls, kept } = await polled()
    await redis.store.hset(keys.account(HUB).account, 'polls', '1')
    await polls.move(HUB, '0', { at: 7_000, ...TURN })
    expect(await kept()).toEqual({ because: undefined, at: 5 })
  })

  test('of an account that was uninstalled meanwhile brings nothing of it back', async () => {
    const { keys, polls, due } = await polled()
    await redis.store.del(keys.account(HUB).account)
    await redis.store.zrem(due, HUB)
    await polls.move(HUB, '0', { at: 7_000, ...TURN })
    expect(await redis.store.exists(keys.account(HUB).account)).toBe(0)
    expect(await redis.store.zscore(due, HUB)).toBeNull()
  })
})
