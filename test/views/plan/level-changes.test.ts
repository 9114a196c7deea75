import fc from 'fast-check'
import { expect, test } from 'vitest'
import { encodeState, openedState } from '../../../src/alerts/alert-state.ts'
import type { CurrentSeries } from '../../../src/views/account-view.ts'
import { levelChanges } from '../../../src/views/plan/level-changes.ts'
import type { RuleSet } from '../../../src/views/view-deps.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')

function rulesWith(warning: number, critical: number, recoverBelow = 3): RuleSet {
  return {
    rules: [
      {
        name: 'types',
        on: 'customProperties.objectType',
        warning: { percent: warning },
        critical: { percent: critical },
      },
    ],
    recoverBelow,
    for: 3,
    repeatEveryMs: 86_400_000,
    firstRun: 'digest',
    routes: [],
    group: { by: ['rule'], waitMs: 30_000, intervalMs: 300_000, max: 200 },
  }
}

function typeAt(n: number, usage: number): CurrentSeries {
  const name = { id: `type/2-${n}`, metric: 'customProperties.objectType' as const, objectTypeId: `2-${n}` }
  const judged = { ...name, usage, limit: 100, percent: usage, daysLeft: null }
  const shown = { ...judged, measuredAt: new Date(NOW).toISOString(), forecast: null, forecastReason: null }
  return { shown, judged }
}

const levels = fc.tuple(fc.integer({ min: 2, max: 60 }), fc.integer({ min: 61, max: 100 }))
const account = fc
  .array(fc.record({ usage: fc.integer({ min: 2, max: 120 }), level: fc.constantFrom('ok', 'warning', 'critical') }), {
    minLength: 1,
  })
  .map((all) => ({
    hubId: 1,
    hubDomain: 'acme.example.com',
    series: all.map(({ usage }, n) => typeAt(n, usage)),
    states: Object.fromEntries(
      all.flatMap(({ level }, n) =>
        level === 'ok'
          ? []
          : [[`type/2-${n}`, encodeState(openedState(level as 'warning' | 'critical', 'types', NOW - 1))]],
      ),
    ),
  }))

test('the rules in force change nothing, whatever levels are in force', () => {
  fc.assert(
    fc.property(levels, account, ([warning, critical], stored) => {
      expect(levelChanges(rulesWith(warning, critical), rulesWith(warning, critical), stored, NOW).changes).toEqual([])
    }),
  )
})

test('a critical level below all readings takes every series that is not critical already', () => {
  fc.assert(
    fc.property(levels, account, ([warning, critical], stored) => {
      const old = rulesWith(warning, critical)
      const { changes } = levelChanges(old, rulesWith(1, 2), stored, NOW)
      expect(changes.every(({ move, after }) => move === 'critical' && after.level === 'critical')).toBe(true)
      const off = levelChanges(old, { ...old, rules: [] }, stored, NOW).changes
      const alreadyCritical = off.filter(({ before }) => before.level === 'critical').length
      expect(changes).toHaveLength(stored.series.length - alreadyCritical)
    }),
  )
})

test('a level in force is left only below its margin, by the new rules too', () => {
  const states = { 'type/2-0': encodeState(openedState('warning', 'types', NOW - 1)) }
  const stored = (usage: number) => ({ hubId: 1, hubDomain: '', series: [typeAt(0, usage)], states })
  const moves = (usage: number) =>
    levelChanges(rulesWith(50, 99), rulesWith(80, 99), stored(usage), NOW).changes.map(({ move }) => move)
  expect(moves(78)).toEqual([])
  expect(moves(76)).toEqual(['recovers'])
  const without = { ...rulesWith(50, 99), rules: [] }
  expect(levelChanges(rulesWith(50, 99), without, stored(78), NOW)).toMatchObject({
    changes: [{ move: 'unwatched', after: { level: 'off', rule: null } }],
    watched: { before: 1, after: 0 },
  })
})
