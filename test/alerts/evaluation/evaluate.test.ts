import { describe, expect, test } from 'vitest'
import type { SeriesState } from '../../../src/alerts/alert-state.ts'
import { remembered } from '../../../src/alerts/evaluation/evaluate.ts'
import { aRule, aSeries, judge, NOW, open } from './a-series.ts'

/** Where an alert open at warning, or none, is after a reading. */
const standsAt = (levels: Parameters<typeof aRule>[0], series: ReturnType<typeof aSeries>, before?: SeriesState) =>
  judge(series, { rule: aRule(levels), before }).verdict

describe('the margin by which a level is left', () => {
  test.each([
    ['a small count', { count: 4 }, undefined, [4, 4, 3]],
    ['a count from 5 on', { count: 5 }, undefined, [5, 4, 3]],
    ['remaining: 10 %', { remaining: 20 }, undefined, [80, 78, 77]],
    ['remaining: 10 % rounded down', { remaining: 29 }, undefined, [71, 69, 68]],
    ['remaining: at least 1', { remaining: 0 }, undefined, [100, 99, 98]],
    ['percent: that of the config', { percent: 80 }, undefined, [80, 77, 76.99]],
    ['count, of the rule’s own', { count: 10 }, 4, [10, 6, 5]],
    ['remaining, of the rule’s own', { remaining: 20 }, 4, [80, 76, 75]],
    ['percent, of the rule’s own', { percent: 80 }, 4, [80, 76, 75]],
    ['percent, of the rule’s own: none', { percent: 80 }, 0, [80, 80, 79.9]],
  ] as const)('of %s', (_, warning, recoverBelow, [at, still, left]) => {
    const levels = { warning, recoverBelow }
    expect(standsAt(levels, aSeries(at))).toBe('warning')
    expect(standsAt(levels, aSeries(at - 1))).toBe('ok')
    expect(standsAt(levels, aSeries(still), open('warning'))).toBe('warning')
    expect(standsAt(levels, aSeries(left), open('warning'))).toBe('ok')
  })
})

describe('a level of the days that are left', () => {
  const rule = aRule({ warning: { percent: 80, daysLeft: 14 }, critical: { daysLeft: 7 } })
  const foreseen = (daysLeft: number | null | undefined, usage = 50) => aSeries(usage, 100, daysLeft)
  const decide = (before: SeriesState | undefined, series: ReturnType<typeof foreseen>, of = rule) =>
    judge(series, { before, rule: of })

  test('that usage holds as well is left with the usage; once only the pace holds it, it waits for the next forecast', () => {
    const entered = decide(undefined, foreseen(10, 85)).state
    expect(entered).not.toHaveProperty('foreseen')
    expect(decide(entered, foreseen(undefined, 50)).verdict).toBe('ok')
    const held = decide(entered, foreseen(10, 50))
    expect(held).toMatchObject({ verdict: 'warning', state: { foreseen: true } })
    expect(decide(held.state, foreseen(undefined, 50)).verdict).toBe('unknown')
  })
})

/** Polls in a row, the first of which is the first reading: what each brought. A reading of null has no limit. */
function polls(needed: number, percents: (number | null)[], start?: SeriesState) {
  let before = start
  return percents.map((percent, n) => {
    const series = percent === null ? aSeries(1, null) : aSeries(percent)
    const found = judge(series, { before, now: NOW + n, settings: { for: needed }, isFirstReading: n === 0 })
    before = remembered(found.state)
    const { verdict, event } = found
    return `${verdict}${event ? ` ${event.reason}` : ''}${event?.beganWithFirstReading ? ' at first' : ''}`
  })
}

describe('a level that must be confirmed by several polls', () => {
  test.each<[what: string, needed: number, percents: (number | null)[], outcomes: string[]]>([
    [
      'starts afresh after one that could not tell',
      2,
      [85, null, 85, 85],
      ['pending', 'unknown', 'pending', 'warning entered'],
    ],
    ['is warning where not each found critical', 3, [96, 85, 96], ['pending', 'pending', 'warning entered at first']],
    [
      'began with the first reading',
      0,
      [85, 96, 10],
      ['warning entered at first', 'critical escalated', 'ok recovered'],
    ],
    [
      'began with it, critical too where it was pending as long as the warning',
      3,
      [85, 96, 96, 96],
      ['pending', 'pending', 'warning entered at first', 'critical escalated at first'],
    ],
    [
      'did not begin with it where it was well in between',
      2,
      [85, 10, 85, 85],
      ['pending', 'ok', 'pending', 'warning entered'],
    ],
  ])('%s', (_, needed, percents, outcomes) => {
    expect(polls(needed, percents)).toEqual(outcomes)
  })
})
