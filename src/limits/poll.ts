import type { StoredBucketUse } from '../provider/bucket-use.ts'
import type { AccountState } from '../redis/keys.ts'
import type { AlertWrites } from '../redis/steps.ts'
import type { Logger } from '../runtime/logger.ts'
import type { StoredAccess } from '../tokens/stored-access.ts'
import type { CoverageSettings } from './coverage.ts'
import type { AccountForecasts } from './forecast/stored-forecasts.ts'
import type { Change } from './history/change.ts'
import type { PollState } from './poll-state.ts'
import type { Answers } from './polling/answers.ts'
import type { Boundaries } from './polling/plan-poll.ts'
import type { PollOutcome } from './polling/poll-outcome.ts'
import type { AccountPollSettings } from './polling/poll-settings.ts'
import type { Readings } from './readings.ts'
import type { SampleSettings, Samples } from './samples.ts'
import type { Series } from './series.ts'

/** An account as its poll starts from it. */
export interface LoadedAccount {
  hubId: number
  hubDomain: string
  /** Undefined: it has none, or none that can be read. */
  access: StoredAccess | undefined
  state: PollState
  /** Stored forecasts; '' = there are none. */
  forecasts: string
  /** Until when no call is made for the account, ms; 0 = there is no pause. */
  pausedUntil: number
  /** States of the account's alerts as stored, by series; none are read of an account that has none. */
  alertStates: Record<string, string>
  /** Fields of its record; not read for an account that was polled just before. */
  record: { state: AccountState; version: string; metadataDue: boolean } | undefined
}

export interface LastRefresh {
  at: number
  failure: { class: string; reason: string } | undefined
}

/** A poll whose calls were made, and the account as it was loaded before. */
export interface MadePoll {
  account: LoadedAccount
  settings: AccountPollSettings
  answers: Answers
  /** Never before the poll that came before, even if this machine's clock was set back. */
  at: number
  /** But the next one counts from when it really was. */
  readAt: number
  /** Only a poll of which not everything was read needs them. */
  facts?: PollFacts
}

export interface PollFacts {
  /** Records that were kept before. */
  samples: Samples
  refreshes: LastRefresh
  /** So many accounts fail that the fleet's alert speaks for them. */
  isFleetTrouble: boolean
}

/** Settings that polls are decided by. */
export interface PollRules {
  samples: SampleSettings
  coverage: CoverageSettings
  /** How long polls of an account must fail before an alert opens, ms. */
  alertAfter: number
  judge: PollJudge
}

/** The judgement on a poll, by rules of alerts: these are above this room, and are handed in. */
export interface PollJudge {
  /** Digest of the settings that it goes by. */
  settings: string
  /** The bucket moves at almost every poll, and is judged apart from the values that did not. */
  judgeBucket: (poll: MadePoll, bucket: StoredBucketUse | undefined) => AlertWrites
  judge: (poll: MadePoll, read: PollToJudge) => PollJudgement
}

export interface PollToJudge {
  now: number
  outcome: PollOutcome
  bucket: StoredBucketUse | undefined
  /** Undefined: nothing was read. */
  found: FoundReadings | undefined
  /** The records that this poll was shown. */
  samples: Samples
  forecasts: AccountForecasts | undefined
  /** Polls have failed for so long with this one that an alert opens. */
  failsForLong: boolean
  /** The provider moves the account: its token is not to be refreshed before, ms. */
  parkedUntil: number | undefined
}

export interface PollJudgement {
  alerts: AlertWrites
  /** States of the account's alerts from now on. */
  states: Readonly<Record<string, string>>
  boundaries: (series: readonly Series[]) => Boundaries
  /** The first moment at which the same numbers may be judged in another way, ms; 0: at the next poll. */
  restUntil: number
}

/** Readings of a poll, beside those of before. */
export interface FoundReadings {
  before: Readings | undefined
  after: Readings
  change: Change | undefined
}

/** All that follows from a poll, to be committed. */
export interface NextPoll {
  outcome: 'committed' | 'failed' | 'blocked'
  state: PollState
  nextAt: number
  /** Moment from which the account counts as read, ms; undefined: nothing was read. */
  freshAt: number | undefined
  /** Undefined: it left all else as it was. */
  more: PollChanges | undefined
  /** Reports that had gaps. */
  gaps: number
  /** For after the commit. */
  lines: readonly PollLine[]
}

/** Writes that only some polls have. */
export interface PollChanges {
  alerts: AlertWrites
  /** For the history. Undefined: nothing changed. */
  change?: Change | undefined
  /** Undefined: they stay as they are; they expire at `state.records.until`. */
  samples?: Samples | undefined
  /** How near its nearest limit is. Undefined: unchanged. */
  nearness?: number | 'none' | undefined
  /** Moment since which its polls fail, ms; `over`: they work again. Undefined: unchanged. */
  failingSince?: number | 'over' | undefined
  /** No scope lets anything be read: it is no gap in what is read. */
  isBlocked?: true | undefined
  /** The account waited for its first reading. */
  isFirst?: true | undefined
  /** Moment until which its tokens are left alone, ms. */
  parkedUntil?: number | undefined
}

/** A line for the log, once the poll is committed. Made at once: what it is made from is far larger. */
export type PollLine = [level: 'info' | 'warn', fields: Parameters<Logger['info']>[0], text: string]
