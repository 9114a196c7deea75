import { describe, expect, test } from 'vitest'
import type { Alert } from '../../../src/alerts/alert.ts'
import { type AlertSettings, decideAlerts } from '../../../src/alerts/evaluation/decide.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import { associations, properties, readings } from '../../limits/reports.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const BEFORE = NOW - 900_000
const RULES: Rule[] = [
  { name: 'quiet', on: '*', match: { objectType: ['2-9'] }, off: true },
  { name: 'overall', on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
  { name: 'fullest', on: 'associations.fullest', warning: { percent: 90 } },
]
const SETTINGS: AlertSettings = {
  rules: RULES,
  recoverBelow: 3,
  for: 0,
  repeatEveryMs: 86_400_000,
  firstRun: 'alert',
  pageOf: (hubId) => `https://plimsoll.example.com/accounts/${hubId}`,
}

function decide(before: Readings | undefined, after: Readings, now = NOW, rules = RULES) {
  const account = { hubId: 123, hubDomain: 'acme.example.com', before, after, samples: {}, states: {} }
  const writes = decideAlerts({ ...SETTINGS, rules }, account, now)
  const alerts = writes.entries.map((one) => decodeEntry(one).alert)
  return { writes, alerts, changed: alerts.filter(({ kind }) => kind === 'limit-changed') }
}

const overall = (usage: number, limit: number, at: number) => readings(at, properties(usage, limit))

describe('a limit that moved', () => {
  test('is told as what it is, with the number from before, and opens nothing', () => {
    const { changed, writes } = decide(overall(300, 1_000, BEFORE), overall(310, 500, NOW))
    expect(changed).toEqual<Alert[]>([
      {
        id: expect.stringMatching(/^[0-9a-f]{16}-1$/),
        kind: 'limit-changed',
        status: 'firing',
        level: 'warning',
        reason: 'entered',
        rule: 'limit-changed',
        account: { hubId: 123, hubDomain: 'acme.example.com' },
        series: { metric: 'customProperties.overall' },
        usage: 310,
        limit: 500,
        percent: 62,
        remaining: 190,
        previous: { level: 'ok', usage: 300, limit: 1_000, measuredAt: new Date(BEFORE).toISOString() },
        measuredAt: new Date(NOW).toISOString(),
        since: new Date(NOW).toISOString(),
        message: 'The limit went down from 1,000 to 500: usage is now 62 % (310).',
        url: 'https://plimsoll.example.com/accounts/123',
      },
    ])
    expect(writes.changes).toEqual([])
  })

  test('went up, and is told so', () => {
    const { changed } = decide(overall(300, 500, BEFORE), overall(300, 1_000, NOW))
    expect(changed).toMatchObject([{ message: 'The limit went up from 500 to 1,000: usage is now 30 % (300).' }])
  })

  test.each([
    [1_000, 0],
    [0, 1_000],
  ])('is not what is known where one is none, or could not be read: from %i to %i', (was, is) => {
    const types = (at: number, limit: number) => readings(at, properties(300, limit, { '0-1': [1, limit] }))
    expect(decide(types(BEFORE, was), types(NOW, is)).changed).toEqual([])
  })

  test('is one alert beside that of the level that is entered by it, and both know the limit from before', () => {
    const { alerts } = decide(overall(480, 1_000, BEFORE), overall(480, 500, NOW))
    expect(alerts.map(({ kind, level }) => [kind, level])).toEqual([
      ['limit-changed', 'warning'],
      ['limit', 'critical'],
    ])
    for (const { previous } of alerts) expect(previous).toMatchObject({ level: 'ok', usage: 480, limit: 1_000 })
  })

  test('has an id that follows from account, series and the moment of the poll', () => {
    const ids = [NOW, NOW, NOW + 1].map((at) => decide(overall(1, 10, BEFORE), overall(1, 20, at), at).changed[0]?.id)
    expect(ids[0]).toBe(ids[1])
    expect(ids[0]).not.toBe(ids[2])
  })

  test('is told for each series of its own, each direction of a pair among them', () => {
    const pairs = (there: number, back: number) => ({ '0-1/0-2': associations(there), '0-2/0-1': associations(back) })
    const { changed } = decide(
      readings(BEFORE, properties(1, 100, { '0-1': [1, 10], '0-2': [1, 10] }), pairs(10, 20)),
      readings(NOW, properties(1, 100, { '0-1': [1, 10], '0-2': [1, 30] }), pairs(10, 40)),
    )
    expect(changed.map(({ series, limit }) => [series, limit])).toEqual([
      [{ metric: 'customProperties.objectType', objectTypeId: '0-2', label: 'Things of 0-2' }, 30],
      [{ metric: 'associations.fullest', from: '0-2', to: '0-1', label: 'Things of 0-2 → Things of 0-1' }, 40],
    ])
  })

  test('is not told where a rule turns it off, of the accounts and series that the rule is about', () => {
    const types = (at: number, limit: number) => readings(at, properties(1, limit, { '0-1': [1, limit] }))
    const changed = (match?: Rule['match']) =>
      decide(types(BEFORE, 10), types(NOW, 20), NOW, [{ name: 'moved', on: 'limit-changed', off: true, match }])
    expect(changed().alerts).toEqual([])
    expect(changed({ objectType: ['0-1'] }).changed.map(({ series }) => series?.metric)).toEqual([
      'customProperties.overall',
    ])
    expect(changed({ account: ['99'] }).changed).toHaveLength(2)
  })

  test('is nothing at a first reading, of a series that is new, that was not read now, or that a rule switches off', () => {
    expect(decide(undefined, overall(1, 100, NOW)).changed).toEqual([])
    const types = (limit: number, more = {}) => properties(1, 100, { '2-9': [1, limit], ...more })
    expect(decide(readings(BEFORE, types(10)), readings(NOW, types(20, { '0-1': [1, 5] }))).changed).toEqual([])
    expect(decide(overall(1, 10, BEFORE), overall(1, 20, BEFORE)).changed).toEqual([])
    const pair = (at: number, limit: number) => readings(at, properties(1, 100), { '0-1/0-2': associations(limit) })
    expect(decide(pair(BEFORE, 0), pair(NOW, 500)).changed).toEqual([])
    expect(decide(pair(BEFORE, 400), pair(NOW, 500)).changed).toHaveLength(1)
    expect(decide(overall(1, 10, BEFORE), overall(9, 10, NOW)).changed).toEqual([])
  })
})
