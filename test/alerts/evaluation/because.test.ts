import { describe, expect, test } from 'vitest'
import type { Because } from '../../../src/alerts/alert.ts'
import type { SeriesState } from '../../../src/alerts/alert-state.ts'
import { sayBecause } from '../../../src/alerts/evaluation/because.ts'
import type { ForeseenSeries } from '../../../src/alerts/evaluation/conditions.ts'
import { type EvaluationSettings, evaluate } from '../../../src/alerts/evaluation/evaluate.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'

const NOW = 1_763_719_200_000
const SETTINGS: EvaluationSettings = { recoverBelow: 3, for: 0, repeatEveryMs: 86_400_000, worseAfterMs: 0 }

function series(usage: number, limit: number | null = 1_000, daysLeft?: number | null): ForeseenSeries {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id: 'overall', metric: 'customProperties.overall', usage, limit, percent, daysLeft }
}

function open(level: 'warning' | 'critical', more: Partial<SeriesState> = {}): SeriesState {
  return { level, rule: 'r', since: 1, transitions: 1, toldAt: NOW, said: null, pending: null, ...more }
}

const PERCENT = { warning: { percent: 80 }, critical: { percent: 95 } }

function whyOf(
  rule: Partial<Rule> | undefined,
  before: SeriesState | undefined,
  one: ForeseenSeries,
  settings: Partial<EvaluationSettings> = {},
) {
  const asked = rule === undefined ? undefined : { name: 'r', on: '*', ...rule }
  return evaluate(asked, before, one, NOW, { ...SETTINGS, ...settings }).because
}

describe('in a sentence, a series stands where it stands because', () => {
  test.each<[because: Because, sentence: string]>([
    [whyOf(PERCENT, undefined, series(960)), '96 % is at or over the critical 95 %'],
    [whyOf(PERCENT, undefined, series(800)), '80 % is at or over the warning 80 %'],
    [whyOf(PERCENT, undefined, series(1_400)), '140 % is at or over the critical 95 %'],
    [whyOf({ warning: { count: 1_000 } }, undefined, series(1_200, null)), '1,200 is at or over the warning 1,000'],
    [whyOf({ warning: { remaining: 20 } }, undefined, series(995)), '5 left is at or under the warning 20'],
    [
      whyOf({ critical: { daysLeft: 7 } }, undefined, series(500, 1_000, 6.5)),
      '6.5 days left is at or under the critical 7 days',
    ],
    [
      whyOf({ critical: { remaining: 20 } }, undefined, series(1_003)),
      'it is 3 over its limit, so under the critical 20 left',
    ],
    [
      whyOf({ critical: { daysLeft: 1 } }, open('critical'), series(1_000, 1_000, 0)),
      '0 days left is at or under the critical 1 day',
    ],
    [
      whyOf({ critical: { daysLeft: 0.5 }, recoverBelow: 0.5 }, open('critical'), series(500, 1_000, 0.8)),
      'critical stays until more than 1 day is left: recoverBelow 0.5',
    ],
    [whyOf(PERCENT, open('warning'), series(775)), 'warning stays until below 77 %: recoverBelow 3'],
    [
      whyOf({ warning: { count: 10 }, recoverBelow: 4 }, open('warning'), series(7, null)),
      'warning stays until below 6: recoverBelow 4',
    ],
    [
      whyOf({ critical: { remaining: 20 }, recoverBelow: 5 }, open('critical'), series(978)),
      'critical stays until more than 25 are left: recoverBelow 5',
    ],
    [
      whyOf({ critical: { daysLeft: 7 }, recoverBelow: 3 }, open('critical'), series(500, 1_000, 9)),
      'critical stays until more than 10 days are left: recoverBelow 3',
    ],
    [
      whyOf(PERCENT, undefined, series(960), { for: 3 }),
      '1 of 3 polls agrees on critical: 96 % is at or over the critical 95 %',
    ],
    [
      whyOf(PERCENT, open('warning', { pending: { warning: 0, critical: 1, sinceFirstReading: false } }), series(960), {
        for: 3,
      }),
      '96 % is at or over the warning 80 %; 2 of 3 polls agree on critical',
    ],
    [
      whyOf(
        PERCENT,
        open('warning', {
          said: { level: 'warning', usage: 850, limit: 1_000, at: 1 },
          acknowledged: { at: 1, by: 'x', until: NOW + 1, usage: 850, percent: 85 },
        }),
        {
          ...series(910),
        },
      ),
      '91 % is at or over the warning 80 %; when it was acknowledged it was 85 %',
    ],
    [whyOf(PERCENT, undefined, series(5, null)), 'no limit is reported that it could be compared with'],
    [
      whyOf(PERCENT, open('critical'), series(5, null)),
      'no limit is reported that it could be compared with; critical stays until there is one',
    ],
    [
      whyOf({ critical: { daysLeft: 7 } }, open('critical', { foreseen: true }), series(500)),
      'critical rests on a forecast, and there is none for now',
    ],
    [whyOf({ off: true, name: 'quiet\u202e' }, undefined, series(5)), 'the rule quiet is off: it is not watched'],
    [whyOf(undefined, undefined, series(5)), 'no rule is about it'],
    [whyOf(PERCENT, undefined, series(720)), '72 % is 8 points below the warning 80 %'],
    [whyOf(PERCENT, undefined, series(790)), '79 % is 1 point below the warning 80 %'],
    [whyOf({ warning: { count: 10 } }, undefined, series(7, null)), '7 is 3 below the warning 10'],
    [whyOf({ warning: { remaining: 20 } }, undefined, series(900)), '100 left is 80 more than the warning 20'],
    [
      whyOf({ critical: { daysLeft: 7 } }, undefined, series(500, 1_000, 20)),
      '20 days left is 13 more than the critical 7 days',
    ],
    [whyOf({ critical: { daysLeft: 7 } }, undefined, series(500)), 'no condition of its rule holds'],
    [{ is: 'gone' }, 'it is no longer reported'],
  ])('%j', (because, sentence) => {
    expect(sayBecause(because)).toBe(sentence)
  })
})

describe('what is said of a reading', () => {
  test('never rounds it to the other side of a threshold', () => {
    expect(whyOf(PERCENT, undefined, series(7_999_999, 10_000_000))).toMatchObject({
      nearest: { value: 79.99, away: 0.01 },
    })
    expect(whyOf({ critical: { daysLeft: 7 } }, undefined, series(5, 9, 7.001))).toMatchObject({
      nearest: { value: 7.01, away: 0.01 },
    })
  })

  test('is rather what holds by itself than what is merely not left', () => {
    const rule = { warning: { percent: 80, count: 780 } }
    expect(whyOf(rule, open('warning'), series(780))).toMatchObject({ is: 'holds', asks: 'count' })
    expect(whyOf(rule, open('warning'), series(779))).toMatchObject({ is: 'margin', asks: 'percent', until: 77 })
  })

  test('is the critical condition where warning was entered by polls that found critical', () => {
    const rule = { warning: { daysLeft: 14 }, critical: { percent: 95 } }
    const pending = { warning: 1, critical: 0, sinceFirstReading: false }
    const found = whyOf(rule, { ...open('warning'), level: 'ok', pending }, series(960), { for: 2 })
    expect(found).toMatchObject({ is: 'holds', level: 'critical', rising: { level: 'critical', polls: 1, of: 2 } })
  })

  test('is the condition with the least way to go, whatever its unit', () => {
    const rule = { warning: { percent: 80, remaining: 50 }, critical: { percent: 95, daysLeft: 7 } }
    expect(whyOf(rule, undefined, series(700, 1_000, 60))).toMatchObject({
      nearest: { asks: 'percent', level: 'warning' },
    })
    expect(whyOf(rule, undefined, series(700, 1_000, 7.5))).toMatchObject({ nearest: { asks: 'daysLeft' } })
  })
})
