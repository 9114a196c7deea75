import type { StoredBucketUse } from '../../provider/bucket-use.ts'
import type { ReportGaps } from '../../provider/read.ts'
import type { CallsMade } from '../polling/call-share.ts'
import type { UnconfirmedRefusals } from '../polling/confirm-refusal.ts'
import type { PollTurn } from '../polling/poll-turn.ts'

/**
 * The state of an account's polls beside its numbers: for the next poll to start from, and for pages to show. It is
 * read and written whole, with the account's claim. Moments are ms since 1970; 0 = never.
 */
export interface Watch {
  /** Moment of the last reading. */
  polledAt: number
  /** Moment of the last poll that found a number changed. */
  changedAt: number
  /** Why it is polled next, and when its regular turn is; undefined where none was planned yet. */
  turn: PollTurn | undefined
  /** Polls that failed in a row, wholly or in part; undefined: the last one did not. */
  failing: PollFailure | undefined
  /** Reports that no scope lets be read. */
  blocked: PollBlocked | undefined
  /** Object types that the last report named beyond what is kept of one account. */
  typesLeftOut: number
  /** Fields of the last reports that could not be read. */
  gaps: ReportGaps
  /** Reports that its plan, or its scopes, lack: until when they are not asked for. */
  notAvailable: Readonly<Record<string, number>>
  /** Refusals that later polls have to confirm. */
  unconfirmed: UnconfirmedRefusals
  /** With automatic pairs: until when the provider is known to have no companion endpoints. */
  companionsAwayUntil: number
  /** With automatic pairs: one that was not read before had nothing at or near its limit. */
  allPairsRead: boolean
  /** True where it was logged already that a reported percentage disagrees. */
  disagreed: boolean
  /** Use of its bucket of calls. */
  bucket: StoredBucketUse | undefined
  /** Fingerprints of the last poll, if it read everything. */
  seen: Fingerprints | undefined
  /** True where an alert that polls judge is open or pending: else its states need no reading. */
  hasAlerts: boolean
  /** The records behind the numbers that are kept; undefined: none. */
  records: StoredRecords | undefined
  /** The last calls, for its share of the provider's bucket. */
  calls: CallsMade | undefined
}

/**
 * Fingerprints of an account's last poll: nine in ten of a fleet's answers are unchanged, and an unchanged one needs no
 * parsing, no comparing and no judging, which are most of a poll. Only a poll that read everything it asked for stores
 * them, so that all readings have one age.
 *
 * Fingerprints are cut short. Two that differ collide less than once in 10^10 changes, and only until the next one.
 */
export interface Fingerprints {
  /** Fingerprints of the bytes of each answer, in the order of the readings. */
  answers: string
  /** Fingerprints of the records in each, as far as they may be kept. */
  records: string
  /**
   * Fingerprint of all that the judgement rests on beside the numbers; `NOT_JUDGED` where it has to be made at every
   * poll.
   */
  judged: string
}

export interface PollFailure {
  count: number
  reason: string
  /** The last one. */
  at: number
  since: number
  /** Reports by their names, where the last poll read a part; one of many pairs may be in both. Absent: it read nothing. */
  partly?: { unread: string[]; read: string[] }
}

export interface PollBlocked {
  what: 'all' | 'part'
  since: number
  /** Scopes that would do, by the provider's answer, which may be wrong. */
  scopes: string[]
}

/** A poll that finds them as they were does not touch them. */
export interface StoredRecords {
  /** Moment of the last reading, also of records that were packed before. */
  readAt: number
  /** Moment at which they expire. */
  until: number
}

/** Watch of an account that was never polled. */
export const NEW_WATCH: Watch = {
  polledAt: 0,
  changedAt: 0,
  turn: undefined,
  failing: undefined,
  blocked: undefined,
  typesLeftOut: 0,
  gaps: {},
  notAvailable: {},
  unconfirmed: {},
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
  const troubles = { failing: undefined, blocked: undefined, turn: undefined, seen: undefined }
  return { ...watch, ...troubles, notAvailable: {}, unconfirmed: {}, companionsAwayUntil: 0 }
}
