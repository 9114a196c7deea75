import fc from 'fast-check'
import { expect, test } from 'vitest'
import { statesAfter } from '../../../src/alerts/evaluation/boundaries.ts'
import { decideAlerts } from '../../../src/alerts/evaluation/decide.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import { WINDOW_DAYS } from '../../../src/limits/forecast/forecast.ts'
import {
  type AccountForecasts,
  dailyPoints,
  dayOf,
  forecastSeries,
  UTC_DAY_MS,
} from '../../../src/limits/forecast/forecast-account.ts'
import { type Change, changeBetween, valuesOf } from '../../../src/limits/history/change.ts'
import { type Snapshot, timelineOf } from '../../../src/limits/history/history.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { seriesId, seriesOf } from '../../../src/limits/series.ts'
import { replayedSeries, replaySeries } from '../../../src/views/plan/replay-series.ts'
import type { RuleSet } from '../../../src/views/view-deps.ts'
import { associations, properties, readings } from '../../limits/reports.ts'

const HOUR = 3_600_000
const START = Date.parse('2026-11-01T00:00:00.000Z')
const ACCOUNT = { hubId: 123, hubDomain: 'acme.example.com' }
const GROUP = { by: ['rule' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 }
/** By these rules at once, to whoever it may be. */
const setOf = (rules: readonly Rule[], more: Partial<RuleSet> = {}): RuleSet => ({
  ...{ rules, recoverBelow: 3, for: 0, repeatEveryMs: 48 * HOUR, firstRun: 'alert', routes: [{ to: ['ops'] }] },
  ...{ group: GROUP, ...more },
})

/** What was told of one series, as both sides say it. */
type Told = Record<'id' | 'kind' | 'rule' | 'level' | 'reason', string> & { at: number; inDigest: boolean }

interface Poll {
  usage: number
  limit: number
  types: Record<string, [number, number]>
  full: number
  /** Periods since the poll before: one, or so many that it is a gap. */
  periods: number
}

/** A daemon's polls one after the other: its decisions, and the history that they leave. */
function live(rules: RuleSet, everyMs: number, polls: readonly Poll[]) {
  const told: Told[] = []
  const changes: Change[] = []
  const snapshots: Snapshot[] = []
  let states: Record<string, string> = {}
  let before: Readings | undefined
  let forecasts: AccountForecasts | undefined
  let at = START
  let readAt: number | undefined
  for (const [n, { usage, limit, types, full, periods }] of polls.entries()) {
    at += n === 0 ? 0 : periods * everyMs
    const after = readings(at, properties(usage, limit, types), { '0-1/0-2': associations(10, [], full) })
    if (forecasts === undefined || dayOf(forecasts.at) !== dayOf(at)) forecasts = foretold(snapshots, readAt, after, at)
    const account = { ...ACCOUNT, before, after, samples: {}, forecasts, states }
    const writes = decideAlerts({ ...rules, pageOf: () => '' }, account, at)
    states = { ...statesAfter(states, writes) }
    for (const { alert, firstReading: inDigest = false } of writes.entries.map(decodeEntry)) {
      const { kind, rule, level, reason, series } = alert
      told.push({ id: seriesId(series as Parameters<typeof seriesId>[0]), at, kind, rule, level, reason, inDigest })
    }
    const change = changeBetween(before, after, at, 2 * everyMs)
    if (change !== undefined) {
      changes.push(change)
      const { missingSince } = change
      const series = seriesOf(after).map(({ id: _, label: __, ...one }) => one)
      snapshots.push({ at, ...(missingSince === undefined ? {} : { missingSince }), series })
    }
    before = after
    readAt = at
  }
  const timeline = timelineOf({ readAt: at, current: valuesOf(before), changes })
  return { told, timeline, to: at }
}

/** As the daily job does it, at the day's first poll: of the days before it. */
function foretold(snapshots: readonly Snapshot[], readAt: number | undefined, after: Readings, at: number) {
  const today = dayOf(at)
  const span = { from: today - WINDOW_DAYS, to: today, readUntil: () => readAt }
  return forecastSeries(seriesOf(after), dailyPoints(snapshots, span), today * UTC_DAY_MS)
}

function replay(rules: RuleSet, everyMs: number, { timeline, to }: Pick<ReturnType<typeof live>, 'timeline' | 'to'>) {
  const span = { warmFrom: START - UTC_DAY_MS, from: START, to }
  return replayedSeries(ACCOUNT, timeline, { everyMs }).flatMap((series) =>
    replaySeries(rules, series, span).map((one): Told => ({ id: series.id, ...one })),
  )
}

const byMoment = (all: readonly Told[]) =>
  all.map((one) => JSON.stringify([one.at, one.id, one.kind, one.rule, one.level, one.reason, one.inDigest])).sort()

const types = (given: Record<string, [number, number]>) => fc.constant(given)
const poll: fc.Arbitrary<Poll> = fc.record({
  usage: fc.oneof(fc.integer({ min: 90, max: 101 }), fc.integer({ min: 70, max: 100 }), fc.constant(0)),
  limit: fc.oneof({ weight: 9, arbitrary: fc.constant(100) }, { weight: 1, arbitrary: fc.constantFrom(0, 90, 200) }),
  types: fc.oneof(
    { weight: 4, arbitrary: types({ '0-1': [95, 100] }) },
    { weight: 2, arbitrary: types({ '0-1': [96, 100], '2-7': [3, 4] }) },
    { weight: 1, arbitrary: types({}) },
  ),
  full: fc.constantFrom(0, 0, 1, 2, 60),
  periods: fc.oneof({ weight: 8, arbitrary: fc.constant(1) }, { weight: 1, arbitrary: fc.integer({ min: 3, max: 9 }) }),
})
/** Often the same again and again: what a history leaves out. */
const same = fc.record({ poll, times: fc.oneof(fc.constant(1), fc.integer({ min: 1, max: 12 })) })
const polls = fc
  .array(same, { minLength: 1, maxLength: 30 })
  .map((some) => some.flatMap(({ poll, times }) => [poll, ...Array<Poll>(times - 1).fill({ ...poll, periods: 1 })]))

const level = (percent: number) => fc.record({ percent: fc.constant(percent) })
const rules: fc.Arbitrary<Rule[]> = fc
  .record({
    overall: fc.record({
      warning: level(80),
      critical: level(95),
      recoverBelow: fc.option(fc.nat(8), { nil: undefined }),
    }),
    types: fc.constantFrom<Partial<Rule>>(
      { off: true },
      { warning: { remaining: 4 }, critical: { remaining: 1 } },
      { critical: { percent: 96 } },
    ),
    full: fc.constantFrom<Partial<Rule>>({ warning: { count: 1 }, critical: { count: 50 } }, { warning: { count: 2 } }),
  })
  .map(({ overall, types, full }) => [
    ...(types.off === true ? [{ name: 'moved', on: 'limit-changed', off: true }] : []),
    { name: 'mine', on: 'customProperties.overall', ...overall },
    { name: 'types', on: 'customProperties.objectType', ...types },
    { name: 'full', on: 'associations.atLimit', ...full },
  ])
const ruleSet: fc.Arbitrary<RuleSet> = fc.record({
  rules,
  recoverBelow: fc.constantFrom(0, 3),
  for: fc.constantFrom(0, 1, 2, 4),
  repeatEveryMs: fc.constantFrom(HOUR, 24 * HOUR),
  worseAfterMs: fc.constantFrom(undefined, 0, HOUR / 12, 2 * HOUR),
  firstRun: fc.constantFrom('digest', 'alert'),
  routes: fc.constant([{ to: ['ops'] }]),
  group: fc.constant(GROUP),
})

test('replayed from the history that regular polls leave, rules tell what was told live, poll by poll', () => {
  let told = 0
  fc.assert(
    fc.property(ruleSet, polls, (set, some) => {
      const lived = live(set, HOUR / 4, some)
      told += lived.told.length
      expect(byMoment(replay(set, HOUR / 4, lived))).toEqual(byMoment(lived.told))
    }),
    { numRuns: 60 },
  )
  expect(told).toBeGreaterThan(100)
})

test('forecasts are told anew for each day from what was known then, so that daysLeft is replayed too', () => {
  const soon = { name: 'soon', on: 'customProperties.overall', warning: { daysLeft: 14 } } as const
  const foreseeing = setOf([{ ...soon, critical: { daysLeft: 4, percent: 99 } }], { worseAfterMs: HOUR })
  const reasons = new Set<string>()
  // Two histories that reach every reason whatever else is made up: growth until it is nearly full, then a clean-up.
  const day = (by: number) => ({ by, gap: 0 })
  const rising = (days: number) => [...Array(days).fill(day(10)), ...Array(30).fill(day(-8))]
  // And one that is read again after forty days, far from its limit: a level that rested on a forecast stays while there is none.
  const unforeseen = [...Array(22).fill(day(10)), { by: -400, gap: 91 }, ...Array(4).fill(day(0))]
  const aDay = fc.record({ by: fc.oneof(fc.constant(10), fc.integer({ min: -8, max: 30 })), gap: fc.nat(60) })
  const days = fc.array(aDay, { minLength: 20, maxLength: 70, size: 'max' })
  fc.assert(
    fc.property(fc.integer({ min: 100, max: 800 }), days, (first, steps) => {
      let usage = first
      const some = steps.flatMap(({ by, gap }) => {
        usage = Math.min(1_000, Math.max(0, usage + by))
        const daily = { usage, limit: 1_000, types: {}, full: 0 }
        // Four polls a day; now and then days without any.
        return [gap > 57 ? 4 * (gap - 51) : 1, 1, 1, 1].map((periods) => ({ ...daily, periods }))
      })
      const lived = live(foreseeing, 6 * HOUR, some)
      for (const { level, reason } of lived.told) reasons.add(`${level} ${reason}`)
      expect(byMoment(replay(foreseeing, 6 * HOUR, lived))).toEqual(byMoment(lived.told))
    }),
    { numRuns: 40, examples: [rising(24), rising(28), unforeseen].map((days) => [650, days]) },
  )
  for (const one of ['warning entered', 'critical escalated', 'warning recovered', 'warning repeat'])
    expect(reasons).toContain(one)
})

test('what was in force before the time that is looked at is not told again, but left when it is over', () => {
  const mine = { name: 'mine', on: 'customProperties.overall', warning: { percent: 80 } } as const
  const set = setOf([mine], { recoverBelow: 0, for: 3, repeatEveryMs: 1_000 * HOUR })
  const at = (usage: number) => ({ usage, limit: 100, types: {}, full: 0, periods: 1 })
  const { timeline, to } = live(set, HOUR, [...Array(48).fill(at(90)), at(70), at(70)])
  const [overall] = replayedSeries(ACCOUNT, timeline, { everyMs: HOUR })
  if (overall === undefined) throw new Error('no series')
  const from = START + 30 * HOUR
  for (const warmFrom of [from - HOUR, from - 100 * HOUR]) {
    const left = { at: START + 48 * HOUR, kind: 'limit', rule: 'mine', level: 'warning', reason: 'recovered' }
    expect(replaySeries(set, overall, { warmFrom, from, to })).toEqual([{ ...left, inDigest: false }])
  }
})

test('a type that appears in an account without custom objects is no first reading of its report', () => {
  const read = (at: number, types: Record<string, number>): Readings => ({
    pipelines: {
      at,
      values: Object.entries(types).map(([objectTypeId, usage]) => ({
        ...{ metric: 'pipelines.objectType', objectTypeId, usage, limit: 100 },
      })),
    },
  })
  const [first, second] = [read(START, { '0-3': 1 }), read(START + HOUR, { '0-3': 1, '0-5': 99 })]
  // Custom objects come last of all.
  const third: Readings = {
    pipelines: {
      at: START + 2 * HOUR,
      values: [...(second.pipelines?.values ?? []), { metric: 'pipelines.customObjects', usage: 1, limit: 100 }],
    },
  }
  const polls = [first, second, third]
  const changes = polls.flatMap((after, n) => changeBetween(polls[n - 1], after, START + n * HOUR, 10 * HOUR) ?? [])
  const timeline = timelineOf({ readAt: START + 2 * HOUR, current: valuesOf(third), changes })
  const pipelines = { name: 'pipelines', on: 'pipelines.objectType', warning: { percent: 80 } } as const
  const rules = setOf([pipelines], { for: 1, firstRun: 'digest' })
  const [one] = replayedSeries(ACCOUNT, timeline, { everyMs: HOUR }).filter(({ id }) => id === 'pipelines/0-5')
  if (one === undefined) throw new Error('it is not there')
  const span = { warmFrom: START, from: START, to: START + 2 * HOUR }
  expect(replaySeries(rules, one, span)).toMatchObject([{ at: START + HOUR, level: 'warning', inDigest: false }])
})
