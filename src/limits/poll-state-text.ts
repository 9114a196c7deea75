import { crc32 } from 'node:zlib'
import type { StoredBucketUse } from '../provider/bucket-use.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_NOTES, type PollState, type StoredRecords, type TurnBecause } from './poll-state.ts'
import type { CallsMade } from './polling/account-calls.ts'
import { StoredReadings } from './stored-readings.ts'

/**
 * The stored text of an account's polls:
 *
 * - a line of words: a mark, a checksum of all that follows it, and what a poll at rest reads and writes, so that it parses no JSON;
 * - a line of JSON with all else that is known of the account, empty where that is as of one that was never polled;
 * - a line for the numbers of each report.
 *
 * The mark is set by steps that end the account's polling: `0` as it was written, `1` stopped or its alerts changed since,
 * `2` granted anew since. By the checksum nothing else has to be checked of what was written here.
 */
const MARKS = { written: '0', stopped: '1', granted: '2' } as const
const CHECKSUM_AT = 1
const TEXT_AT = 10

/** State of an account that was never polled. */
export const NEW_POLL_STATE: PollState = { ...NO_NOTES, isInterrupted: true, readings: StoredReadings.none }

export function writePollState(state: PollState): string {
  const { text: numbers } = state.readings
  const text = [wordsOf(state), notesOf(state), ...(numbers === undefined ? [] : [numbers])].join('\n')
  const mark = state.isInterrupted ? MARKS.stopped : MARKS.written
  return `${mark}${checksum(text)} ${text}`
}

/** Undefined: it is not what Plimsoll wrote. */
export function readPollState(stored: Buffer): PollState | undefined {
  if (stored.toString('latin1', CHECKSUM_AT, TEXT_AT) !== `${checksum(stored.subarray(TEXT_AT))} `) return undefined
  const text = stored.toString('utf8', TEXT_AT)
  const wordsEnd = text.indexOf('\n')
  const notesEnd = text.indexOf('\n', wordsEnd + 1)
  const notes = text.slice(wordsEnd + 1, notesEnd === -1 ? undefined : notesEnd)
  const state = stateOf(text.slice(0, wordsEnd), notes, notesEnd === -1 ? undefined : text.slice(notesEnd + 1))
  switch (stored.toString('latin1', 0, CHECKSUM_AT)) {
    case MARKS.written:
      return state
    case MARKS.stopped:
      return interrupted(state)
    case MARKS.granted:
      return afterGrant(interrupted(state))
    default:
      return undefined
  }
}

/** An empty word: there is none. */
function wordsOf({ digests, rules, restUntil, polledAt, turn, bucket, calls, hasAlerts, records }: PollState): string {
  const { lastSeen: seen } = bucket ?? {}
  return [
    digests,
    rules,
    restUntil,
    polledAt,
    turn?.regularAt,
    bucket && [bucket.refused, ...(seen === undefined ? [] : [seen.used, seen.of, seen.intervalMs, seen.at])].join(),
    calls?.join(';'),
    Number(hasAlerts),
    records && [records.digests, records.age, records.until].join(),
  ].join(' ')
}

function stateOf(words: string, notes: string, numbers: string | undefined): PollState {
  const [digests = '', rules = '', restUntil, polledAt, regularAt, bucket, calls, hasAlerts, records] = words.split(' ')
  const { because = STILL, ...others } = notes === '' ? NO_OTHERS : (JSON.parse(notes) as Others)
  return {
    ...NO_NOTES,
    ...others,
    isInterrupted: false,
    digests,
    rules,
    restUntil: Number(restUntil),
    polledAt: Number(polledAt),
    turn: regularAt ? { regularAt: Number(regularAt), because } : undefined,
    bucket: bucket ? bucketOf(bucket) : undefined,
    calls: calls ? callsOf(calls) : undefined,
    hasAlerts: hasAlerts === '1',
    records: records ? recordsOf(records) : undefined,
    readings: StoredReadings.read(numbers, Number(polledAt)),
  }
}

function bucketOf(word: string): StoredBucketUse {
  const [refused = 0, used, of = 0, intervalMs = 0, at = 0] = word.split(',').map(Number)
  return used === undefined ? { refused } : { lastSeen: { used, of, intervalMs, at }, refused }
}

function callsOf(word: string): CallsMade {
  return word.split(';').map((poll) => {
    const [at = 0, calls = 0] = poll.split(',').map(Number)
    return [at, calls]
  })
}

function recordsOf(word: string): StoredRecords {
  const [digests = '', age, until] = word.split(',')
  return { digests, age: Number(age), until: Number(until) }
}

/** Notes on few accounts: their polls fail, say, or a threshold is near. */
type Others = Partial<Pick<PollState, (typeof OTHERS)[number]>> & { because?: TurnBecause }

const OTHERS = [
  'failing',
  'blocked',
  'typesLeftOut',
  'gaps',
  'notAvailable',
  'unconfirmed',
  'companionsAwayUntil',
  'allPairsRead',
] as const
const NO_OTHERS: Others = {}
const STILL: TurnBecause = { is: 'still' }

/** Without those that are as of an account that was never polled. */
function notesOf(state: PollState): string {
  const notes: Record<string, unknown> = {}
  for (const name of OTHERS) {
    const own = state[name]
    if (own !== NO_NOTES[name] && !isEmpty(own)) notes[name] = own
  }
  if (state.turn !== undefined && state.turn.because.is !== STILL.is) notes.because = state.turn.because
  return isEmpty(notes) ? '' : JSON.stringify(notes)
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  for (const _ in value) return false
  return true
}

function interrupted(state: PollState): PollState {
  return { ...state, isInterrupted: true, digests: '', rules: '', restUntil: 0 }
}

/** After a new grant: what went wrong with polls before says nothing about these. */
function afterGrant(state: PollState): PollState {
  return {
    ...state,
    failing: undefined,
    blocked: undefined,
    turn: undefined,
    notAvailable: {},
    unconfirmed: {},
    companionsAwayUntil: 0,
  }
}

function checksum(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(8, '0')
}

/** The state of an account's polls; undefined: it was never polled, or can't be read: its next poll puts that aside. */
export async function loadPollState(store: Store, keys: Keys, hubId: number): Promise<PollState | undefined> {
  const stored = await store.getBuffer(keys.account(hubId).poll)
  return stored === null ? undefined : readPollState(stored)
}
