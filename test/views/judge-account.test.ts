import { describe, expect, test } from 'vitest'
import type { Rule } from '../../src/alerts/evaluation/rules.ts'
import type { Silence } from '../../src/alerts/silence.ts'
import { REPORTS } from '../../src/limits/reports/all-reports.ts'
import type { CurrentSeries } from '../../src/views/account-view.ts'
import { addAccount, noCounts, statusOf } from '../../src/views/check-fleet.ts'
import {
  type CheckedSeries,
  type JudgedSubject,
  type JudgeSettings,
  judgeAbsent,
  judgeAccount,
} from '../../src/views/judge-account.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const HOUR = 3_600_000
const FRESH_MS = 26 * HOUR

const RULES: Rule[] = [
  { name: 'quiet', on: '*', match: { account: ['*.quiet.example.com'] }, off: true },
  {
    name: 'overall',
    on: 'customProperties.overall',
    recoverBelow: 10,
    warning: { percent: 80 },
    critical: { percent: 95, remaining: 10 },
  },
  { name: 'full', on: 'associations.atLimit', warning: { count: 1 } },
]

const NO_OUTLOOK = { daysLeft: undefined, forecast: null, forecastReason: 'not looked at' }

function account(more: Partial<JudgedSubject> = {}): JudgedSubject {
  return {
    hubId: 123,
    hubDomain: 'acme.example.com',
    state: 'active',
    polledAt: NOW,
    pollFailure: null,
    pollBlocked: null,
    refreshFailure: null,
    ...more,
  }
}

function overall(usage: number, limit: number | null = 1_000, measuredAt: number | null = NOW - HOUR): CurrentSeries {
  const percent = limit === null ? null : (usage * 100) / limit
  return { id: 'overall', metric: 'customProperties.overall', usage, limit, percent, measuredAt, ...NO_OUTLOOK }
}

function atLimit(usage: number, measuredAt = NOW - HOUR): CurrentSeries {
  const name = { metric: 'associations.atLimit' as const, from: '0-1', to: '0-2' }
  return { id: 'at/0-1/0-2', ...name, usage, limit: null, percent: null, measuredAt, ...NO_OUTLOOK }
}

const SETTINGS: JudgeSettings = {
  rules: RULES,
  silences: [],
  staleAfter: () => FRESH_MS,
  askedOf: () => ({ reports: REPORTS, pairs: [{ from: '0-1', to: '0-2' }] }),
}

const judge = (series: CheckedSeries[], subject = account(), trouble?: string, silences: Silence[] = []) =>
  judgeAccount({ ...SETTINGS, silences, trouble }, subject, series, NOW)

describe('a series is judged by its reading alone', () => {
  test.each([
    [overall(799), 'ok', null],
    [overall(800), 'warning', { percent: 80 }],
    [overall(949), 'warning', { percent: 80 }],
    [overall(950), 'critical', { percent: 95, remaining: 10 }],
    [overall(5, 15), 'critical', { percent: 95, remaining: 10 }],
    [overall(1_200), 'critical', { percent: 95, remaining: 10 }],
    [overall(5, null), 'unknown', null],
    [atLimit(0), 'ok', null],
    [atLimit(1), 'warning', { count: 1 }],
  ])('%o is %s', (series, level, threshold) => {
    expect(judge([series]).series).toEqual([
      { ...series, level, threshold, rule: series.from === undefined ? 'overall' : 'full', handled: false },
    ])
  })

  test('what no rule watches, or a rule that is off, is not looked at', () => {
    const near: CurrentSeries = { ...atLimit(900), metric: 'associations.nearLimit' }
    expect(judge([near, overall(1)]).series.map(({ metric }) => metric)).toEqual(['customProperties.overall'])
    const quiet = judge([overall(1_000)], account({ hubDomain: 'x.quiet.example.com' }))
    expect(quiet).toMatchObject({ level: 'ok', reason: null, series: [] })
  })

  test('as old as it may be it counts; a moment older it is unknown, whatever it says', () => {
    expect(judge([overall(1_000, 1_000, NOW - FRESH_MS)])).toMatchObject({ level: 'critical', reason: null })
    const old = judge([overall(1_000, 1_000, NOW - FRESH_MS - 1)])
    expect(old).toMatchObject({ level: 'unknown', reason: 'not read since 2026-11-20 07:59 UTC' })
    expect(old.series[0]).toMatchObject({ level: 'unknown', threshold: null })
  })
})

test('an open alert counts, whatever keeps it open, where the reading is fresh', () => {
  const open = { open: 'warning' as const }
  expect(judge([{ ...overall(720), ...open }])).toMatchObject({
    level: 'warning',
    reason: null,
    series: [{ level: 'warning', threshold: { percent: 80 } }],
  })
  expect(judge([{ ...overall(950), ...open }]).level).toBe('critical')
  expect(judge([{ ...overall(5, null), ...open }]).level).toBe('warning')
  expect(judge([{ ...overall(720, 1_000, NOW - 2 * FRESH_MS), ...open }]).level).toBe('unknown')
})

test('a reading of one of many pairs may be as old as their turns take, and that of the account may not', () => {
  const staleAfter = (_: unknown, pairs: number) => HOUR * (1 + pairs)
  const settings: JudgeSettings = { ...SETTINGS, askedOf: () => ({ reports: REPORTS, pairs: [] }), staleAfter }
  const pair = (to: string, age: number) =>
    [atLimit(0, NOW - age), { ...atLimit(0, NOW - age), metric: 'associations.fullest' as const }].map((one) => ({
      ...one,
      id: `${one.metric}/${to}`,
      to,
    }))
  const judged = (age: number) => judgeAccount(settings, account(), [...pair('0-2', age), ...pair('0-3', HOUR)], NOW)
  expect(judged(3 * HOUR).reason).toBeNull()
  expect(judged(3 * HOUR + 1).reason).toContain('not read since')
  expect(judgeAccount(settings, account(), pair('0-2', HOUR + 1), NOW).reason).toContain('not read since')
})

describe('a series whose alert an operator has handled', () => {
  const known = (open: 'warning' | 'critical') => ({ open, isAcknowledged: true })
  const silence = (name: 'account' | 'level', value: string): Silence => ({
    id: 's-1',
    matchers: [{ name, value }],
    author: 'ann',
    comment: '',
    createdAt: NOW,
    endsAt: NOW + 1,
  })

  test('makes nothing worse, and is counted by itself', () => {
    const judged = judge([{ ...overall(990), ...known('critical') }, atLimit(1)])
    expect(judged).toMatchObject({
      level: 'warning',
      series: [{ level: 'critical', handled: true }, { handled: false }],
    })
    const counts = noCounts()
    addAccount(counts, judged)
    expect(counts).toMatchObject({ notOk: 1, critical: 0, warning: 1, handled: 1 })
    expect(statusOf(counts)).toBe('warning')
  })

  test('counts again once it is worse than what was acknowledged', () => {
    expect(judge([{ ...overall(850), ...known('warning') }]).level).toBe('ok')
    expect(judge([{ ...overall(990), ...known('warning') }]).level).toBe('critical')
  })

  test('may be silenced before its alert opens, at one level alone too', () => {
    expect(judge([overall(990)], account(), undefined, [silence('account', '123')]).level).toBe('ok')
    expect(judge([overall(990)], account(), undefined, [silence('account', '124')]).level).toBe('critical')
    expect(judge([overall(990)], account(), undefined, [silence('level', 'warning')]).level).toBe('critical')
  })

  test('is no comfort where its reading is old', () => {
    const old = { ...overall(990, 1_000, NOW - 2 * FRESH_MS), ...known('critical') }
    expect(judge([old])).toMatchObject({ level: 'unknown', series: [{ level: 'unknown', handled: false }] })
  })
})

describe('an account', () => {
  const failing = account({ pollFailure: { count: 3, reason: 'the provider answered 503', at: NOW, since: NOW } })

  test('is as bad as its worst series', () => {
    expect(judge([overall(1), atLimit(0)]).level).toBe('ok')
    expect(judge([overall(1), atLimit(9)]).level).toBe('warning')
    expect(judge([overall(990), atLimit(9)]).level).toBe('critical')
  })

  test('is not unknown only because the provider gives a series no limit', () => {
    expect(judge([overall(5, null), atLimit(0)])).toMatchObject({ level: 'ok', reason: null })
  })

  test.each([
    ['was never read', judge([]), 'never read'],
    ['could never be read', judge([], failing), 'never read: the provider answered 503'],
    [
      'can no longer be read',
      judge([overall(1, 9, NOW - 30 * HOUR)], failing),
      'not read since 2026-11-20 04:00 UTC: the provider answered 503',
    ],
    [
      'has one report that is too old',
      judge([overall(1), atLimit(0, NOW - 30 * HOUR)], failing),
      '1 series not read since 2026-11-20 04:00 UTC: the provider answered 503',
    ],
    ['has a report that never came', judge([overall(1)], failing), 'not all was read: the provider answered 503'],
    ['could not be read just now', judge([overall(1), atLimit(0)], account(), 'no answer'), 'no answer'],
    ['is nobody’s', judgeAbsent(9, undefined), 'there is no such account'],
    ['was uninstalled', judgeAbsent(123, account({ state: 'uninstalled' })), 'it is uninstalled'],
  ])('that %s is unknown, with the reason', (_, judged, reason) => {
    expect(judged).toMatchObject({ level: 'unknown', reason })
  })

  test('that must be connected again is critical, with the reason; once that is known it is unknown', () => {
    const subject = account({ state: 'reauthorize' })
    const reason = 'it must reconnect: its refresh token is refused'
    expect(judge([overall(1), atLimit(0)], subject)).toMatchObject({ level: 'critical', reason })
    const known = judgeAccount({ ...SETTINGS, isKnown: true }, subject, [overall(1)], NOW)
    expect(known).toMatchObject({ level: 'unknown', reason })
  })

  test('that is failing or parked is judged by its fresh reading; one whose poll missed what no rule wants, too', () => {
    for (const state of ['failing', 'parked'] as const) {
      expect(judge([overall(1), atLimit(0)], account({ state }))).toMatchObject({ level: 'ok', reason: null })
    }
    expect(judgeAccount({ ...SETTINGS, rules: RULES.slice(0, 2) }, failing, [overall(1)], NOW)).toMatchObject({
      level: 'ok',
      reason: null,
    })
  })

  test('of which one series is critical is critical, although another one is not known', () => {
    expect(judge([overall(990), atLimit(0, 1)])).toMatchObject({ level: 'critical', reason: expect.any(String) })
  })
})

describe('of all accounts the worst wins', () => {
  const ok = judge([overall(1)])
  const warning = judge([overall(800), atLimit(1)])
  const critical = judge([overall(990)])
  const unknown = judge([])
  const lost = judge([], account({ state: 'reauthorize' }))
  const lostAndKnown = judgeAccount({ ...SETTINGS, isKnown: true }, account({ state: 'reauthorize' }), [], NOW)
  const withoutLimit = judge([overall(5, null)])

  test.each([
    [[ok, withoutLimit], 'ok'],
    [[ok, unknown], 'unknown'],
    [[ok, unknown, warning], 'warning'],
    [[unknown, critical, warning, ok], 'critical'],
    [[ok, warning, lost], 'critical'],
    [[ok, lostAndKnown], 'unknown'],
    [[], 'unknown'],
  ])('%#', (accounts, status) => {
    const counts = noCounts()
    for (const one of accounts) addAccount(counts, one)
    expect(statusOf(counts)).toBe(status)
  })

  test('and each is counted once', () => {
    const counts = noCounts()
    for (const one of [ok, warning, critical, unknown, lost, withoutLimit]) addAccount(counts, one)
    expect(counts).toEqual({
      accounts: 6,
      notOk: 4,
      series: 5,
      critical: 1,
      warning: 2,
      handled: 0,
      unknown: 2,
      reconnect: 1,
      withoutLimit: 1,
    })
  })
})
