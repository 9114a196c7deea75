import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { encodeState, openedState } from '../../../src/alerts/alert-state.ts'
import { boundariesOf, statesAfter } from '../../../src/alerts/evaluation/boundaries.ts'
import { evaluate } from '../../../src/alerts/evaluation/evaluate.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import type { Series } from '../../../src/limits/series.ts'

const NOW = 1_763_719_200_000

const overall = (usage: number, limit: number | null = 1_000): Series => {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id: 'overall', metric: 'customProperties.overall', usage, limit, percent }
}
const rule = (more: Partial<Rule>): Rule => ({ name: 'x', on: 'customProperties.overall', ...more })

function boundaries(rules: Rule[], level?: 'warning' | 'critical', series = overall(500)) {
  const states: Record<string, string> =
    level === undefined ? {} : { overall: encodeState(openedState(level, 'x', NOW)) }
  const account = { hubId: 1, hubDomain: '', states }
  return boundariesOf({ rules, recoverBelow: 3 }, account, [series]).get('overall')
}

const PERCENT = rule({ warning: { percent: 80 }, critical: { percent: 95 } })

describe('the boundaries of a series', () => {
  test('are where a level is left that is in force, by the margin later than it was entered', () => {
    expect(boundaries([PERCENT], 'warning', overall(810))).toMatchObject([
      { level: 'warning', move: 'leave', of: 77, at: 770 },
      { level: 'critical', move: 'enter', of: 95 },
    ])
    expect(boundaries([PERCENT], 'critical', overall(960))).toMatchObject([
      { level: 'warning', move: 'leave', of: 77 },
      { level: 'critical', move: 'leave', of: 92, at: 920 },
    ])
  })

  test('are none where a level is in force by its forecast alone: usage is far below all that could be left', () => {
    const foreseen = rule({ warning: { percent: 80 }, critical: { percent: 95, daysLeft: 7 } })
    expect(boundaries([foreseen], 'critical', overall(600))).toEqual([])
    expect(boundaries([foreseen], 'critical', overall(850))).toMatchObject([
      { level: 'warning', move: 'leave', of: 77 },
    ])
  })

  test('of several conditions are at the first that is met', () => {
    const any = rule({ warning: { percent: 80, count: 700, remaining: 100 } })
    expect(boundaries([any])).toEqual([{ level: 'warning', move: 'enter', asks: 'count', of: 700, at: 700 }])
  })

  test('are those of the rule that decides, and there are none where it is off or has nothing to ask', () => {
    expect(boundaries([rule({ off: true }), PERCENT])).toBeUndefined()
    expect(boundaries([])).toBeUndefined()
    expect(boundaries([PERCENT], undefined, overall(500, null))).toEqual([])
  })

  test('are where evaluating it changes its level', () => {
    const settings = { rules: [], recoverBelow: 3, for: 0, repeatEveryMs: 1e12 }
    const condition = fc.oneof(
      fc.integer({ min: 1, max: 100 }).map((percent) => ({ percent })),
      fc.integer({ min: 1, max: 1_000 }).map((count) => ({ count })),
      fc.nat(999).map((remaining) => ({ remaining })),
    )
    fc.assert(
      fc.property(condition, fc.boolean(), (warning, isOpen) => {
        const one = rule({ warning })
        const [boundary] = boundaries([one], isOpen ? 'warning' : undefined, overall(1_000)) ?? []
        const before = isOpen ? openedState('warning', 'x', NOW) : undefined
        const levelAt = (usage: number) =>
          evaluate({ rule: one, before, series: overall(usage), now: NOW + 1, settings }).verdict
        expect(levelAt(Math.ceil((boundary?.at ?? 0) - 1e-9))).toBe('warning')
        expect(levelAt((boundary?.at ?? 0) - 0.001)).toBe('ok')
      }),
    )
  })
})

test('states after a poll are those before with its writes on top', () => {
  const changes: [string, string, string][] = [
    ['a', '1', '2'],
    ['b', '1', ''],
    ['c', '', '1'],
  ]
  expect(statesAfter({ a: '1', b: '1', d: '1' }, { changes, entries: [] })).toEqual({ a: '2', c: '1', d: '1' })
})
