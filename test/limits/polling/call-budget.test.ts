import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  admitPolls,
  CallBudget,
  decodeBudget,
  depthOf,
  type PollBudget,
  type PollRequest,
  refillBudget,
  refillPerHour,
  roomFor,
} from '../../../src/limits/polling/call-budget.ts'
import { pollBudgetText, type SharedText } from '../../../src/redis/steps.ts'
import { eventually } from '../../support/fleet.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { logLines } from '../../support/log-lines.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()
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

const NOW = 1_763_719_200_000
const HOUR = 3_600_000
describe('the bucket', () => {
  const PER_HOUR = 10_000
  const DEPTH = 450
  const newBudget = (now: number) => decodeBudget('', now)

  const budget = (level: number, more: Partial<PollBudget> = {}): PollBudget => ({ ...newBudget(NOW), level, ...more })
  const regular = (calls = 1, lateMs = 0): PollRequest => ({ calls, regularAt: NOW - lateMs, urgency: 0 })
  const early = (urgency: number, calls = 1): PollRequest => ({ calls, regularAt: NOW + HOUR, urgency })
  const admit = (level: number, ...requests: PollRequest[]) => admitPolls(budget(level), requests, PER_HOUR, NOW)

  describe('the call budget', () => {
    test('fills by nine tenths of itself in an hour, and holds under three minutes of it', () => {
      expect(refillPerHour(budget(0), PER_HOUR)).toBe(9_000)
      expect(depthOf(budget(0), PER_HOUR)).toBe(DEPTH)
      expect(refillBudget(budget(0), PER_HOUR, NOW + 60_000)).toMatchObject({ level: 150, at: NOW + 60_000 })
      expect(refillBudget(budget(0), PER_HOUR, NOW + HOUR).level).toBe(DEPTH)
    })

    test('counts the time of several clocks once, whichever is ahead', () => {
      const ahead = refillBudget(budget(0), PER_HOUR, NOW + 4_000)
      const behind = refillBudget(ahead, PER_HOUR, NOW + 1_000)
      expect(behind).toEqual(ahead)
      expect(refillBudget(behind, PER_HOUR, NOW + 4_000)).toEqual(ahead)
    })

    test('goes on after a clock was set back by far', () => {
      const back = refillBudget(budget(0, { at: NOW + 24 * HOUR }), PER_HOUR, NOW)
      expect(back).toMatchObject({ level: 0, at: NOW })
      expect(refillBudget(back, PER_HOUR, NOW + 4_000).level).toBe(10)
    })

    test('lets regular turns overdraw it, and no further than its depth', () => {
      const requests = Array.from({ length: 1_000 }, () => regular())
      const { budget: after, admitted } = admit(0, ...requests)
      expect(admitted.filter(Boolean)).toHaveLength(DEPTH)
      expect(after.level).toBe(-DEPTH)
    })

    test('lets early polls through only where something is left, the more of it the less urgent they are', () => {
      const lets = (level: number, urgency: number) => admit(level, early(urgency)).admitted[0]
      expect(lets(1, 1)).toBe(true)
      expect(lets(0.5, 1)).toBe(false)
      expect(lets(1, 0.5)).toBe(false)
      expect(lets(DEPTH / 2 + 1, 0.5)).toBe(true)
      expect(lets(DEPTH - 1, 0)).toBe(false)
      expect(lets(DEPTH, 0)).toBe(true)
    })

    test('serves regular turns first, the oldest before, then the most urgent', () => {
      const { admitted } = admit(0, early(1), regular(300, 10), regular(300, 20), early(0.5))
      expect(admitted).toEqual([false, false, true, false])
      expect(admit(5, early(0.9), early(1), regular(4)).admitted).toEqual([false, true, true])
    })

    test('has room for a poll that is larger than all it would hold', () => {
      const { budget: after, admitted } = admitPolls(budget(0), [regular(50)], 100, NOW)
      expect(admitted).toEqual([true])
      expect(after).toMatchObject({ level: -50, largest: 50 })
      expect(refillPerHour(after, 100)).toBe(10)
      expect(admitPolls(refillBudget(after, 100, NOW + 20 * HOUR), [early(0, 50)], 100, NOW).admitted).toEqual([true])
    })

    test('is never exceeded in an hour, whatever is asked of it', () => {
      const asks = fc.record({
        afterMs: fc.integer({ min: 0, max: 600_000 }),
        calls: fc.integer({ min: 1, max: 8 }),
        count: fc.integer({ min: 1, max: 300 }),
        urgency: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
      })
      fc.assert(
        fc.property(fc.integer({ min: 100, max: 2_000 }), fc.array(asks, { maxLength: 60 }), (perHour, list) => {
          let state = newBudget(NOW)
          state.largest = 8
          let now = NOW
          const made: [at: number, calls: number][] = []
          for (const { afterMs, calls, count, urgency } of list) {
            now += afterMs
            const regularAt = urgency === null ? now : now + HOUR
            const requests = Array.from({ length: count }, () => ({ calls, regularAt, urgency: urgency ?? 0 }))
            const served = admitPolls(refillBudget(state, perHour, now), requests, perHour, now)
            state = served.budget
            made.push([now, calls * served.admitted.filter(Boolean).length])
          }
          for (const [from] of made) {
            const inHour = made
              .filter(([at]) => at >= from && at < from + HOUR)
              .reduce((sum, [, calls]) => sum + calls, 0)
            expect(inHour).toBeLessThanOrEqual(perHour)
          }
        }),
      )
    })
  })

  describe('a budget that is too small', () => {
    test('is noted while regular turns wait, with how late the latest was', () => {
      const { budget: short } = admit(-DEPTH, regular(1, 5_000), regular(1, 90_000))
      expect(short.short).toEqual({ since: NOW, at: NOW, polls: 2, latestMs: 90_000, saidAt: NOW })
      expect(admit(-10, regular(1, 90_000)).budget.short).toMatchObject({ polls: 1, latestMs: 90_000 })
    })

    test('is none where early polls wait, or a sweep found a turn late while there was room', () => {
      expect(admit(-DEPTH, early(1)).budget.short).toBeNull()
      expect(admit(10, regular(1, 90_000)).budget.short).toBeNull()
      expect(admit(-10, regular(1, 20_000)).budget.short).toBeNull()
    })

    test('is told at once, and again after an hour, by one daemon', () => {
      const first = admit(-DEPTH, regular())
      expect(first.say).toMatchObject({ polls: 1 })
      const later = (ms: number) => admitPolls(first.budget, [], PER_HOUR, NOW + ms).say
      expect(later(HOUR - 1)).toBeNull()
      expect(later(HOUR)).toMatchObject({ polls: 1 })
      expect(admit(0).say).toBeNull()
    })

    test('is over when nobody had to wait for ten minutes', () => {
      const { budget: short } = admit(-DEPTH, regular())
      expect(refillBudget(short, PER_HOUR, NOW + 600_000).short).not.toBeNull()
      expect(refillBudget(short, PER_HOUR, NOW + 600_001).short).toBeNull()
    })

    test('makes sweeps wait until it is worth it, and then take up what there is room for', () => {
      expect(roomFor(budget(0, { meanCalls: 2 }), PER_HOUR, NOW)).toEqual({ polls: DEPTH / 2, until: NOW })
      const { polls, until } = roomFor(budget(-DEPTH), PER_HOUR, NOW)
      expect(polls).toBe(0)
      expect(until - NOW).toBe(22_500)
      expect(roomFor(refillBudget(budget(-DEPTH), PER_HOUR, until), PER_HOUR, until).polls).toBeGreaterThan(50)
    })

    test('takes up no poll that it would not let through, however large polls are', () => {
      const large = fc.record({
        perHour: fc.integer({ min: 10, max: 100_000 }),
        largest: fc.integer({ min: 1, max: 1_001 }),
        meanShare: fc.double({ min: 0, max: 1, noNaN: true }),
        levelShare: fc.double({ min: -1, max: 1, noNaN: true }),
      })
      fc.assert(
        fc.property(large, ({ perHour, largest, meanShare, levelShare }) => {
          const found = budget(0, { largest, meanCalls: Math.max(1, largest * meanShare) })
          const before = { ...found, level: depthOf(found, perHour) * levelShare }
          const { polls, until } = roomFor(before, perHour, NOW)
          const then = polls > 0 ? before : refillBudget(before, perHour, until)
          expect(admitPolls(then, [{ ...regular(largest), regularAt: until }], perHour, until).admitted).toEqual([true])
        }),
      )
    })
  })

  describe('a budget as stored', () => {
    test('reads back as it was', () => {
      const { budget: short } = admit(-DEPTH, regular(3, 90_000))
      for (const one of [newBudget(NOW), budget(-1.5, { largest: 9, meanCalls: 1.25 }), short]) {
        expect(decodeBudget(JSON.stringify(one), NOW + 1)).toEqual(one)
      }
    })

    test.each(['', 'x', 'null', '{}', '{"level":"1","at":2}', '{"level":1,"at":2,"short":5}'])(
      'is none if it is %j',
      (stored) => {
        expect(decodeBudget(stored, NOW)).toEqual(newBudget(NOW))
      },
    )
  })
})
