import { crc32 } from 'node:zlib'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { NO_NOTES, type PollState } from './poll-state.ts'
import { StoredReadings } from './stored-readings.ts'

/**
 * The stored text of an account's polls: a mark, a checksum of all that follows it, a line of JSON with what is known of
 * the account, and one for the numbers of each report.
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
  const notes = JSON.stringify(notesOf(state))
  const { text: numbers } = state.readings
  const text = numbers === undefined ? notes : `${notes}\n${numbers}`
  const mark = state.isInterrupted ? MARKS.stopped : MARKS.written
  return `${mark}${checksum(text)} ${text}`
}

const NAMED = Object.entries(NO_NOTES) as [keyof typeof NO_NOTES, unknown][]

/** Notes that are not as of an account that was never polled. */
function notesOf(state: PollState): Partial<typeof NO_NOTES> {
  const notes: Record<string, unknown> = {}
  for (const [name, value] of NAMED) {
    const own = state[name]
    if (own !== value && !isEmpty(own)) notes[name] = own
  }
  return notes
}

function isEmpty(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  for (const _ in value) return false
  return true
}

/** Undefined: it is not what Plimsoll wrote. */
export function readPollState(stored: Buffer): PollState | undefined {
  const text = stored.toString('utf8', TEXT_AT)
  if (stored.toString('latin1', CHECKSUM_AT, TEXT_AT) !== `${checksum(stored.subarray(TEXT_AT))} `) return undefined
  const end = text.indexOf('\n')
  const notes = JSON.parse(end === -1 ? text : text.slice(0, end)) as Partial<typeof NO_NOTES>
  const readings = StoredReadings.read(end === -1 ? undefined : text.slice(end + 1), notes.polledAt ?? 0)
  const state: PollState = { ...NO_NOTES, ...notes, isInterrupted: false, readings }
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
