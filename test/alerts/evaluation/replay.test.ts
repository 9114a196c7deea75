import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeState } from '../../../src/alerts/alert-state.ts'
import { type AlertSettings, decideAlerts } from '../../../src/alerts/evaluation/decide.ts'
import { type ReplayedPoll, replay } from '../../../src/alerts/evaluation/replay.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import { decodeEntry } from '../../../src/alerts/outbox/outbox-entry.ts'
import { outlookOf } from '../../../src/limits/forecast/outlook.ts'
import { mergeReadings, type Readings, readAt } from '../../../src/limits/readings.ts'
import { seriesOf } from '../../../src/limits/series.ts'
import { associations, fetched, properties } from '../../limits/reports.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const PAIR = '0-1/0-2'
const ACCOUNT = { hubId: 123, hubDomain: 'acme.example.com' }
const FAILED = { class: 'transient', code: '503', message: 'not read', status: 503 } as const

const RULES: Rule[] = [
  { name: 'quiet', on: 'customProperties.objectType', match: { objectType: ['2-9'] }, off: true },
  { name: 'types', on: 'customProperties.objectType', warning: { remaining: 200 }, critical: { remaining: 50 } },
  { name: 'pace', on: 'customProperties.overall', warning: { percent: 80, daysLeft: 30 }, critical: { percent: 95 } },
  { name: 'full', on: 'associations.atLimit', warning: { count: 1 }, critical: { count: 5 }, recoverBelow: 1 },
  { name: 'fullest', on: 'associations.fullest', warning: { percent: 90 }, critical: { percent: 100 } },
]

const usage = fc.integer({ min: 700, max: 1_020 })
const poll = fc.record({
  hours: fc.integer({ min: 1, max: 20 }),
  /** Undefined: the call failed. */
  overall: fc.option(usage, { nil: undefined, freq: 8 }),
  types: fc.dictionary(fc.constantFrom('0-1', '2-9', '2-77'), usage, { maxKeys: 3 }),
  /** `gone`: the pair is not watched any more. */
  pair: fc.oneof(
    { weight: 6, arbitrary: fc.nat(7) },
    { weight: 1, arbitrary: fc.constant('failed' as const) },
    { weight: 1, arbitrary: fc.constant('gone' as const) },
  ),
  paces: fc.boolean(),
})
const run = fc.record({ polls: fc.array(poll, { maxLength: 25 }), needed: fc.nat(3), recoverBelow: fc.nat(4) })
type Run = typeof run extends fc.Arbitrary<infer T> ? T : never

/** What the polls of an account brought as they were made, and the same polls as a list of what each of them read. */
function live(settings: AlertSettings, { polls }: Run) {
  let states: Record<string, string> = {}
  let before: Readings | undefined
  let now = NOW
  const told: { id: string; [field: string]: unknown }[] = []
  const list: ReplayedPoll[] = []
  for (const { hours, overall, types, pair, paces } of polls) {
    now += hours * HOUR
    const sizes = Object.fromEntries(Object.entries(types).map(([id, used]) => [id, [used, 1_000] as [number, number]]))
    const report = overall === undefined ? undefined : properties(overall, 1_000, sizes)
    const pairs = pair === 'gone' ? {} : { [PAIR]: pair === 'failed' ? FAILED : associations(500, [], pair) }
    const after = mergeReadings(before, fetched(now, report, pairs))
    const forecasts = {
      ...{ at: now - HOUR, tooFew: {} },
      rising: { overall: { perDay: 9, perDayLow: 5, perDayHigh: 12 } },
    }
    const seen = paces ? forecasts : undefined
    const account = { ...ACCOUNT, before, after, samples: {}, forecasts: seen, states }
    const writes = decideAlerts(settings, account, now)
    states = { ...states }
    for (const [field, , state] of writes.changes) {
      if (state === '') delete states[field]
      else states[field] = state
    }
    for (const { alert, firstReading = false } of writes.entries.map(decodeEntry)) {
      if (alert.kind !== 'limit') continue
      const { id, reason, level, rule, because } = alert
      told.push({ id, reason, level, rule, because, firstReading, at: now })
    }
    const current = seriesOf(after)
    const previous = before
    const isFirst = (one: (typeof current)[number]) => previous === undefined || readAt(one, previous) === undefined
    list.push({
      at: now,
      series: current
        .filter((one) => readAt(one, after) === now)
        .map((one) => ({ ...one, daysLeft: outlookOf(one, seen, now).daysLeft, isFirstReading: isFirst(one) })),
      gone: (previous === undefined ? [] : seriesOf(previous))
        .map(({ id }) => id)
        .filter((id) => !current.some((one) => one.id === id)),
    })
    before = after
  }
  return { told, list, states }
}

const settingsOf = ({ needed, recoverBelow }: Run): AlertSettings => ({
  ...{ rules: RULES, recoverBelow, for: needed, repeatEveryMs: 24 * HOUR, firstRun: 'digest', pageOf: () => '' },
})

test('polls that are replayed bring the same transitions, under the same ids, as when they were made', () => {
  const reasons = new Set<string>()
  fc.assert(
    fc.property(run, (one) => {
      const settings = settingsOf(one)
      const { told, list } = live(settings, one)
      const replayed = [...replay(settings, ACCOUNT, list)].map(({ series: _, beganWithFirstReading, ...rest }) => {
        reasons.add(rest.reason)
        return { ...rest, firstReading: beganWithFirstReading }
      })
      expect(byId(replayed)).toEqual(byId(told))
    }),
    { numRuns: 300 },
  )
  expect([...reasons].sort()).toEqual(['eased', 'entered', 'escalated', 'recovered', 'repeat'])
})

test('a replay may begin with what was remembered', () => {
  fc.assert(
    fc.property(run, fc.nat(25), (one, split) => {
      const settings = settingsOf(one)
      const { list } = live(settings, one)
      const { states } = live(settings, { ...one, polls: one.polls.slice(0, split) })
      const remembered = new Map(Object.entries(states).map(([id, state]) => [id, decodeState(state)]))
      const since = list[split]?.at ?? Number.POSITIVE_INFINITY
      const whole = [...replay(settings, ACCOUNT, list)].filter(({ at }) => at >= since)
      expect([...replay(settings, ACCOUNT, list.slice(split), remembered)]).toEqual(whole)
    }),
    { numRuns: 100 },
  )
})

/** Of one poll those that are gone come last where they are replayed, and in the order of states where they were made. */
function byId<T extends { id: string }>(told: readonly T[]): T[] {
  return told.toSorted((a, b) => (a.id < b.id ? -1 : 1))
}
