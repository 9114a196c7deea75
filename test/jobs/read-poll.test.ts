import { expect, test } from 'vitest'
import { decidePoll, NO_FACTS } from '../../jobs/decide-poll.ts'
import { type MadePoll, readPoll } from '../../jobs/read-poll.ts'
import { answersFingerprint } from '../../src/limits/fingerprints.ts'
import { PackedReadings } from '../../src/limits/poll-store.ts'
import { isFailure, mergeReadings } from '../../src/limits/readings.ts'
import { namedReports } from '../../src/limits/reports/all-reports.ts'
import { seriesById } from '../../src/limits/series.ts'
import { NEW_WATCH, type Watch } from '../../src/limits/watch/watch.ts'
import { MOST_OBJECT_TYPES } from '../../src/provider/bounds.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { HUB } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { POLL_RULES } from './poll-rules.ts'
import { EVERY_MS } from './polled.ts'

const START = 1_795_000_000_000
const PAIR = 'associations/0-1/0-2'
/** Answers of the account's report on properties, and of the one on its pair. */
type Bodies = [object, object]
interface Known {
  watch: Watch
  packed: Buffer | undefined
  at: number
}

const FIRST: Known = { watch: NEW_WATCH, packed: undefined, at: START - EVERY_MS }

function made(bodies: Bodies, { watch, packed, at }: Known): MadePoll {
  const texts = bodies.map((body) => Buffer.from(JSON.stringify(body)))
  const reports = new Map(['customProperties', PAIR].map((key, n) => [key, texts[n] as Buffer]))
  const now = at + EVERY_MS
  return {
    hubId: HUB,
    at: now,
    readAt: now,
    begun: {
      hubId: HUB,
      hubDomain: 'a.example.com',
      access: undefined,
      watch,
      forecasts: '',
      pausedUntil: 0,
      isInterrupted: false,
      readings: new PackedReadings(HUB, createKeys('read'), packed),
      alertStates: {},
      record: undefined,
    },
    settings: {
      everyMs: EVERY_MS,
      soonestMs: EVERY_MS,
      pairs: [{ from: '0-1', to: '0-2' }],
      pairsPerPoll: 20,
      reports: namedReports(['customProperties', 'associations']),
    },
    answers: {
      at: now,
      reports,
      bucketUse: { refused: 0 },
      troubles: [],
      calls: [now, now],
      fingerprint: answersFingerprint(texts),
      notAvailable: {},
      unconfirmed: {},
      pausedUntil: undefined,
      allPairsRead: false,
      companionsAwayUntil: undefined,
    },
  }
}

/** What is known once these were polled. */
function after(bodies: Bodies, known = FIRST): Known {
  const { result } = decidePoll(POLL_RULES, readPoll(POLL_RULES, made(bodies, known)), NO_FACTS, known.at + EVERY_MS)
  return { watch: result.watch, packed: result.readings, at: known.at + EVERY_MS }
}

/** The reports that a poll read as new ones; `nothing`: it is at rest. */
function readAnew(bodies: Bodies, known: Known): string[] | 'nothing' {
  const poll = readPoll(POLL_RULES, made(bodies, known))
  if (poll.is === 'at rest') return 'nothing'
  return [...poll.read.reports].flatMap(([key, report]) => (!isFailure(report) && report.isAsBefore ? [] : [key]))
}

/** Percentages as they are computed. */
const types = (count: number, label = 'Contacts') => {
  const body = properties(5, 10, Object.fromEntries(Array.from({ length: count }, (_, n) => [`2-${n}`, [1, 10]])))
  const named = body.byObjectType.map((type, n) => ({
    ...type,
    ...(n === 0 ? { pluralLabel: label } : {}),
    percentage: 10,
  }))
  return { ...body, overallPercentage: 50, byObjectType: named }
}
const PLAIN = types(2)
const RECORDS = recordsAt(90)
const disagreeing = {
  ...RECORDS,
  nearLimitFromRecordSamples: RECORDS.nearLimitFromRecordSamples.map((one) => ({ ...one, percentage: 9 })),
}
const BOTH = ['customProperties', PAIR]

test.each<[string, Bodies, ReturnType<typeof readAnew>]>([
  ['the same', [PLAIN, RECORDS], 'nothing'],
  [
    'the same in other bytes',
    [
      { ...PLAIN, more: 1 },
      { ...RECORDS, more: 2 },
    ],
    'nothing',
  ],
  ['another number', [{ ...PLAIN, overallUsage: 6 }, RECORDS], ['customProperties']],
  ['another limit', [{ ...PLAIN, overallLimit: 11 }, RECORDS], ['customProperties']],
  ['another name', [types(2, 'People'), RECORDS], ['customProperties']],
  ['one object type less', [types(1), RECORDS], ['customProperties']],
  ['one more record', [PLAIN, { ...RECORDS, totalRecordsNearLimit: 40 }], [PAIR]],
  ['another percentage of a record, for the log', [PLAIN, disagreeing], [PAIR]],
  ['another record: those of all reports are kept together', [PLAIN, recordsAt(91)], BOTH],
  [
    'something that can not be read',
    [{ ...PLAIN, byObjectType: [{ ...typeOf('Contacts'), usage: 'x' }] }, RECORDS],
    BOTH,
  ],
])('of answers that say %s', (_, bodies, anew) => {
  expect(readAnew(bodies, after([PLAIN, RECORDS]))).toEqual(anew)
})

test('a name that the answer before had for the object types of a pair is not kept with the pair', () => {
  const known = after([{ ...PLAIN, byObjectType: [typeOf('Contacts')] }, RECORDS])
  const poll = made([{ ...PLAIN, byObjectType: [typeOf('People')] }, RECORDS], known)
  const read = readPoll(POLL_RULES, poll)
  if (read.is === 'at rest') throw new Error('a name is new')
  const before = poll.begun.readings.unpacked()
  expect(seriesById(before).get('fullest/0-1/0-2')?.label).toContain('Contacts')
  expect(seriesById(mergeReadings(before, read.read)).get('fullest/0-1/0-2')?.label).toContain('People')
})

/** One record near its limit of 100, its percentage as it is computed. */
function recordsAt(usage: number) {
  const report = associations(100, [usage])
  return {
    ...report,
    nearLimitFromRecordSamples: report.nearLimitFromRecordSamples.map((one) => ({ ...one, percentage: usage })),
  }
}

function typeOf(pluralLabel: string) {
  return { objectTypeId: '0-1', singularLabel: 'One', pluralLabel, usage: 1, limit: 10, percentage: 10 }
}

test('object types beyond the bound are counted at each poll, also where no number moved', () => {
  const beyond = (count: number) => types(MOST_OBJECT_TYPES + count)
  const known = after([beyond(2), RECORDS])
  expect(known.watch.typesLeftOut).toBe(2)
  const moved = after([beyond(2), { ...RECORDS, totalRecordsNearLimit: 40 }], known)
  expect(moved.watch.typesLeftOut).toBe(2)
  expect(readAnew([beyond(3), RECORDS], known)).toEqual(['customProperties'])
  expect(after([beyond(3), RECORDS], known).watch.typesLeftOut).toBe(3)
})

test('fingerprints of as many answers as are not asked for any more are of no use', () => {
  const known = after([PLAIN, RECORDS])
  const seen = known.watch.seen && { ...known.watch.seen, answers: `${known.watch.seen.answers}abcdef` }
  expect(readAnew([PLAIN, RECORDS], { ...known, watch: { ...known.watch, seen } })).toEqual(BOTH)
})
