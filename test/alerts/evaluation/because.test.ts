import { describe, expect, test } from 'vitest'
import { becauseText } from '../../../src/alerts/evaluation/because.ts'
import { aRule, aSeries, judge, NOW, open, PERCENT } from './a-series.ts'

/** Of a limit of 1,000, unless it is another. */
const read = (usage: number, limit: number | null = 1_000, daysLeft?: number) => aSeries(usage, limit, daysLeft)
const counted = (count: number) => read(count, null)
const days = (left?: number) => read(500, 1_000, left)
const said = null
const pending = { warning: 0, critical: 1, sinceFirstReading: false }
const acknowledged = { at: 1, by: 'x', until: NOW + 1, usage: 850, percent: 85 }
const last = { level: 'warning' as const, usage: 850, limit: 1_000, at: 1 }

type Row = [levels: Parameters<typeof aRule>[0], series: ReturnType<typeof read>, sentence: string]

test.each<Row>([
  [PERCENT, read(960), '96 %, at or above the critical threshold (95 %)'],
  [PERCENT, read(1_400), '140 %, at or above the critical threshold (95 %)'],
  [PERCENT, read(720), '72 %, below the warning threshold (80 %)'],
  [PERCENT, read(790), '79 %, below the warning threshold (80 %)'],
  [PERCENT, counted(5), 'no limit is reported to compare it with'],
  [{ warning: { count: 1_000 } }, counted(1_200), '1,200, at or above the warning threshold (1,000)'],
  [{ warning: { count: 1 } }, counted(0), '0, below the warning threshold (1)'],
  [{ warning: { remaining: 20 } }, read(995), '5 left, at or below the warning threshold (20)'],
  [{ warning: { remaining: 20 } }, read(900), '100 left, above the warning threshold (20)'],
  [{ critical: { remaining: 20 } }, read(1_003), '3 over its limit, below the critical threshold (20)'],
  [{ critical: { daysLeft: 7 } }, days(6.5), '6.5 days left, at or below the critical threshold (7 days)'],
  [{ critical: { daysLeft: 1 } }, read(1_000, 1_000, 0), '0 days left, at or below the critical threshold (1 day)'],
  [{ critical: { daysLeft: 7 } }, days(20), '20 days left, above the critical threshold (7 days)'],
  [{ critical: { daysLeft: 7 } }, days(), 'within the thresholds of its rule'],
  [{ off: true, name: 'quiet\u202e' }, read(5), 'the rule quiet is off: it is not watched'],
])('where nothing is open, %j at %j is said as: %s', (levels, series, sentence) => {
  expect(becauseText(judge(series, { rule: aRule(levels) }).because)).toBe(sentence)
})

test.each<[...Row, more?: Parameters<typeof open>[1]]>([
  [PERCENT, read(775), 'warning stays until below 77 %: recoverBelow 3'],
  [{ warning: { count: 10 }, recoverBelow: 4 }, counted(7), 'warning stays until below 6: recoverBelow 4'],
  [
    { warning: { remaining: 20 }, recoverBelow: 5 },
    read(978),
    'warning stays until more than 25 are left: recoverBelow 5',
  ],
  [
    { warning: { daysLeft: 7 }, recoverBelow: 3 },
    days(9),
    'warning stays until more than 10 days are left: recoverBelow 3',
  ],
  [
    { warning: { daysLeft: 0.5 }, recoverBelow: 0.5 },
    days(0.8),
    'warning stays until more than 1 day is left: recoverBelow 0.5',
  ],
  [
    PERCENT,
    read(910),
    '91 %, at or above the warning threshold (80 %); when it was acknowledged it was 85 %',
    { lastSent: last, acknowledged },
  ],
  [PERCENT, read(960), '96 %, at or above the warning threshold (80 %); 2 of 3 polls agree on critical', { pending }],
  [PERCENT, counted(5), 'no limit is reported to compare it with; warning stays until there is one'],
  [{ warning: { daysLeft: 7 } }, days(), 'warning depends on a forecast, and there is none now', { foreseen: true }],
])('where warning is open, %j at %j is said as: %s', (levels, series, sentence, more) => {
  const before = open('warning', { lastSent: said, ...more })
  const settings = { for: more?.pending === undefined ? 0 : 3, worseAfterMs: 0 }
  expect(becauseText(judge(series, { rule: aRule(levels), before, settings }).because)).toBe(sentence)
})

test('what is pending, what no rule watches and what is gone are said too', () => {
  const found = judge(read(960), { settings: { for: 3 } })
  expect(becauseText(found.because)).toBe(
    '1 of 3 polls agrees on critical: 96 %, at or above the critical threshold (95 %)',
  )
  expect(becauseText(judge(read(5), { rule: undefined }).because)).toBe('no rule watches it')
  expect(becauseText({ is: 'gone' })).toBe('it is no longer reported')
})

describe('what is said of a reading', () => {
  test('never rounds it to the other side of a threshold', () => {
    expect(judge(read(7_999_999, 10_000_000)).because).toMatchObject({ nearest: { value: 79.99, away: 0.01 } })
    const rule = aRule({ critical: { daysLeft: 7 } })
    expect(judge(read(5, 9, 7.001), { rule }).because).toMatchObject({ nearest: { value: 7.01, away: 0.01 } })
  })

  test('is rather what holds by itself than what is merely not left', () => {
    const [rule, before] = [aRule({ warning: { percent: 80, count: 780 } }), open('warning')]
    expect(judge(read(780), { rule, before }).because).toMatchObject({ is: 'holds', asks: 'count' })
    expect(judge(read(779), { rule, before }).because).toMatchObject({ is: 'margin', asks: 'percent', until: 77 })
  })

  test('is the critical condition where warning was entered by polls that found critical', () => {
    const rule = aRule({ warning: { daysLeft: 14 }, critical: { percent: 95 } })
    const before = open('warning', { level: 'ok', pending: { warning: 1, critical: 0, sinceFirstReading: false } })
    const { because } = judge(read(960), { rule, before, settings: { for: 2 } })
    expect(because).toMatchObject({ is: 'holds', level: 'critical', rising: { level: 'critical', polls: 1, of: 2 } })
  })

  test('is the condition with the least way to go, whatever its unit', () => {
    const rule = aRule({ warning: { percent: 80, remaining: 50 }, critical: { percent: 95, daysLeft: 7 } })
    expect(judge(read(700, 1_000, 60), { rule }).because).toMatchObject({
      nearest: { asks: 'percent', level: 'warning' },
    })
    expect(judge(read(700, 1_000, 7.5), { rule }).because).toMatchObject({ nearest: { asks: 'daysLeft' } })
  })
})
