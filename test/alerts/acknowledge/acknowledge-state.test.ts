import { describe, expect, test } from 'vitest'
import { acknowledgeState } from '../../../src/alerts/acknowledge/acknowledge-state.ts'
import type { AlertLevel } from '../../../src/alerts/alert.ts'
import { decodeState, encodeState } from '../../../src/alerts/alert-state.ts'
import { type EvaluationSettings, evaluate, type SeriesState } from '../../../src/alerts/evaluation/evaluate.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import type { Series } from '../../../src/limits/series.ts'

const NOW = 1_763_719_200_000
const HOUR = 3_600_000
const DAY = 24 * HOUR
const SETTINGS: EvaluationSettings = { recoverBelow: 3, for: 0, repeatEveryMs: DAY }
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
    const told = evaluate(PERCENT, state, series(900), NOW + 1, SETTINGS)
    expect(told.event).toMatchObject({ reason: 'repeat', level: 'warning' })
    expect(told.because).toMatchObject({ is: 'holds', worseThan: { usage: 850, percent: 85, remaining: 150 } })
    expect(told.state).not.toHaveProperty('acknowledged')
    expect(days(PERCENT, state, [890, 900, 901, 901]).said).toEqual(['-', 'repeat', 'repeat', 'repeat'])
  })

  test.each([
    [912, 961, 962],
    [333, 382, 383],
    [1_200, 1_249, 1_250],
  ])('at %d of 1,000 is as it was at %d and worse at %d', (at, still, worse) => {
    const rule: Rule = { name: 'r', on: '*', warning: { percent: 10 } }
    const state = known(open('warning', at))
    expect(evaluate(rule, state, series(still), NOW + 1, SETTINGS).event).toBeUndefined()
    expect(evaluate(rule, state, series(worse), NOW + 1, SETTINGS).event?.reason).toBe('repeat')
  })

  test('of a count is told again by any one more', () => {
    const rule: Rule = { name: 'r', on: '*', warning: { count: 5 } }
    const state = known({ ...open('warning', 7), said: { level: 'warning', usage: 7, at: NOW } })
    expect(days(rule, state, [7, 5, 7, 8, 8], null).said).toEqual(['-', '-', '-', 'repeat', 'repeat'])
  })

  test('of what remains is told again when half of it is left, where its level asks that', () => {
    const rule: Rule = { name: 'r', on: '*', warning: { remaining: 40 } }
    expect(days(rule, known(open('warning', 970)), [984, 985]).said).toEqual(['-', 'repeat'])
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
