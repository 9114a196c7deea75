import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge.ts'
import type { Alert, AlertLevel } from '../../../src/alerts/alert.ts'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { statesAfter } from '../../../src/alerts/evaluation/boundaries.ts'
import { type AlertSettings, decideAlerts } from '../../../src/alerts/evaluation/decide.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import { mergeReadings, type Readings } from '../../../src/limits/readings.ts'
import { associations, fetched, properties } from '../../limits/reports.ts'
import { stateIn } from '../../support/state-in.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const DAY = 24 * HOUR
const INTERVAL = 2 * HOUR
const PAIR = '0-1/0-2'

const CONFIGS: readonly (readonly Rule[])[] = [
  [
    { name: 'a', on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
    { name: 'full', on: 'associations.atLimit', warning: { count: 2 }, critical: { count: 5 } },
  ],
  [{ name: 'tight', on: '*', warning: { percent: 70, count: 1 }, critical: { percent: 85, count: 3 } }],
  [{ name: 'loose', on: '*', critical: { remaining: 20, daysLeft: 5, count: 7 }, recoverBelow: 2 }],
  [{ name: 'pace', on: '*', warning: { daysLeft: 20, percent: 90 } }],
  [{ name: 'off', on: '*', off: true }],
  [],
]

type Step =
  | { is: 'poll'; usage: number; limit: number; atLimit: number | 'gone'; perDay: number | undefined; hours: number }
  | { is: 'rules'; config: number }
  | { is: 'acknowledge'; days: number }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      is: fc.constant('poll' as const),
      usage: fc.integer({ min: 650, max: 1_050 }),
      limit: fc.oneof({ weight: 9, arbitrary: fc.constant(1_000) }, { weight: 1, arbitrary: fc.constant(0) }),
      atLimit: fc.oneof({ weight: 6, arbitrary: fc.nat(8) }, { weight: 1, arbitrary: fc.constant('gone' as const) }),
      perDay: fc.option(fc.integer({ min: 1, max: 60 }), { nil: undefined }),
      hours: fc.integer({ min: 1, max: 30 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ is: fc.constant('rules' as const), config: fc.nat(CONFIGS.length - 1) }) },
  {
    weight: 2,
    arbitrary: fc.record({ is: fc.constant('acknowledge' as const), days: fc.integer({ min: 1, max: 9 }) }),
  },
)
const run = fc.record({ steps: fc.array(step, { maxLength: 60 }), needed: fc.nat(3) })

/** What a receiver knows of one series from the messages alone. */
interface Known {
  level: AlertLevel
  alert: string
  number: number
  usage: number | undefined
  sentAt: number
  since: string
}

/** A series that somebody acknowledged, as the person saw it. */
interface Seen {
  until: number
  usage: number | undefined
  percent: number | undefined
}

const SAME = ['warning warning', 'critical critical']
/** The level before and the level told, by the reason of a message about an alert that is open. */
const LAWFUL: Partial<Record<Alert['reason'], readonly string[]>> = {
  escalated: ['warning critical'],
  eased: ['critical warning'],
  recovered: SAME,
  repeat: SAME,
  worse: SAME,
}

class Receiver {
  readonly known = new Map<string, Known>()
  readonly ids = new Set<string>()
  readonly reasons = new Set<string>()

  take(series: string, alert: Alert, at: number, seen: Seen | undefined): void {
    const before = this.known.get(series)
    const [id = '', number = ''] = alert.id.split('-')
    expect(this.ids.has(alert.id), 'an id is used once').toBe(false)
    this.ids.add(alert.id)
    this.reasons.add(alert.reason)
    expect(alert.status).toBe(alert.reason === 'recovered' ? 'resolved' : 'firing')
    if (before === undefined) {
      expect(alert.reason).toBe('entered')
      expect(Number(number), 'an alert begins with its first message').toBe(1)
    } else {
      expect([id, Number(number), alert.since]).toEqual([before.alert, before.number + 1, before.since])
      const { level, usage, sentAt } = before
      expect(alert.previous).toMatchObject({ level, usage, measuredAt: new Date(sentAt).toISOString() })
      this.#follows(before, alert, at, seen)
    }
    if (alert.reason === 'recovered') this.known.delete(series)
    else
      this.known.set(series, {
        level: alert.level,
        usage: alert.usage,
        alert: id,
        number: Number(number),
        sentAt: at,
        since: alert.since,
      })
  }

  #follows(before: Known, alert: Alert, at: number, seen: Seen | undefined): void {
    const levels = LAWFUL[alert.reason]
    expect(levels, `${alert.reason} of an alert that is open`).toContain(`${before.level} ${alert.level}`)
    const known = seen !== undefined && at < seen.until ? seen : undefined
    if (alert.reason === 'repeat') {
      expect(known, 'nobody has acknowledged what is repeated').toBeUndefined()
      expect(at - before.sentAt).toBeGreaterThanOrEqual(DAY)
    }
    if (alert.reason !== 'worse') return
    expect(at - before.sentAt).toBeGreaterThanOrEqual(INTERVAL)
    if (known !== undefined)
      expect(isWorse(known, alert), `told although acknowledged: ${JSON.stringify({ seen, alert })}`).toBe(true)
  }
}

function isWorse({ usage = Number.POSITIVE_INFINITY, percent }: Seen, alert: Alert): boolean {
  if (alert.percent !== undefined && percent !== undefined) {
    const halved = (alert.remaining ?? 0) <= (1_000 - percent * 10) / 2 && alert.threshold?.remaining !== undefined
    return alert.percent >= percent + 4.99 || halved
  }
  return (alert.usage ?? 0) > usage
}

/** An account, restarted between any two steps: nothing lives but what is stored. */
function live({ steps, needed }: typeof run extends fc.Arbitrary<infer T> ? T : never) {
  const receiver = new Receiver()
  const seen = new Map<string, Seen>()
  let states: Record<string, string> = {}
  let before: Readings | undefined
  let rules: readonly Rule[] = CONFIGS[0] ?? []
  let now = NOW
  for (const one of steps) {
    if (one.is === 'rules') rules = CONFIGS[one.config] ?? []
    else if (one.is === 'acknowledge') {
      const until = now + one.days * DAY
      states = Object.fromEntries(
        Object.entries(states).map(([id, stored]) => {
          const state = acknowledgeState(stateIn(stored), { by: 'ana', at: now, until })
          const { usage, percent } = state.acknowledged ?? {}
          if (state.acknowledged !== undefined) seen.set(id, { until, usage, percent })
          return [id, encodeState(state)]
        }),
      )
    } else {
      now += one.hours * HOUR
      const pairs = one.atLimit === 'gone' ? {} : { [PAIR]: associations(500, [], one.atLimit) }
      const after = mergeReadings(before, fetched(now, properties(one.usage, one.limit), pairs))
      const pace =
        one.perDay === undefined
          ? {}
          : { overall: { perDay: one.perDay, perDayLow: 1, perDayHigh: 99, leap: 0, bend: 0 } }
      const forecasts = one.perDay === 1 ? undefined : { at: now - HOUR, rising: pace, tooFew: {} }
      const settings: AlertSettings = {
        rules,
        recoverBelow: 3,
        for: needed,
        repeatEveryMs: DAY,
        worseAfterMs: INTERVAL,
        firstRun: 'alert',
        pageOf: () => 'https://a.b',
      }
      const account = { hubId: 1, hubDomain: 'a.b', before, after, samples: {}, forecasts, states }
      const writes = decideAlerts(settings, account, now)
      for (const [field, was] of writes.changes) expect(states[field] ?? '').toBe(was)
      states = { ...statesAfter(states, writes) }
      for (const { alert } of writes.entries.map(decodeEntry)) {
        if (alert.kind !== 'limit') continue
        const series = alert.series?.from === undefined ? 'overall' : `${word(alert)}/${PAIR}`
        receiver.take(series, alert, now, seen.get(series))
        if (alert.reason !== 'eased') seen.delete(series)
      }
      before = after
    }
    expect(levelsOf(states)).toEqual(Object.fromEntries([...receiver.known].map(([id, { level }]) => [id, level])))
  }
  return receiver
}

function word({ series }: Alert): string {
  return series?.metric === 'associations.atLimit'
    ? 'at'
    : series?.metric === 'associations.nearLimit'
      ? 'near'
      : 'fullest'
}

/** The levels in force, as they are stored. */
function levelsOf(states: Record<string, string>) {
  const levels = Object.entries(states).map(([id, stored]) => [id, stateIn(stored).level] as const)
  return Object.fromEntries(levels.filter(([, level]) => level !== 'ok'))
}

describe('whatever is read, changed in the rules, restarted or acknowledged', () => {
  test('no level is entered without a message, and none is told that is not in force; messages follow each other lawfully', () => {
    const reasons = new Set<string>()
    fc.assert(
      fc.property(run, (one) => {
        for (const reason of live(one).reasons) reasons.add(reason)
      }),
      { numRuns: 200 },
    )
    expect([...reasons].sort()).toEqual(['eased', 'entered', 'escalated', 'recovered', 'repeat', 'worse'])
  })

  test('a hundred times over a threshold and back within recoverBelow is one message', () => {
    const usage = (n: number) => (n % 2 === 0 ? 800 : 771)
    const { ids } = live({ steps: pollsOf(200, usage), needed: 0 })
    expect(ids.size).toBe(1)
  })

  test('a hundred times over a threshold and out of recoverBelow is a message for each', () => {
    const usage = (n: number) => (n % 2 === 0 ? 800 : 769)
    const { ids } = live({ steps: pollsOf(200, usage), needed: 0 })
    expect(ids.size).toBe(200)
  })

  test('a hundred times over a threshold, but never for as many polls as must agree, is no message', () => {
    const usage = (n: number) => (n % 3 === 0 ? 500 : 990)
    expect(live({ steps: pollsOf(300, usage), needed: 3 }).ids.size).toBe(0)
  })
})

/** Polls six minutes apart, each with its usage of a limit of 1,000. */
function pollsOf(count: number, usage: (n: number) => number): Step[] {
  return Array.from({ length: count }, (_, n) => ({
    is: 'poll',
    usage: usage(n),
    limit: 1_000,
    atLimit: 0,
    perDay: undefined,
    hours: 0.1,
  }))
}
