import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PollTurn } from '../../../src/limits/poll-state.ts'
import {
  type Boundary,
  type PollFindings,
  planAfterFailure,
  planPoll,
  regularPeriod,
} from '../../../src/limits/polling/plan-poll.ts'
import type { Series } from '../../../src/limits/series.ts'
import type { FailureClass, ProviderFailure } from '../../../src/provider/failure.ts'

const NOW = 1_763_719_200_000
const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

function series(usage: number, limit: number | null = 1_000, id = 'overall'): Series {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id, metric: 'customProperties.overall', usage, limit, percent }
}

const enter = (percent: number, level: Boundary['level'] = 'warning', limit = 1_000): Boundary => {
  return { level, move: 'enter', asks: 'percent', of: percent, at: (percent * limit) / 100 }
}

/** Ahead of every regular turn. */
const EARLY: PollTurn = { regularAt: 2 * NOW, because: { is: 'failed' } }

/** A poll of an account that is far from every threshold. */
function found(more: Partial<PollFindings> = {}): PollFindings {
  return {
    hubId: 123,
    at: NOW,
    everyMs: DAY,
    soonestMs: 5 * MINUTE,
    isFirst: false,
    turn: undefined,
    series: [series(100)],
    boundaries: new Map([['overall', [enter(80), enter(95, 'critical')]]]),
    ...more,
  }
}

const at = (usage: number, more: Partial<PollFindings> = {}) => planPoll(found({ series: [series(usage)], ...more }))
const period = (more: Partial<PollFindings>) => planPoll(found(more)).at - NOW

describe('an account that is far from every threshold, and still', () => {
  test('gets a phase of its own after its first poll, and after one that many others had with it', () => {
    expect(planPoll(found({ isFirst: true })).because).toEqual({ is: 'new' })
    const phases = Array.from({ length: 200 }, (_, n) => period({ hubId: n + 1, isFirst: true }) / DAY)
    expect(Math.min(...phases)).toBeLessThan(0.55)
    expect(Math.max(...phases)).toBeGreaterThan(0.92)
    expect(period({ hubId: 7, turn: EARLY })).toBe(period({ hubId: 7, isFirst: true }))
  })

  test('of many that were connected together is spread over half an interval, and more so with every turn', () => {
    const fleet = Array.from({ length: 1_000 }, (_, n) => 5_000 + n)
    const momentsOf = (turns: number) =>
      fleet.map((hubId) => regularPeriod(hubId, DAY, true) + turns * regularPeriod(hubId, DAY, false))
    const tenths = (moments: number[], from: number, to: number) =>
      Array.from({ length: 10 }, (_, n) => {
        const width = (to - from) / 10
        return moments.filter((at) => at >= from + n * width && at < from + (n + 1) * width).length
      })
    for (const inside of tenths(momentsOf(0), DAY * 0.5, DAY * 0.97)) {
      expect(inside).toBeGreaterThan(60)
      expect(inside).toBeLessThan(140)
    }
    for (const inside of tenths(momentsOf(10), DAY * 9.9, DAY * 10.67)) {
      expect(inside).toBeGreaterThan(60)
      expect(inside).toBeLessThan(140)
    }
  })
})

describe('an account near a threshold', () => {
  test('is polled after the shortest period from a tenth of the limit on', () => {
    expect([100, 650, 699].map((usage) => at(usage).because)).toEqual(Array(3).fill({ is: 'still' }))
    for (const usage of [701, 780, 799, 800, 900]) expect(at(usage).at - NOW).toBe(5 * MINUTE)
  })

  test('is told with the nearest of all', () => {
    const boundaries = new Map(['overall', 'other'].map((id) => [id, [enter(80)]]))
    const two = [series(780), series(799, 1_000, 'other')]
    expect(at(0, { series: two, boundaries }).because).toMatchObject({ series: 'other', usage: 799 })
    expect(at(0, { series: two.toReversed(), boundaries }).because).toMatchObject({ series: 'other', usage: 799 })
  })

  test('may be about to leave a level', () => {
    const boundaries = new Map([['overall', [{ ...enter(77), move: 'leave' as const }, enter(95, 'critical')]]])
    expect(at(785, { boundaries }).because).toMatchObject({ is: 'near', level: 'warning', move: 'leave', of: 77 })
    expect(at(900, { boundaries }).because).toMatchObject({ is: 'near', level: 'critical', move: 'enter' })
  })

  test('is none if it only has one record to go to a threshold of one', () => {
    const one: Boundary = { level: 'warning', move: 'enter', asks: 'count', of: 1, at: 1 }
    const none = { series: [series(0, null, 'at/0-1/0-2')], boundaries: new Map([['at/0-1/0-2', [one]]]) }
    expect(planPoll(found(none)).because).toEqual({ is: 'still' })
  })
})

const somePolls = fc.record({
  hubId: fc.integer({ min: 1, max: 1e9 }),
  everyMs: fc.integer({ min: 1_000, max: 7 * DAY }),
  soonestShare: fc.double({ min: 0.001, max: 1, noNaN: true }),
  turn: fc.constantFrom(undefined, EARLY),
  usage: fc.nat(1_500),
})

describe('whatever a poll found, the next one', () => {
  test('comes before the longest period ends and not before the shortest, and never after its regular turn', () => {
    fc.assert(
      fc.property(somePolls, fc.boolean(), ({ hubId, everyMs, soonestShare, turn, ...one }, isFirst) => {
        const soonestMs = everyMs * soonestShare
        const plan = planPoll(
          found({
            hubId,
            everyMs,
            soonestMs,
            turn,
            isFirst,
            series: [series(one.usage)],
          }),
        )
        expect(plan.at).toBeLessThanOrEqual(NOW + everyMs * 0.97 + 1)
        expect(plan.regularAt).toBeGreaterThanOrEqual(plan.at)
        expect(plan.regularAt).toBeLessThanOrEqual(NOW + everyMs * 0.97 + 1)
        // The first ones are spread over half a period, whatever the shortest one is.
        if (!isFirst) expect(plan.at).toBeGreaterThanOrEqual(NOW + Math.min(soonestMs, everyMs * 0.94) - 1)
        expect(plan.at).toBeGreaterThan(NOW)
      }),
    )
  })
})

describe('after a poll that failed', () => {
  const EVERY = 15 * MINUTE
  const POLL = { hubId: 123, at: NOW, everyMs: EVERY }
  const failure = (kind: FailureClass, retryAfterMs?: number): ProviderFailure => {
    return { class: kind, code: 'x', message: 'x', status: 0, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  }
  const once = { count: 0, tellAt: NOW + DAY, now: NOW + 1_000 }

  test.each([
    [0, 5_000],
    [1, 10_000],
    [4, 80_000],
    [7, 640_000],
    [8, undefined],
    [1_000_000, undefined],
  ])('the next one comes sooner than usual: after %i failures in %i ms', (count, ms) => {
    const attempt = { ...once, count, now: NOW }
    const at = ms === undefined ? Math.round(NOW + regularPeriod(123, EVERY, false)) : NOW + ms
    expect(planAfterFailure(POLL, [failure('transient')], attempt, undefined).at).toBe(at)
    expect(planAfterFailure(POLL, [failure('forbidden'), failure('transient')], attempt, undefined).at).toBe(at)
  })

  test('the next one is no later than the moment from which on the failure is told', () => {
    const tellAt = NOW + EVERY / 2
    for (const kind of ['transient', 'client'] as const) {
      const attempt = { ...once, count: 9, tellAt }
      expect(planAfterFailure(POLL, [failure(kind)], attempt, undefined).at).toBe(tellAt)
      const plan = planAfterFailure(POLL, [failure(kind)], { ...attempt, now: tellAt }, undefined)
      expect(plan.at).toBe(plan.regularAt)
    }
  })

  test('the next one comes when the provider says, sooner or later than any period', () => {
    for (const told of [7_000, DAY]) {
      const plan = planAfterFailure(POLL, [failure('transient', told)], once, undefined)
      expect(plan).toMatchObject({ at: NOW + 1_000 + told, because: { is: 'told' } })
      expect(plan.regularAt).toBeGreaterThanOrEqual(plan.at)
    }
  })

  test('the next one is as planned by what was read, where that is sooner', () => {
    const planned = at(800, { everyMs: EVERY })
    expect(planAfterFailure(POLL, [failure('forbidden')], once, planned)).toEqual(planned)
    expect(planAfterFailure(POLL, [failure('transient')], { ...once, count: 9 }, planned)).toEqual(planned)
    expect(planAfterFailure(POLL, [failure('transient')], once, planned).at).toBe(NOW + 6_000)
  })

  test('the next one is in the future, and no later than its turn unless told so', () => {
    const one = fc.record({
      kind: fc.constantFrom<FailureClass>('transient', 'parked', 'unauthorized', 'forbidden', 'client'),
      retryAfterMs: fc.option(fc.nat(DAY), { nil: undefined }),
    })
    fc.assert(
      fc.property(
        fc.array(one, { minLength: 1, maxLength: 5 }),
        fc.nat(100),
        fc.integer({ min: 1_000, max: DAY }),
        (some, count, everyMs) => {
          const failures = some.map(({ kind, retryAfterMs }) => failure(kind, retryAfterMs))
          const plan = planAfterFailure({ ...POLL, everyMs }, failures, { ...once, count, now: NOW }, undefined)
          const told = Math.max(0, ...some.map(({ retryAfterMs }) => retryAfterMs ?? 0))
          expect(plan.at).toBeGreaterThan(NOW)
          expect(plan.at).toBeLessThanOrEqual(NOW + Math.max(everyMs, told))
        },
      ),
    )
  })
})
