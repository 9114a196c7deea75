import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge.ts'
import type { AlertLevel } from '../../../src/alerts/alert.ts'
import { decodeState, encodeState, type SeriesState } from '../../../src/alerts/alert-state.ts'
import { type EvaluationSettings, evaluate, remembered } from '../../../src/alerts/evaluation/evaluate.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import type { Series } from '../../../src/limits/series.ts'

const NOW = 1_763_719_200_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
const MINUTES = 300_000
const SETTINGS: EvaluationSettings = { recoverBelow: 3, for: 0, repeatEveryMs: DAY, worseAfterMs: MINUTES }
const PERCENT: Rule = { name: 'r', on: '*', warning: { percent: 80 }, critical: { percent: 95 } }

function series(usage: number, limit: number | null = 1_000): Series {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id: 'overall', metric: 'customProperties.overall', usage, limit, percent }
}

function open(level: AlertLevel, usage: number): SeriesState {
  const said = { level, usage, limit: 1_000, at: NOW }
  return { level, rule: 'r', since: NOW, transitions: 1, toldAt: NOW, said, pending: null }
}

const known = (state: SeriesState, reading?: Series) =>
  acknowledgeState(state, { by: 'ana', comment: 'seen', at: NOW, until: NOW + 7 * DAY }, reading)

/** What each of some readings says, one after the other, a day apart. */
function days(rule: Rule, start: SeriesState, usages: readonly number[], limit: number | null = 1_000) {
  let state: SeriesState | undefined = start
  const said = usages.map((usage, n) => {
    const evaluation = evaluate(rule, state, series(usage, limit), NOW + (n + 1) * DAY, SETTINGS)
    state = evaluation.state
    return evaluation.event?.reason ?? '-'
  })
  return { said, state }
}

describe('an alert that is acknowledged', () => {
  test('remembers who, why and what there was to see', () => {
    expect(known(open('warning', 850)).acknowledged).toEqual({
      ...{ at: NOW, by: 'ana', comment: 'seen', until: NOW + 7 * DAY },
      ...{ usage: 850, percent: 85, remaining: 150 },
    })
    expect(known(open('warning', 850), series(860)).acknowledged).toMatchObject({ usage: 860, percent: 86 })
    expect(known({ ...open('warning', 850), said: null }).acknowledged).not.toHaveProperty('usage')
  })

  test('is kept with its state', () => {
    for (const state of [
      known(open('warning', 850)),
      known({ ...open('warning', 5), said: null, cause: 'failing' }),
      known({ ...open('critical', 850), foreseen: true }, series(12, null)),
      acknowledgeState(open('warning', 1), { by: 'a "b" c', at: 1, until: 2 }),
    ]) {
      expect(decodeState(encodeState(state))).toEqual(state)
    }
  })

  test('must be open: what is not entered yet stays as it is', () => {
    const pending = { ...open('warning', 1), level: 'ok' as const }
    expect(known(pending)).toEqual(pending)
  })

  test('is not told again as long as it gets no worse', () => {
    expect(days(PERCENT, known(open('warning', 850)), [850, 899, 820, 899]).said).toEqual(['-', '-', '-', '-'])
    expect(days(PERCENT, open('warning', 850), [850, 899]).said).toEqual(['repeat', 'repeat'])
  })

  test('is told again by five points more, says what it was, and is then known to nobody', () => {
    const state = known(open('warning', 850))
    const told = evaluate(PERCENT, state, series(900), NOW + MINUTES, SETTINGS)
    expect(told.event).toMatchObject({ reason: 'worse', level: 'warning' })
    expect(told.because).toMatchObject({ is: 'holds', worseThan: { usage: 850, percent: 85, remaining: 150 } })
    expect(told.state).not.toHaveProperty('acknowledged')
    expect(days(PERCENT, state, [890, 900, 901, 901]).said).toEqual(['-', 'worse', 'repeat', 'repeat'])
  })

  test.each([
    [912, 961, 962],
    [333, 382, 383],
    [1_200, 1_249, 1_250],
  ])('at %d of 1,000 is as it was at %d and worse at %d', (at, still, worse) => {
    const rule: Rule = { name: 'r', on: '*', warning: { percent: 10 } }
    const state = known(open('warning', at))
    expect(evaluate(rule, state, series(still), NOW + HOUR, SETTINGS).event).toBeUndefined()
    expect(evaluate(rule, state, series(worse), NOW + HOUR, SETTINGS).event?.reason).toBe('worse')
  })

  test('of a count is told again by any one more', () => {
    const rule: Rule = { name: 'r', on: '*', warning: { count: 5 } }
    const state = known({ ...open('warning', 7), said: { level: 'warning', usage: 7, at: NOW } })
    expect(days(rule, state, [7, 5, 7, 8, 8], null).said).toEqual(['-', '-', '-', 'worse', 'repeat'])
  })

  test('of what remains is told again when half of it is left, where its level asks that', () => {
    const rule: Rule = { name: 'r', on: '*', warning: { remaining: 40 } }
    expect(days(rule, known(open('warning', 970)), [984, 985]).said).toEqual(['-', 'worse'])
    expect(days(PERCENT, known(open('critical', 970)), [984, 985]).said).toEqual(['-', '-'])
  })

  test('is told when its level rises, and is then known to nobody', () => {
    const { said, state } = days(PERCENT, known(open('warning', 949)), [950, 950])
    expect(said).toEqual(['escalated', 'repeat'])
    expect(state).not.toHaveProperty('acknowledged')
  })

  test('is told when it eases, and stays known', () => {
    const { said, state } = days(PERCENT, known(open('critical', 960)), [900, 900, 930])
    expect(said).toEqual(['eased', '-', '-'])
    expect(state).toHaveProperty('acknowledged')
  })

  test('is told when it recovers, and what opens afterwards is news', () => {
    const { said } = days(PERCENT, known(open('warning', 850)), [700, 850, 850])
    expect(said).toEqual(['recovered', 'entered', 'repeat'])
  })

  test('stays known while nothing can be told of it', () => {
    const state = known(open('critical', 960))
    expect(evaluate(PERCENT, state, series(1, null), NOW + DAY, SETTINGS)).toMatchObject({ state, stands: 'unknown' })
  })

  test('is known no longer than was said', () => {
    const { said } = days(PERCENT, known(open('warning', 850)), Array(8).fill(850))
    expect(said).toEqual(['-', '-', '-', '-', '-', '-', 'repeat', 'repeat'])
    const soon = acknowledgeState(open('warning', 850), { by: 'ana', at: NOW, until: NOW + HOUR })
    const over = evaluate(PERCENT, soon, series(850), NOW + HOUR, SETTINGS)
    expect(over.event).toBeUndefined()
    expect(over.state).not.toHaveProperty('acknowledged')
  })
})

describe('what gets worse at its level', () => {
  /** What some readings say, one after the other, each so many minutes after the one before. */
  function told(
    start: SeriesState,
    steps: readonly (readonly [minutes: number, usage: number])[],
    settings = SETTINGS,
  ) {
    const rule: Rule = { name: 'r', on: '*', warning: { percent: 80, remaining: 150 }, critical: { percent: 99 } }
    let [state, now]: [SeriesState | undefined, number] = [start, NOW]
    return steps.map(([minutes, usage]) => {
      now += minutes * 60_000
      const evaluation = evaluate(rule, state, series(usage), now, settings)
      state = remembered(evaluation.state)
      return evaluation.event?.reason ?? '-'
    })
  }

  test('is told whether it was acknowledged or not, once `group.interval` is over since the last message', () => {
    const steps = [1, 3, 2, 1, 9].map((minutes) => [minutes, 900] as const)
    for (const start of [open('warning', 850), known(open('warning', 850))]) {
      expect(told(start, steps)).toEqual(['-', '-', 'worse', '-', '-'])
    }
  })

  test('is not told where that is off', () => {
    const off = { ...SETTINGS, worseAfterMs: undefined }
    for (const start of [open('warning', 850), known(open('warning', 850))]) {
      expect(
        told(
          start,
          [
            [60, 900],
            [60, 985],
          ],
          off,
        ),
      ).toEqual(['-', '-'])
    }
  })

  test('is measured by what was acknowledged too', () => {
    const steps = [
      [60, 900],
      [60, 940],
      [60, 955],
    ] as const
    expect(told(open('warning', 850), steps)).toEqual(['worse', '-', 'worse'])
    expect(told(known(open('warning', 850), series(910)), steps)).toEqual(['-', '-', 'worse'])
    expect(
      told(known(open('warning', 850), series(830)), [
        [60, 885],
        [60, 900],
      ]),
    ).toEqual(['-', 'worse'])
  })

  test('of records near their limit is the one that reaches it, not one more that is near', () => {
    const rule: Rule = { name: 'r', on: '*', warning: { count: 5 } }
    const state = { ...open('warning', 7), said: { level: 'warning' as const, usage: 7, at: NOW } }
    const of = (metric: Series['metric']) => ({ ...series(8, null), id: 'x', metric })
    const said = (metric: Series['metric']) => evaluate(rule, state, of(metric), NOW + HOUR, SETTINGS).event?.reason
    expect(said('associations.atLimit')).toBe('worse')
    expect(said('associations.nearLimit')).toBeUndefined()
  })

  test('an acknowledged alert has never said more than the same alert would have, whatever is read', () => {
    const step = fc.tuple(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 760, max: 1_000 }))
    const said = { acknowledged: 0, other: 0 }
    fc.assert(
      fc.property(
        fc.integer({ min: 800, max: 980 }),
        fc.integer({ min: 780, max: 989 }),
        fc.array(step),
        (at, seen, steps) => {
          const count = (reasons: readonly string[], n: number) =>
            reasons.slice(0, n + 1).filter((one) => one !== '-').length
          const acknowledged = told(known(open('warning', at), series(seen)), steps)
          const other = told(open('warning', at), steps)
          for (const n of steps.keys()) expect(count(acknowledged, n)).toBeLessThanOrEqual(count(other, n))
          said.acknowledged += count(acknowledged, steps.length)
          said.other += count(other, steps.length)
        },
      ),
      { numRuns: 2_000 },
    )
    expect(said.acknowledged).toBeGreaterThan(1_000)
    expect(said.acknowledged).toBeLessThan(said.other)
  })
})
