import { describe, expect, test } from 'vitest'
import { statesAfter } from '../../../src/alerts/evaluation/boundaries.ts'
import { type AlertSettings, decideAlerts } from '../../../src/alerts/evaluation/decide.ts'
import { decodeEntry } from '../../../src/alerts/outbox.ts'
import { mergeSamples, type RecordChoice } from '../../../src/limits/samples.ts'
import { type AssociationsBody, associations, fetched, readings } from '../../limits/reports.ts'
import { stateIn } from '../../support/state-in.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const DAY = 86_400_000
const PAIR = '0-1/0-2'
const SETTINGS: AlertSettings = {
  rules: [
    { name: 'full', on: 'associations.atLimit', warning: { count: 2 }, critical: { count: 50 }, recoverBelow: 1 },
    { name: 'near', on: 'associations.nearLimit', warning: { count: 1 } },
  ],
  recoverBelow: 0,
  for: 0,
  repeatEveryMs: DAY,
  firstRun: 'alert',
  pageOf: () => 'https://a.b',
}

/** A report of records at their limit by id, and how many more there are than it shows; near ones beside them. */
function report(ids: readonly number[], more = 0, near: readonly number[] = []): AssociationsBody {
  return associations(500, [], 0, {
    totalRecordsAtLimit: ids.length + more,
    totalRecordsNearLimit: near.length,
    atLimitFromRecordSamples: ids.map((objectId) => ({ objectId, label: `record ${objectId}` })),
    nearLimitFromRecordSamples: near.map((objectId) => ({
      objectId,
      label: `record ${objectId}`,
      usage: 450,
      percentage: 0,
    })),
  })
}

/** What the messages about one series say of its records, of polls a day apart. */
function story(reports: readonly AssociationsBody[], metric = 'associations.atLimit', records: RecordChoice = 'full') {
  let states: Record<string, string> = {}
  let before = readings(NOW, undefined, { [PAIR]: report([]) })
  return reports.flatMap((one, n) => {
    const now = NOW + (n + 1) * DAY
    const after = readings(now, undefined, { [PAIR]: one })
    const samples = mergeSamples({}, fetched(now, undefined, { [PAIR]: one }), { records, keepMs: DAY })
    const account = { hubId: 1, hubDomain: 'a.b', before, after, samples, states }
    const writes = decideAlerts(SETTINGS, account, now)
    before = after
    states = { ...statesAfter(states, writes) }
    const alert = writes.entries.map((entry) => decodeEntry(entry).alert).find((each) => each.series?.metric === metric)
    if (alert === undefined) return []
    const { items = [], left } = alert.records ?? {}
    return [
      {
        reason: alert.reason,
        isNew: items.filter((item) => item.isNew === true).map(({ objectId }) => objectId),
        left,
        said: states[`at/${PAIR}`] === undefined ? undefined : stateIn(states[`at/${PAIR}`] ?? '').lastSent,
      },
    ]
  })
}

const record = (objectId: number) => ({ objectId, label: `record ${objectId}` })
const many = (count: number, from = 1_000) => Array.from({ length: count }, (_, n) => from + n)

describe('a message that names records', () => {
  test('says which of them are new, and which are gone, since the last message of the same alert', () => {
    expect(story([report([1, 2]), report([2, 3, 4]), report([2, 3, 4]), report([2])])).toMatchObject([
      { reason: 'entered', isNew: [], left: undefined },
      { reason: 'repeat', isNew: [3, 4], left: [record(1)] },
      { reason: 'repeat', isNew: [], left: undefined },
      { reason: 'repeat', isNew: [], left: [record(3), record(4)] },
    ])
  })

  test('names those that are gone when the alert is over', () => {
    expect(story([report([1, 2]), report([])])).toMatchObject([
      { reason: 'entered' },
      { reason: 'recovered', isNew: [], left: [record(1), record(2)], said: undefined },
    ])
  })

  test('calls by its label what left one list for the other', () => {
    expect(story([report([], 0, [7, 8]), report([8], 0, [7])], 'associations.nearLimit')).toMatchObject([
      { reason: 'entered' },
      { reason: 'repeat', left: [{ objectId: 8, label: 'record 8' }] },
    ])
  })

  test('says of nothing that it is gone where only samples are shown', () => {
    const [, some, all] = story([report([1, 2, 3]), report([1], 2), report([1])])
    expect(some).toMatchObject({ reason: 'repeat', left: undefined })
    expect(some?.said).toMatchObject({ records: [[1, 'record 1']], unnamed: 2 })
    expect(all).toMatchObject({ left: undefined })
  })

  test('says of nothing that it is new where the last message did not name all there were', () => {
    const [, more, more2] = story([report(many(12)), report([...many(3), 5]), report([...many(3), 5, 6])])
    expect(more).toMatchObject({ isNew: [], left: many(7, 1_003).map(record) })
    expect(more2).toMatchObject({ isNew: [6] })
  })

  test('tells a record that takes the place of another', () => {
    const [, none, one] = story([report([1, 2]), report([1], 0), report([9])])
    expect(none).toMatchObject({ left: [record(2)] })
    expect(one).toMatchObject({ isNew: [9], left: [record(1)] })
  })

  test('remembers ten at most, and for as long as the alert is open', () => {
    const [first, over] = story([report(many(14), 200), report([])])
    expect(first?.said).toMatchObject({ records: many(10).map((id) => [id, `record ${id}`]), unnamed: 204 })
    expect(over).toMatchObject({ left: many(10).map(record), said: undefined })
  })

  test('remembers ids alone where labels are not kept', () => {
    const [first, next] = story([report([1, 2]), report([2])], 'associations.atLimit', 'ids')
    expect(first?.said).toMatchObject({ records: [1, 2] })
    expect(next).toMatchObject({ isNew: [], left: [{ objectId: 1 }] })
  })

  test('remembers, and compares, nothing where no record is kept', () => {
    const told = story([report([1, 2]), report([3, 4, 5]), report([])], 'associations.atLimit', 'none')
    expect(told.map(({ reason }) => reason)).toEqual(['entered', 'repeat', 'recovered'])
    for (const { isNew, left, said } of told) {
      expect([isNew, left]).toEqual([[], undefined])
      expect(said ?? {}).not.toHaveProperty('records')
    }
  })
})
