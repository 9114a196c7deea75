import { describe, expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge.ts'
import type { AlertLevel, Because } from '../../../src/alerts/alert.ts'
import type { SeriesState } from '../../../src/alerts/alert-state.ts'
import { becauseText } from '../../../src/alerts/evaluation/because.ts'
import type { ForecastSeries } from '../../../src/alerts/evaluation/conditions.ts'
import { evaluate } from '../../../src/alerts/evaluation/evaluate.ts'
import type { Level, Rule } from '../../../src/alerts/evaluation/rules.ts'
import { seriesOf } from '../../../src/limits/series.ts'
import { properties, readings } from '../../limits/reports.ts'

/*
 * Every class of (state, reading, rule). A reading is named by where it lies, whatever it is counted in: below everything,
 * inside the margin of warning, at warning, above it, inside the margin of critical, at critical, over everything. Which
 * level that asks for is written out below, for each level in force and each shape of a rule.
 */

const NOW = 1_763_719_200_000
const DAY = 86_400_000

const PLACES = [
  'below',
  'in warning margin',
  'at warning',
  'above',
  'in critical margin',
  'at critical',
  'over',
] as const
type Place = (typeof PLACES)[number]
type Found = 'ok' | AlertLevel

const [OK, W, C] = ['ok', 'warning', 'critical'] as const

/** By shape and level in force: the level that a reading at each of PLACES asks for. */
const ASKED: Record<Shape, Record<Found, readonly Found[]>> = {
  both: {
    ok: [OK, OK, W, W, W, C, C],
    warning: [OK, W, W, W, W, C, C],
    critical: [OK, W, W, W, C, C, C],
  },
  'warning only': {
    ok: [OK, OK, W, W, W, W, W],
    warning: [OK, W, W, W, W, W, W],
    critical: [OK, W, W, W, W, W, W],
  },
  'critical only': {
    ok: [OK, OK, OK, OK, OK, C, C],
    warning: [OK, OK, OK, OK, OK, C, C],
    critical: [OK, OK, OK, OK, C, C, C],
  },
}

type Shape = 'both' | 'warning only' | 'critical only'
const SHAPES = ['both', 'warning only', 'critical only'] as const

type Unit = 'percent' | 'count' | 'remaining' | 'daysLeft' | 'any, by percent' | 'any, by days left'
const UNITS = ['percent', 'count', 'remaining', 'daysLeft', 'any, by percent', 'any, by days left'] as const

const LEVELS: Record<Unit, Record<AlertLevel, Level>> = {
  percent: { warning: { percent: 80 }, critical: { percent: 95 } },
  count: { warning: { count: 80 }, critical: { count: 95 } },
  remaining: { warning: { remaining: 20 }, critical: { remaining: 5 } },
  daysLeft: { warning: { daysLeft: 20 }, critical: { daysLeft: 5 } },
  'any, by percent': { warning: { percent: 80, daysLeft: 20 }, critical: { percent: 95, daysLeft: 5 } },
  'any, by days left': { warning: { percent: 80, daysLeft: 20 }, critical: { percent: 95, daysLeft: 5 } },
}

/** Each as near to the next class as it can be: a margin is 3. */
const USED = [76, 77, 80, 91, 92, 95, 140]
const DAYS = [24, 23, 20, 9, 8, 5, 0]

function ruleOf(unit: Unit, shape: Shape): Rule {
  const { warning, critical } = LEVELS[unit]
  return {
    name: 'r',
    on: '*',
    recoverBelow: 3,
    ...(shape === 'critical only' ? {} : { warning }),
    ...(shape === 'warning only' ? {} : { critical }),
  }
}

function series(usage: number, limit: number | null, daysLeft: number | null | undefined): ForecastSeries {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id: 'overall', metric: 'customProperties.overall', usage, limit, percent, daysLeft }
}

function readingAt(unit: Unit, place: Place): ForecastSeries {
  const n = PLACES.indexOf(place)
  const [used = 0, days = 0] = [USED[n], DAYS[n]]
  switch (unit) {
    case 'count':
      return series(used, null, undefined)
    case 'daysLeft':
    case 'any, by days left':
      return series(50, 100, days)
    case 'any, by percent':
      return series(used, 100, null)
    default:
      return series(used, 100, undefined)
  }
}

interface StateClass {
  name: string
  state: SeriesState | undefined
  level: Found
  /** Polls in a row before this one that found warning at least, and critical. */
  polls: { warning: number; critical: number }
  isDue: boolean
  /** Than the last message said. */
  isWorse: boolean
  known: 'no' | 'as it is' | 'when it was better' | 'until before'
  foreseen: boolean
}

const SAID_LESS = { usage: 1 }
const SAID_MORE = { usage: 1_000, limit: 100 }

const NOTHING = {
  polls: { warning: 0, critical: 0 },
  isDue: false,
  isWorse: false,
  known: 'no',
  foreseen: false,
} as const
const BOTH = [false, true]

function opened(level: Found, isDue: boolean, isWorse = false): SeriesState {
  const said = level === OK ? null : { level, ...(isWorse ? SAID_LESS : SAID_MORE), at: NOW - DAY }
  const sentAt = isDue ? NOW - DAY : NOW - DAY + 1
  return { level, rule: 'r', since: NOW - 9 * DAY, transitions: 4, sentAt, lastSent: said, pending: null }
}

const waiting = (state: SeriesState, warning: number, critical: number): SeriesState => ({
  ...state,
  pending: { warning, critical, sinceFirstReading: false },
})

function stateClasses(): StateClass[] {
  const pending = [[1, 0] as const, [1, 1] as const, [2, 1] as const, [2, 2] as const].map(([warning, critical]) => {
    const state = waiting({ ...opened(OK, false), transitions: 0, sentAt: 0, since: NOW - 1 }, warning, critical)
    return { ...NOTHING, name: `pending ${warning}, ${critical}`, state, level: OK, polls: { warning, critical } }
  })
  const open = [W, C].flatMap((level) =>
    BOTH.flatMap((isDue) => BOTH.flatMap((isWorse) => openClasses(level, isDue, isWorse))),
  )
  return [{ ...NOTHING, name: 'none', state: undefined, level: OK }, ...pending, ...open]
}

function openClasses(level: AlertLevel, isDue: boolean, isWorse: boolean): StateClass[] {
  const name = `${level}${isDue ? ', to be told again' : ''}${isWorse ? ', when it was told better' : ''}`
  const state = opened(level, isDue, isWorse)
  const one = { ...NOTHING, name, state, level, isDue, isWorse }
  const ack = (until: number, usage: number) =>
    acknowledgeState(state, { by: 'ana', at: NOW - 2 * DAY, until }, { usage, limit: 100, percent: usage })
  const counting = level === C ? [] : [1, 2]
  return [
    one,
    { ...one, name: `${name}, foreseen`, state: { ...state, foreseen: true }, foreseen: true },
    { ...one, name: `${name}, acknowledged`, state: ack(NOW + 1, 1_000), known: 'as it is' },
    { ...one, name: `${name}, acknowledged when it was better`, state: ack(NOW + 1, 1), known: 'when it was better' },
    { ...one, name: `${name}, acknowledged until before`, state: ack(NOW, 1_000), known: 'until before' },
    ...counting.map((critical) => ({
      ...one,
      name: `${name}, critical pending ${critical}`,
      polls: { warning: 0, critical },
      state: waiting(state, 0, critical),
    })),
  ]
}

interface Expected {
  verdict: string
  event?: { reason: string; level: AlertLevel; before: Found }
  because: Because['is'] | readonly Because['is'][]
  /** Polls in a row that agree so far on a level that is not entered. */
  agree?: { warning: number; critical: number }
}

const told = (reason: string, level: AlertLevel, before: Found) => ({ event: { reason, level, before } })

/** What is to come of a reading that asks for a level. */
function expectedOf(was: StateClass, asked: Found, needed: number, holds: Expected['because']): Expected {
  const { level, polls, isDue, isWorse, known } = was
  if (asked === OK)
    return level === OK
      ? { verdict: OK, because: 'nothing' }
      : { verdict: OK, because: 'nothing', ...told('recovered', level, level) }
  if (asked === level) {
    const isTold = isDue && (known === 'when it was better' ? isWorse : known !== 'as it is')
    return { verdict: level, because: holds, ...(isTold ? told(isWorse ? 'worse' : 'repeat', level, level) : {}) }
  }
  if (level === C) return { verdict: W, because: holds, ...told('eased', W, C) }
  const agree = {
    warning: level === OK ? polls.warning + 1 : 0,
    critical: asked === C ? polls.critical + 1 : 0,
  }
  const reached = agree.critical >= needed ? C : level === OK && agree.warning >= needed ? W : undefined
  if (reached === undefined) {
    return level === OK ? { verdict: 'pending', because: 'pending', agree } : { verdict: level, because: holds, agree }
  }
  // Critical goes on being counted where warning was enough for a first message.
  const counts = reached === W && agree.critical > 0 ? { agree } : {}
  return {
    verdict: reached,
    because: holds,
    ...counts,
    ...told(level === OK ? 'entered' : 'escalated', reached, level),
  }
}

const HOLDS = ['holds', 'margin'] as const

function check(was: StateClass, rule: Rule | undefined, one: ForecastSeries, needed: number, expected: Expected): void {
  const settings = { recoverBelow: 3, for: needed, repeatEveryMs: DAY, worseAfterMs: DAY }
  const before = structuredClone(was.state)
  const found = evaluate({ rule, before: was.state, series: one, now: NOW, settings })
  expect(was.state).toEqual(before)
  const because = Array.isArray(expected.because) ? expected.because : [expected.because]
  const said = {
    verdict: found.verdict,
    event: found.event,
    because: because.includes(found.because.is) ? because : found.because,
  }
  const { event } = expected
  expect(said).toEqual({
    verdict: expected.verdict,
    because,
    event: event && { ...event, beganWithFirstReading: false },
  })
  const { warning, critical } = found.state?.pending ?? {}
  expect(found.state?.pending == null ? undefined : { warning, critical }).toEqual(expected.agree)
  expect(becauseText(found.because)).toMatch(/^[^\n]{5,150}[^.]$/)
  expect(found.state?.transitions ?? 0).toBe(transitionsAfter(was, event))
  if (found.state !== undefined && event !== undefined) {
    expect(found.state.sentAt).toBe(NOW)
    expect(found.state.since).toBe(was.level === OK ? NOW : was.state?.since)
    const { usage, limit, daysLeft } = one
    const said = { level: event.level, usage, limit: limit ?? undefined, daysLeft: daysLeft ?? undefined, at: NOW }
    if (event.reason !== 'recovered')
      expect({ limit: undefined, daysLeft: undefined, ...found.state.lastSent }).toEqual(said)
  }
  // Known is what was, as long as it lasts, and it is neither over nor worse.
  const isOver = event !== undefined && event.reason !== 'eased'
  const isKnown = (was.known === 'as it is' || was.known === 'when it was better') && !isOver
  if (found.verdict !== 'unknown' && found.state !== undefined && found.verdict === found.state.level) {
    const isWaiting = found.state.pending !== null
    if (!isWaiting) expect(found.state.acknowledged !== undefined).toBe(isKnown)
  }
}

function transitionsAfter({ state, level }: StateClass, event: Expected['event']): number {
  if (event === undefined) return level === OK ? 0 : (state?.transitions ?? 0)
  return level === OK ? 1 : (state?.transitions ?? 0) + 1
}

describe.each([0, 1, 3])('with for: %i', (needed) => {
  describe.each(SHAPES)('a rule of %s', (shape) => {
    test.each(UNITS)('that asks %s', (unit) => {
      const rule = ruleOf(unit, shape)
      for (const was of stateClasses()) {
        for (const [n, place] of PLACES.entries()) {
          const asked = ASKED[shape][was.level][n] ?? OK
          const expected = expectedOf(was, asked, Math.max(1, needed), HOLDS)
          check(was, rule, readingAt(unit, place), needed, expected)
        }
      }
    })

    test.each(['percent', 'remaining'] as const)(
      'that asks %s is unknown without a limit, and with a limit of 0',
      (unit) => {
        const [zero] = seriesOf(readings(NOW, properties(500, 0)))
        for (const was of stateClasses()) {
          for (const one of [series(500, null, undefined), series(0, null, 3), zero as ForecastSeries]) {
            check(was, ruleOf(unit, shape), one, needed, { verdict: 'unknown', because: 'unknown' })
          }
        }
      },
    )

    test('that asks daysLeft rests where it rests on a forecast that is missing, and is left where it does not', () => {
      for (const was of stateClasses()) {
        const waits = was.foreseen && (was.level === C || shape !== 'critical only')
        const expected: Expected = waits
          ? { verdict: 'unknown', because: 'unknown' }
          : expectedOf(was, OK, 1, 'nothing')
        check(was, ruleOf('daysLeft', shape), series(50, 100, undefined), needed, expected)
      }
    })

    test('that asks any of several goes by the one that is known, where one of them holds', () => {
      const rule = ruleOf('any, by percent', shape)
      for (const was of stateClasses()) {
        const highest = shape === 'warning only' ? W : C
        // No limit, but a day is left by what was foretold: each level that the rule has holds.
        check(was, rule, series(500, null, 1), needed, expectedOf(was, highest, Math.max(1, needed), 'holds'))
        // At critical, and no forecast.
        check(was, rule, series(95, 100, undefined), needed, expectedOf(was, highest, Math.max(1, needed), 'holds'))
      }
    })
  })

  test('what critical asks is not known, and what warning asks holds: warning, but for what is critical already', () => {
    const rule: Rule = { name: 'r', on: '*', warning: { count: 80 }, critical: { percent: 95 } }
    for (const was of stateClasses()) {
      const expected: Expected =
        was.level === C ? { verdict: 'unknown', because: 'unknown' } : expectedOf(was, W, Math.max(1, needed), 'holds')
      check(was, rule, series(80, null, undefined), needed, expected)
    }
  })

  test.each([
    ['there is none', undefined, 'no-rule'],
    ['it is off', { name: 'r', on: '*', off: true }, 'off'],
  ] as const)('what was open is closed, and nothing opened, where the rule is gone: %s', (_, rule, because) => {
    for (const was of stateClasses()) {
      for (const place of PLACES) {
        const recovered = was.level === OK ? {} : told('recovered', was.level, was.level)
        check(was, rule, readingAt('percent', place), needed, { verdict: 'off', because, ...recovered })
      }
    }
  })
})
