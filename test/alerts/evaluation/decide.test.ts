import { describe, expect, test } from 'vitest'
import { decodeState } from '../../../src/alerts/alert-state.ts'
import { statesAfter } from '../../../src/alerts/evaluation/boundaries.ts'
import { type AlertSettings, decideAlerts, type PolledAccount } from '../../../src/alerts/evaluation/decide.ts'
import type { Rule } from '../../../src/alerts/evaluation/rules.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import type { Samples } from '../../../src/limits/samples.ts'
import type { AlertWrites } from '../../../src/redis/steps.ts'
import { associations, properties, readings, samples } from '../../limits/reports.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const BEFORE = NOW - 900_000
const PAIR = '0-1/0-2'

const RULES: Rule[] = [
  { name: 'overall', on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
  { name: 'types', on: 'customProperties.objectType', warning: { remaining: 20 }, critical: { remaining: 5 } },
  { name: 'full records', on: 'associations.atLimit', warning: { count: 1 }, critical: { count: 50 } },
  { name: 'near records', on: 'associations.nearLimit', warning: { count: 10 } },
  { name: 'fullest', on: 'associations.fullest', warning: { percent: 90 }, critical: { percent: 100 } },
]
const SETTINGS: AlertSettings = {
  rules: RULES,
  recoverBelow: 3,
  for: 0,
  repeatEveryMs: 86_400_000,
  firstRun: 'digest',
  pageOf: (hubId) => `https://plimsoll.example.com/accounts/${hubId}`,
}

function decide(
  before: Readings | undefined,
  after: Readings,
  states: Record<string, string> = {},
  settings = SETTINGS,
  now = NOW,
  samples: Samples = {},
) {
  const account: PolledAccount = { hubId: 123, hubDomain: 'acme.example.com', before, after, samples, states }
  const writes = decideAlerts(settings, account, now)
  return {
    writes,
    entries: writes.entries.map(decodeEntry),
    alerts: writes.entries.map((one) => decodeEntry(one).alert),
  }
}

/** The states after writes, which were made on the states as they are. */
function afterwards(writes: AlertWrites, states: Record<string, string> = {}): Record<string, string> {
  for (const [field, before] of writes.changes) expect(states[field] ?? '').toBe(before)
  return { ...statesAfter(states, writes) }
}

const well = readings(BEFORE, properties(10, 1_000))

describe('a poll that finds a limit near', () => {
  test('is told with everything a receiver can use', () => {
    const { alerts, writes } = decide(readings(BEFORE, properties(700, 1_000)), readings(NOW, properties(960, 1_000)))
    expect(alerts).toEqual([
      {
        id: expect.stringMatching(/^[0-9a-f]{16}-1$/),
        kind: 'limit',
        status: 'firing',
        level: 'critical',
        reason: 'entered',
        rule: 'overall',
        account: { hubId: 123, hubDomain: 'acme.example.com' },
        series: { metric: 'customProperties.overall' },
        usage: 960,
        limit: 1_000,
        percent: 96,
        remaining: 40,
        threshold: { percent: 95 },
        previous: { level: 'ok', usage: 700, limit: 1_000, measuredAt: new Date(BEFORE).toISOString() },
        measuredAt: new Date(NOW).toISOString(),
        since: new Date(NOW).toISOString(),
        records: { shown: 0, total: 0, items: [] },
        because: { is: 'holds', level: 'critical', asks: 'percent', threshold: 95, value: 96 },
        url: 'https://plimsoll.example.com/accounts/123',
      },
    ])
    expect(writes.changes).toEqual([['overall', '', expect.any(String)]])
    expect(decodeState(writes.changes[0]?.[2] ?? '')).toMatchObject({ level: 'critical', transitions: 1, since: NOW })
  })

  test('of associations names the pair and the records, at most ten of them, and how many there are', () => {
    const many = associations(500, [], 14, { totalRecordsAtLimit: 212 })
    const { alerts } = decide(
      readings(BEFORE, undefined, { [PAIR]: associations(500) }),
      readings(NOW, undefined, { [PAIR]: many }),
      {},
      SETTINGS,
      NOW,
      samples(NOW, { [PAIR]: many }),
    )
    const [at, fullest] = alerts
    expect(at).toMatchObject({
      rule: 'full records',
      level: 'critical',
      series: { metric: 'associations.atLimit', from: '0-1', to: '0-2' },
      usage: 212,
      threshold: { count: 50 },
      records: { shown: 10, total: 212 },
    })
    expect(at?.records?.items).toHaveLength(10)
    expect(at?.records?.items[0]).toEqual({ label: 'full 0', objectId: 100 })
    for (const field of ['limit', 'percent', 'remaining']) expect(at).not.toHaveProperty(field)
    expect(fullest).toMatchObject({ rule: 'fullest', level: 'critical', percent: 100 })
  })

  describe('by its pace', () => {
    const rules: Rule[] = [{ name: 'overall', on: 'customProperties.overall', critical: { percent: 95, daysLeft: 7 } }]
    const pace = { perDay: 30, perDayLow: 20, perDayHigh: 60, leap: 0, bend: 0 }
    const decideAt = (usage: number, forecasts: PolledAccount['forecasts'], states: Record<string, string> = {}) => {
      const after = readings(NOW, properties(usage, 1_000))
      const account: PolledAccount = {
        hubId: 123,
        hubDomain: 'a.b',
        before: well,
        after,
        samples: {},
        states,
        forecasts,
      }
      const writes = decideAlerts({ ...SETTINGS, rules }, account, NOW)
      return { writes, alerts: writes.entries.map((one) => decodeEntry(one).alert) }
    }
    const told = { at: NOW - 86_400_000, rising: { overall: pace }, tooFew: {} }

    test('is told with the days that are left, from the usage and the limit of this poll, and their range', () => {
      expect(decideAt(800, told).alerts).toMatchObject([
        {
          level: 'critical',
          reason: 'entered',
          percent: 80,
          threshold: { percent: 95, daysLeft: 7 },
          daysLeft: 6.7,
          daysLeftRange: { earliest: 3.3, latest: 10 },
        },
      ])
      expect(decideAt(780, told).alerts).toEqual([])
    })

    test('says nothing of days where nothing is foretold, or what was is too old', () => {
      const [alert] = decideAt(960, undefined).alerts
      expect(alert).toMatchObject({ level: 'critical' })
      expect(alert).not.toHaveProperty('daysLeft')
      expect(alert).not.toHaveProperty('daysLeftRange')
      expect(decideAt(800, { ...told, at: NOW - 3 * 86_400_000 - 1 }).alerts).toEqual([])
    })

    test('stays while the forecast is late, and ends with the forecast that sees no growth', () => {
      const states = afterwards(decideAt(800, told).writes)
      expect(decideAt(800, undefined, states).writes).toEqual({ changes: [], entries: [] })
      expect(decideAt(800, { ...told, rising: {} }, states).alerts).toMatchObject([{ reason: 'recovered' }])
    })
  })

  test('rounds the percentage for people only', () => {
    const { alerts } = decide(well, readings(NOW, properties(961_237, 1_000_000)))
    expect(alerts[0]).toMatchObject({ percent: 96.12, usage: 961_237 })
  })
})

describe('the story of an alert', () => {
  test('ends with a word also where its series is gone and no reading of it is known any more', () => {
    const pair = readings(NOW, properties(10, 1_000), { [PAIR]: associations(100, [], 60) })
    const states = afterwards(decide(well, pair).writes)
    const { writes, alerts } = decide(undefined, readings(NOW + 1, properties(10, 1_000)), states, SETTINGS, NOW + 1)
    expect(alerts.map(({ series, usage, status, reason }) => [series?.metric, usage, status, reason])).toEqual([
      ['associations.atLimit', 60, 'resolved', 'recovered'],
      ['associations.fullest', 100, 'resolved', 'recovered'],
    ])
    expect(afterwards(writes, states)).toEqual({})
  })
  test('does not touch the alert about the account’s tokens', () => {
    expect(decide(well, well, { token: '["critical"]' }).writes).toEqual({ changes: [], entries: [] })
  })
})

describe('the first reading of an account', () => {
  const breach = readings(NOW, properties(960, 1_000))

  test('is marked, for the digest', () => {
    expect(decide(undefined, breach).entries).toMatchObject([{ firstReading: true }])
    expect(decide(well, breach).entries[0]).not.toHaveProperty('firstReading')
  })

  test('is like any other where the config says so', () => {
    const settings: AlertSettings = { ...SETTINGS, firstRun: 'alert' }
    expect(decide(undefined, breach, {}, settings).entries[0]).not.toHaveProperty('firstReading')
  })

  /** One poll after the other of an account, with `for: 3`; what each said. */
  function polls(usages: (number | 'failed')[]) {
    const settings = { ...SETTINGS, for: 3 }
    let states: Record<string, string> = {}
    let before: Readings | undefined
    return usages.map((usage, n) => {
      const now = NOW + n * 60_000
      const after = usage === 'failed' ? before : readings(now, properties(usage, 1_000))
      if (after === undefined) throw new Error('the first poll must not fail')
      const { writes, entries } = decide(before, after, states, settings, now)
      states = afterwards(writes, states)
      before = after
      return entries.map(({ alert, firstReading }) => `${alert.reason}${firstReading === true ? ' in the digest' : ''}`)
    })
  }

  test('is marked where a third poll confirms it, though a call failed in between', () => {
    expect(polls([960, 10, 960, 960, 960])).toEqual([[], [], [], [], ['entered']])
    expect(polls([960, 'failed', 960, 'failed', 960])).toEqual([[], [], [], [], ['entered in the digest']])
  })

  test('is that of each report: a pair that is watched from now on comes in the digest, the rest does not', () => {
    const after = readings(NOW, properties(960, 1_000), { [PAIR]: associations(500, [], 60) })
    const found = decide(well, after).entries.map(({ alert, firstReading }) => [alert.series?.metric, firstReading])
    expect(found).toEqual([
      ['customProperties.overall', undefined],
      ['associations.atLimit', true],
      ['associations.fullest', true],
    ])
  })

  test('is not that of a pair that is known to have had nothing before', () => {
    const after = readings(NOW, properties(10, 1_000), { [PAIR]: associations(500, [], 60) })
    const account = { hubId: 123, hubDomain: 'acme.example.com', before: well, after, samples: {}, states: {} }
    const { entries } = decideAlerts(SETTINGS, { ...account, allPairsRead: true }, NOW)
    expect(entries.map(decodeEntry)).toHaveLength(2)
    for (const message of entries) expect(decodeEntry(message)).not.toHaveProperty('firstReading')
  })
})

describe('a reading that is not new', () => {
  test('is no reason to repeat, to close, or to say anything at all', () => {
    const kept = readings(NOW, properties(960, 1_000))
    const states = afterwards(decide(well, kept).writes)
    const settings = { ...SETTINGS, recoverBelow: 0 }
    const later = NOW + 10 * SETTINGS.repeatEveryMs
    const loose = { ...settings, rules: [{ name: 'overall', on: '*', warning: { percent: 99 } }] }
    expect(decide(kept, kept, states, settings, later).writes).toEqual({ changes: [], entries: [] })
    expect(decide(kept, kept, states, loose, later).writes).toEqual({ changes: [], entries: [] })
  })

  test('holds back nothing of the report beside it that is new', () => {
    const before = readings(NOW - 1, properties(10, 1_000), { [PAIR]: associations(500, [], 60) })
    const after = { ...before, ...readings(NOW, properties(960, 1_000)) }
    expect(decide(before, after).alerts.map(({ series }) => series?.metric)).toEqual(['customProperties.overall'])
  })
})
