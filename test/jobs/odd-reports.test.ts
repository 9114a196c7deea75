import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Registry } from '../../src/accounts/registry.ts'
import type { Rule } from '../../src/alerts/evaluation/rules.ts'
import type { SeriesName } from '../../src/limits/reports/report.ts'
import { seriesId } from '../../src/limits/series.ts'
import type { ConfiguredClient } from '../../src/provider/client.ts'
import { HUB } from '../accounts/connected.ts'
import { connectClient } from '../provider/connect-client.ts'
import { outboxOf, seedAccount } from '../support/accounts.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import type { FakeAnswers } from '../support/fake-provider.ts'
import { type FarSide, raw, startFarSide } from '../support/far-side.ts'
import { asItCame } from '../support/limits-calls.ts'
import { redisOfFile } from '../support/of-file.ts'
import { alertSettings, EVERY_MS, pollSettings, pollWork } from './poll-work.ts'

/*
 * Reports as no interface describes them, over HTTP through the client and the job into Redis. Every series of the account
 * would open an alert: the alerts that are there say which of them were judged.
 */

const DAY = 86_400_000
const redis = redisOfFile()

let far: FarSide
let client: ConfiguredClient
beforeAll(async () => {
  far = await startFarSide()
  client = connectClient(far.url)
})
afterAll(async () => {
  await client.close()
  await far.stop()
})

type Json = Record<string, unknown>

const objectType = (objectTypeId: string, usage: number): Json => ({
  ...{ objectTypeId, usage, limit: 1_000, percentage: usage / 10 },
  ...{ singularLabel: 'Thing', pluralLabel: 'Things' },
})

const properties = (usage: number): Json => ({
  ...{ overallLimit: 1_000, overallUsage: usage, overallPercentage: usage / 10 },
  byObjectType: [objectType('0-1', usage), objectType('0-2', usage)],
})

const associations = (usage: number): Json => ({
  ...{ limit: 500, totalRecordsAtLimit: usage > 500 ? 1 : 0, totalRecordsNearLimit: usage > 500 ? 2 : 0 },
  atLimitFromRecordSamples: usage > 500 ? [{ label: 'Full', objectId: 11 }] : [],
  nearLimitFromRecordSamples: (usage > 500 ? [490, 480] : []).map((used, n) => ({
    ...{ label: `Near ${n}`, objectId: 20 + n, percentage: used / 5, usage: used },
  })),
})

const CALM = { properties: properties(10), associations: associations(10) }
const ALL = ['overall', 'type/0-1', 'type/0-2', 'at/0-1/0-2', 'near/0-1/0-2', 'fullest/0-1/0-2']

/** An account of which all was well at its first poll. */
async function account() {
  const keys = redis.freshKeys()
  const does: FakeAnswers = {
    customProperties: (token) => asItCame(client, token, 'customProperties'),
    associations: (token, from, to) => asItCame(client, token, 'associations', { from, to }),
  }
  const rules: Rule[] = [
    ...(['customProperties.*', 'associations.fullest'] as const).map((on) => ({
      name: on,
      on,
      warning: { percent: 90 },
    })),
    ...(['associations.atLimit', 'associations.nearLimit'] as const).map((on) => ({
      name: on,
      on,
      warning: { count: 1 },
    })),
  ]
  const { work, clock, logged } = pollWork(redis.store, keys, does, {
    polling: pollSettings({ associations: [{ from: '0-1', to: '0-2' }] }),
    alerts: alertSettings({ rules }),
  })
  const { metrics } = work
  await seedAccount(redis.store, keys, { hubId: HUB, obtainedAt: clock.now(), lifeMs: 365 * DAY })
  const poll = async (says: { properties: unknown; associations: unknown }) => {
    far.answer = (request, response) => {
      const body = request.path.includes('custom-properties') ? says.properties : says.associations
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      raw(200, text, { 'content-type': 'application/json' })(request, response)
    }
    clock.move(EVERY_MS)
    await pollClaimed(work, [HUB])
  }
  await poll(CALM)
  return {
    ...{ poll, metrics },
    judged: async () => {
      const opened = (await outboxOf(redis.store, keys)).filter(({ kind }) => kind === 'limit')
      return ALL.filter((id) => opened.some((alert) => seriesId(alert.series as SeriesName) === id))
    },
    account: async () => {
      const read = await new Registry(redis.store, keys).get(HUB)
      if (read === undefined) throw new Error('it is gone')
      return read
    },
    records: async () => (await work.samples.read(HUB))['associations/0-1/0-2'],
    said: () => logged.lines().filter(({ code }) => code === 'poll.gaps'),
  }
}

type Change = (report: Json) => Json | string

const type =
  (more: Json): Change =>
  (report) => ({
    ...report,
    byObjectType: [{ ...objectType('0-1', 960), ...more }, objectType('0-2', 960)],
  })
const atLimit =
  (more: Json): Change =>
  (report) => ({
    ...report,
    atLimitFromRecordSamples: [{ label: 'Full', objectId: 11, ...more }],
  })
const near =
  (more: Json): Change =>
  (report) => {
    const [first, ...others] = report.nearLimitFromRecordSamples as Json[]
    return { ...report, nearLimitFromRecordSamples: [{ ...first, ...more }, ...others] }
  }
const all =
  (more: Json): Change =>
  (report) => ({ ...report, ...more })
const without =
  (field: string): Change =>
  (report) =>
    Object.fromEntries(Object.entries(report).filter(([name]) => name !== field))

/** Which report is odd, how, which series that leaves unjudged, and what is said of it. */
const ODD: [what: string, of: 'properties' | 'associations', change: Change, unjudged: string[], gap: string | null][] =
  [
    [
      'a null percentage beside a good limit',
      'properties',
      type({ percentage: null }),
      [],
      'byObjectType[0].percentage is null',
    ],
    ['a percentage "NaN"', 'properties', type({ percentage: 'NaN' }), [], 'byObjectType[0].percentage is a string'],
    [
      'a type without a percentage',
      'properties',
      type({ percentage: undefined }),
      [],
      'byObjectType[0].percentage is missing',
    ],
    ['an overall percentage of null', 'properties', all({ overallPercentage: null }), [], 'overallPercentage is null'],
    ['no overall percentage', 'properties', without('overallPercentage'), [], 'overallPercentage is missing'],
    [
      'a type without a limit',
      'properties',
      type({ limit: undefined }),
      ['type/0-1'],
      'byObjectType[0].limit is missing',
    ],
    ['a limit of null', 'properties', type({ limit: null }), ['type/0-1'], 'byObjectType[0].limit is null'],
    ['a limit of 0', 'properties', type({ limit: 0 }), ['type/0-1'], null],
    ['a limit "NaN"', 'properties', type({ limit: 'NaN' }), ['type/0-1'], 'byObjectType[0].limit is a string'],
    ['a limit below 0', 'properties', type({ limit: -1 }), ['type/0-1'], 'byObjectType[0].limit is the number -1'],
    [
      'a type without a usage',
      'properties',
      type({ usage: undefined }),
      ['type/0-1'],
      'byObjectType[0].usage is missing',
    ],
    [
      'half a property',
      'properties',
      type({ usage: 960.5 }),
      ['type/0-1'],
      'byObjectType[0].usage is the number 960.5',
    ],
    ['null for a plural', 'properties', type({ pluralLabel: null }), [], 'byObjectType[0].pluralLabel is null'],
    [
      'a number for a plural',
      'properties',
      type({ pluralLabel: 7 }),
      [],
      'byObjectType[0].pluralLabel is the number 7',
    ],
    [
      'a type without an id',
      'properties',
      type({ objectTypeId: null }),
      ['type/0-1'],
      'byObjectType[0].objectTypeId is null',
    ],
    [
      'a type with an empty id',
      'properties',
      type({ objectTypeId: '' }),
      ['type/0-1'],
      'byObjectType[0].objectTypeId is empty',
    ],
    [
      'null for a type',
      'properties',
      all({ byObjectType: [null, objectType('0-2', 960)] }),
      ['type/0-1'],
      'byObjectType[0] is null',
    ],
    ['null for all types', 'properties', all({ byObjectType: null }), ['type/0-1', 'type/0-2'], 'byObjectType is null'],
    ['no types', 'properties', without('byObjectType'), ['type/0-1', 'type/0-2'], 'byObjectType is missing'],
    ['no overall limit', 'properties', without('overallLimit'), ['overall'], 'overallLimit is missing'],
    ['an overall limit of 0', 'properties', all({ overallLimit: 0 }), ['overall'], null],
    [
      'null for the label of a full record',
      'associations',
      atLimit({ label: null }),
      [],
      'atLimitFromRecordSamples[0].label is null',
    ],
    [
      'a full record without an id',
      'associations',
      atLimit({ objectId: null }),
      [],
      'atLimitFromRecordSamples[0].objectId is null',
    ],
    ['null for a label', 'associations', near({ label: null }), [], 'nearLimitFromRecordSamples[0].label is null'],
    [
      'a number for a label',
      'associations',
      near({ label: 5 }),
      [],
      'nearLimitFromRecordSamples[0].label is the number 5',
    ],
    [
      'a record with a null percentage',
      'associations',
      near({ percentage: null }),
      [],
      'nearLimitFromRecordSamples[0].percentage is null',
    ],
    [
      'a record without a usage',
      'associations',
      near({ usage: null }),
      [],
      'nearLimitFromRecordSamples[0].usage is null',
    ],
    [
      'an id below 0',
      'associations',
      near({ objectId: -4 }),
      [],
      'nearLimitFromRecordSamples[0].objectId is the number -4',
    ],
    ['an id as text', 'associations', near({ objectId: '20' }), [], null],
    [
      'an id above 2^53',
      'associations',
      (report) =>
        JSON.stringify(near({ objectId: 42 })(report)).replace('"objectId":42', '"objectId":9007199254740993'),
      [],
      null,
    ],
    [
      'no list of full records',
      'associations',
      without('atLimitFromRecordSamples'),
      [],
      'atLimitFromRecordSamples is missing',
    ],
    [
      'null for the list of records',
      'associations',
      all({ nearLimitFromRecordSamples: null }),
      [],
      'nearLimitFromRecordSamples is null',
    ],
    [
      'a text among the records',
      'associations',
      all({ nearLimitFromRecordSamples: ['x'] }),
      [],
      'nearLimitFromRecordSamples[0] is a string',
    ],
    ['no association limit', 'associations', without('limit'), ['fullest/0-1/0-2'], 'limit is missing'],
    ['an association limit of 0', 'associations', all({ limit: 0 }), ['fullest/0-1/0-2'], null],
  ]

const NEWS = { properties: properties(960), associations: associations(960) }

describe('a report that is odd', () => {
  test.each(ODD)('by %s is judged but for what is odd', async (_, of, change, unjudged, gap) => {
    const one = await account()
    await one.poll({ ...NEWS, [of]: change(NEWS[of]) })
    expect(await one.judged()).toEqual(ALL.filter((id) => !unjudged.includes(id)))
    const { gaps, pollFailure } = await one.account()
    expect(pollFailure).toBe(null)
    const report = of === 'properties' ? 'custom properties' : '0-1/0-2'
    expect(gaps.map((line) => line.split(':').slice(0, 2).join(':'))).toEqual(gap === null ? [] : [`${report}: ${gap}`])
    expect(one.said()).toHaveLength(gap === null ? 0 : 1)
  })

  test('is named once, counted each time, and no more odd when all is read again', async () => {
    const one = await account()
    const odd = { ...NEWS, associations: near({ label: null })(NEWS.associations) }
    await one.poll(odd)
    await one.poll(odd)
    expect(one.said()).toMatchObject([{ level: 'warn', hubId: HUB, gaps: [expect.stringMatching(/label is null/)] }])
    expect((await one.account()).gaps).toHaveLength(1)
    expect(await one.metrics.registry.metrics()).toContain('plimsoll_limit_report_gaps_total 2')
    await one.poll(NEWS)
    expect((await one.account()).gaps).toEqual([])
    await one.poll(odd)
    expect(one.said()).toHaveLength(2)
  })

  test.each<[what: string, of: 'properties' | 'associations', change: Change, unread: string[]]>([
    ['without overall usage', 'properties', without('overallUsage'), ALL.slice(0, 3)],
    ['with null for a total', 'associations', all({ totalRecordsAtLimit: null }), ALL.slice(3)],
    ['that is no JSON', 'properties', () => '{"overallLimit":NaN}', ALL.slice(0, 3)],
  ])('%s fails, and the other is judged', async (_, of, change, unread) => {
    const one = await account()
    await one.poll({ ...NEWS, [of]: change(NEWS[of]) })
    expect(await one.judged()).toEqual(ALL.filter((id) => !unread.includes(id)))
    expect((await one.account()).pollFailure).not.toBe(null)
  })

  test('keeps an id above 2^53 to its last digit, and a record without a label', async () => {
    const one = await account()
    const odd = JSON.stringify(atLimit({ label: null, objectId: 42 })(NEWS.associations))
    await one.poll({ ...NEWS, associations: odd.replace('"objectId":42', '"objectId":9007199254740993') })
    expect((await one.records())?.atLimit).toEqual([{ objectId: '9007199254740993' }])
    expect((await one.records())?.nearLimit.map(({ objectId }) => objectId)).toEqual([20, 21])
  })
})
