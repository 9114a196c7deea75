import { expect, test } from 'vitest'
import { byConsequence, type Ranked, rankOf } from '../../src/alerts/alert.ts'
import { adviceIn } from '../../src/alerts/alert-title.ts'
import { describeFailingPolls, describeStale, describeThrottled } from '../../src/alerts/kinds/fleet-alert.ts'
import type { Coverage, CoverageSettings } from '../../src/limits/coverage.ts'
import { describeData } from '../../src/redis/installation.ts'
import { ALERT_PLACE, alertPlaceText, readPlace } from '../../src/views/find-alerts.ts'

const overall = { metric: 'customProperties.overall' }
const WORST_FIRST: readonly (readonly [what: string, alert: Ranked])[] = [
  ['no token can be refreshed', { kind: 'fleet', level: 'critical' }],
  ['a token must be reconnected', { kind: 'token', level: 'critical' }],
  ['a receiver is switched off', { kind: 'delivery', level: 'critical' }],
  ['over the limit', { kind: 'limit', level: 'critical', series: overall, percent: 130, daysLeft: 0 }],
  ['at the limit', { kind: 'limit', level: 'critical', series: overall, percent: 100, daysLeft: 0 }],
  ['records at it', { kind: 'limit', level: 'critical', series: { metric: 'associations.atLimit' }, usage: 9 }],
  ['fewer records at it', { kind: 'limit', level: 'critical', series: { metric: 'associations.atLimit' }, usage: 3 }],
  ['full in two days', { kind: 'limit', level: 'critical', series: overall, percent: 91, daysLeft: 2 }],
  ['full in a week', { kind: 'limit', level: 'critical', series: overall, percent: 99, daysLeft: 7 }],
  ['no forecast', { kind: 'limit', level: 'critical', series: overall, percent: 98 }],
  ['a limit moved', { kind: 'limit-changed', level: 'critical', series: overall, percent: 99 }],
  ['many accounts are not read', { kind: 'fleet', level: 'warning' }],
  ['a refresh keeps failing', { kind: 'token', level: 'warning' }],
  ['polls keep failing', { kind: 'poll', level: 'warning' }],
  ['warned of, full tomorrow', { kind: 'limit', level: 'warning', series: overall, percent: 99, daysLeft: 1 }],
  ['over', { status: 'resolved', kind: 'fleet', level: 'critical' }],
]

test('what has the worst consequence comes first, whatever order it came in', () => {
  for (let turn = 0; turn < WORST_FIRST.length; turn++) {
    const turned = [...WORST_FIRST.slice(turn), ...WORST_FIRST.slice(0, turn)]
    const sorted = turned.toSorted(([, a], [, b]) => byConsequence(a, b))
    expect(sorted.map(([what]) => what)).toEqual(WORST_FIRST.map(([what]) => what))
  }
})

test('whatever the numbers, a rank is a place that a cursor carries', () => {
  const overall = { metric: 'customProperties.overall' }
  const most = Number.MAX_SAFE_INTEGER
  for (const usage of [0, 7, most]) {
    const percent = usage * 10
    const place = [
      0,
      ...rankOf({ kind: 'limit', level: 'critical', series: overall, usage, percent, daysLeft: 0.1 }),
      most,
      most,
    ]
    expect(alertPlaceText(place)).toMatch(ALERT_PLACE)
    expect(readPlace(alertPlaceText(place))).toEqual(place.map((one) => one || 0))
  }
})

test('every alert about all accounts says what to do', () => {
  const coverage = { polled: 20, stale: 9, failing: 3, notWatched: 0 } as Coverage
  const settings = { objective: 0.95, freshnessMs: 3_600_000 } as CoverageSettings
  for (const message of [
    describeThrottled({ late: 3, kept: 20 }, 2),
    describeStale(coverage, settings, undefined),
    describeFailingPolls(coverage, undefined),
    describeData({ code: 'redis.emptied', isOurs: true, detail: 'Redis came back empty' }),
  ])
    expect(adviceIn(message)).toMatch(/\.$/)
})
