import type { StoredBucketUse } from '../provider/bucket-use.ts'
import type { ReportGaps } from '../provider/read.ts'
import type { CallsMade } from './polling/account-calls.ts'
import type { UnconfirmedRefusals } from './polling/refusals.ts'
import type { StoredReadings } from './stored-readings.ts'

/**
 * All that polls know of an account: for the next poll to start from, and for pages to show. It is one value, read and
 * written whole with the account's claim. Moments are ms since 1970; 0 = never.
 */
export interface PollState {
  /** Polling ended since, or its alerts were changed: nothing rests on the last poll. */
  isInterrupted: boolean
  readings: StoredReadings
  /** Digests of the last poll's answers, one behind the other; '' where not everything was read. */
  digests: string
  /** Digest of all that its judgement rests on beside the answers. */
  rules: string
  /** By the same answers and rules nothing is new before; 0: every poll is judged. */
  restUntil: number
  /** Moment of the last reading. */
  polledAt: number
  /** Why it is polled next, and when its regular turn is; undefined where none was planned yet. */
  turn: PollTurn | undefined
  /** Use of its bucket of calls. */
  bucket: StoredBucketUse | undefined
  /** The last calls, for its share of the provider's bucket. */
  calls: CallsMade | undefined
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
  /** False where the account has no alerts: then their states need no reading. */
  hasAlerts: boolean
  /** The records behind the numbers that are kept; undefined: none. */
  records: StoredRecords | undefined
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

export interface StoredRecords {
  /** Digests of the records of each report, in the order of the answers; '' where not everything was read. */
  digests: string
  /** How long before the account's last reading they were read, ms: at rest they are read with it. */
  age: number
  /** Moment at which they expire. */
  until: number
}

export type TurnLevel = 'warning' | 'critical'

/** A series is near the moment in which a level is entered or left. */
export interface NearThreshold {
  is: 'near'
  series: string
  usage: number
  limit: number | null
  level: TurnLevel
  move: 'enter' | 'leave'
  /** Quantity that the condition compares, and its value where the level is entered or left. */
  asks: 'percent' | 'count' | 'remaining'
  of: number
}

/**
 * Why an account is polled next when it is. Times are ms since 1970, series by their id.
 *
 * - `new`: its first polls: it gets a phase of its own.
 * - `still`: its regular turn.
 * - `failed`: the last poll failed.
 * - `told`: the provider's answer named how long to wait.
 */
export type TurnBecause = NearThreshold | { is: 'new' | 'still' | 'failed' | 'told' }

/** The next poll of an account beside its moment, which is in the due set. */
export interface PollTurn {
  /** Regular turn, ms; a poll before it is an early one. */
  regularAt: number
  because: TurnBecause
}

/** Notes on an account that was never polled. */
export const NO_NOTES: Omit<PollState, 'isInterrupted' | 'readings'> = {
  digests: '',
  rules: '',
  restUntil: 0,
  polledAt: 0,
  turn: undefined,
  bucket: undefined,
  calls: undefined,
  failing: undefined,
  blocked: undefined,
  typesLeftOut: 0,
  gaps: {},
  notAvailable: {},
  unconfirmed: {},
  companionsAwayUntil: 0,
  allPairsRead: false,
  hasAlerts: false,
  records: undefined,
}
