import type { StoredBucketUse } from '../../provider/bucket-use.ts'
import type { ReportGaps } from '../../provider/read.ts'
import type { CallsMade } from '../polling/call-share.ts'
import type { PollTurn } from '../polling/poll-turn.ts'

/**
 * What polls know of an account beside its numbers: what the next one starts from, and all that is shown of the last ones. It
 * is read and written whole, by whoever has the account's claim. Moments are ms since 1970; 0 = never.
 */
export interface Watch {
  /** When anything was last read. */
  polledAt: number
  /** When a poll last found a number changed. */
  changedAt: number
  /** Why it is polled next, and when its regular turn is; undefined where none was planned yet. */
  turn: PollTurn | undefined
  /** Polls that failed in a row, wholly or in part; undefined: the last one did not. */
  failing: PollFailure | undefined
  /** What no scope lets be read. */
  blocked: PollBlocked | undefined
  /** Object types that the last report named beyond what is kept of one account. */
  typesLeftOut: number
  /** What could not be read of the last reports. */
  gaps: ReportGaps
  /** Reports that its plan, or its scopes, lack: until when they are not asked for. */
  notAvailable: Readonly<Record<string, number>>
  /** With automatic pairs: until when the provider is known to have no companion endpoints. */
  companionsAwayUntil: number
  /** With automatic pairs: one that was not read before had nothing at or near its limit. */
  allPairsRead: boolean
  /** Whether it was logged already that a reported percentage disagrees. */
  disagreed: boolean
  /** What is left of its bucket of calls. */
  bucket: StoredBucketUse | undefined
  /** What the last poll saw, if it read everything. */
  seen: Fingerprints | undefined
  /** Whether any alert that polls judge is open or pending: what has none is not asked for its states. */
  hasAlerts: boolean
  /** The records behind the numbers that are kept; undefined: none. */
  records: StoredRecords | undefined
  /** Its last calls, for its share of the provider's bucket. */
  calls: CallsMade | undefined
}

/**
 * What the last poll of an account saw, as fingerprints: of a fleet's answers nine in ten are what they were, and one that
 * is needs no parsing, no comparing and no judging, which are most of a poll. It is only kept of a poll that read everything
 * it asked for, so that all readings have one age.
 *
 * They are cut short. That two differ and collide happens less than once in 10^10 changes, and only until the next one.
 */
export interface Fingerprints {
  /** Of the bytes of each answer, in the order of the readings. */
  answers: string
  /** Of the records in each, as far as they may be kept. */
  records: string
  /** Of all that the judgement rests on beside the numbers; `NOT_JUDGED` where it has to be made at every poll. */
  judged: string
}

export interface PollFailure {
  count: number
  reason: string
  /** The last one. */
  at: number
  since: number
}

export interface PollBlocked {
  what: 'all' | 'part'
  since: number
  /** They would do, by the provider's answer, which may be wrong. */
  scopes: string[]
}

/** A poll that finds them as they were does not touch them. */
export interface StoredRecords {
  /** When they were last read: that is the moment of those that were packed at another one. */
  readAt: number
  /** When they expire. */
  until: number
}

/** Of an account that was never polled. */
export const NEW_WATCH: Watch = {
  polledAt: 0,
  changedAt: 0,
  turn: undefined,
  failing: undefined,
  blocked: undefined,
  typesLeftOut: 0,
  gaps: {},
  notAvailable: {},
  companionsAwayUntil: 0,
  allPairsRead: false,
  disagreed: false,
  bucket: undefined,
  seen: undefined,
  hasAlerts: false,
  records: undefined,
  calls: undefined,
}

/** After a new grant: what went wrong with polls before says nothing about these. */
export function afterGrant(watch: Watch): Watch {
  const troubles = { failing: undefined, blocked: undefined, turn: undefined, notAvailable: {}, companionsAwayUntil: 0 }
  return { ...watch, ...troubles, seen: undefined }
}
