import type { AlertSettings } from '../src/alerts/evaluation/decide.ts'
import { isJudgedAlike, mayRest, type Watched } from '../src/alerts/evaluation/judged-by.ts'
import type { PollAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import type { CoverageSettings } from '../src/limits/coverage.ts'
import { recordsFingerprint, saidFingerprint } from '../src/limits/fingerprints.ts'
import { packedAt } from '../src/limits/history/packed-bytes.ts'
import type { Begun } from '../src/limits/poll-store.ts'
import type { ShareSettings } from '../src/limits/polling/call-share.ts'
import { type Answers, type HeardReport, readAnswers } from '../src/limits/polling/fetch-reports.ts'
import { outcomeOf, type PollOutcome, reportsWithGaps } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { failuresOf } from '../src/limits/readings.ts'
import type { SampleSettings } from '../src/limits/samples.ts'
import type { Fingerprints } from '../src/limits/watch/watch.ts'
import type { PollWork } from './job-deps.ts'

/** What polls are decided by: settings, and texts made from them. */
export interface PollRules {
  alerts: AlertSettings
  samples: SampleSettings
  share: ShareSettings
  coverage: CoverageSettings
  /** How long polls of an account must fail before an alert opens, ms. */
  alertAfter: number
  announcePoll: PollAnnouncer
  announce: Pick<PollWork['announce'], 'failing'>
}

/** A poll whose calls were made, and the account as it was when it began. */
export interface MadePoll {
  hubId: number
  begun: Begun
  settings: AccountPollSettings
  answers: Answers<HeardReport>
  /** Never before the poll that came before, even if this machine's clock was set back. */
  at: number
  /** But the next one counts from when it really was. */
  readAt: number
}

/** The same, its answers read as far as they have to be. */
export type ReadPoll = MadePoll & (AtRest | Anew)

/** Nothing can be new: of the answers no more is known, and no more is needed, than that. */
export interface AtRest {
  is: 'at rest'
  seen: Fingerprints
}

export interface Anew {
  is: 'anew'
  read: Answers
  outcome: PollOutcome
  /** What the next poll may go by: only a poll that read everything saw it. */
  saw: Omit<Fingerprints, 'judged'> | undefined
}

/** Readings that are further apart than so many periods have a gap between them. */
const GAP_PERIODS = 2

/** Reads the answers, unless they are the ones of the last poll and nothing follows from that. */
export function readPoll(rules: PollRules, made: MadePoll): ReadPoll {
  const { begun, answers } = made
  const { seen } = begun.watch
  const rests = () => seen !== undefined && isAtRest(rules, made)
  if (answers.fingerprint !== undefined && seen?.answers === answers.fingerprint && rests())
    return { ...made, is: 'at rest', seen }
  const read = readAnswers(answers)
  const outcome = outcomeOf(read)
  // A report with gaps is judged beside the last one, and must be read anew next time.
  const isWhole = outcome.readAll && reportsWithGaps(read) === 0 && answers.fingerprint !== undefined
  const said = isWhole ? saidFingerprint(read) : undefined
  // Other bytes may mean the same.
  if (said !== undefined && seen !== undefined && said === seen.said && rests())
    return { ...made, is: 'at rest', seen: { ...seen, answers: answers.fingerprint as string } }
  const records = () => recordsFingerprint(read, rules.samples.records)
  const saw = said === undefined ? undefined : { answers: answers.fingerprint as string, said, records: records() }
  return { ...made, is: 'anew', read, outcome, saw }
}

/** Whether a poll that sees what the last one saw has nothing to add but its moment. */
function isAtRest({ alerts, samples }: PollRules, { begun, settings, at }: MadePoll): boolean {
  const { watch } = begun
  // The history records a gap.
  if (at - watch.polledAt > gapOf(settings)) return false
  // Records that are gone are stored anew.
  const keepsRecords = samples.records !== 'none' && settings.pairs.length > 0
  const hasRecords = watch.records !== undefined && watch.records.until > at
  return (
    hasRecords === keepsRecords && mayRest(alerts, begun, at) && isAsJudged({ alerts, samples }, begun, settings, at)
  )
}

/** Whether what has not moved since the last poll needs no judgement: it has had the same one. */
export function isAsJudged(
  { alerts, samples }: Pick<PollRules, 'alerts' | 'samples'>,
  begun: Begun,
  settings: AccountPollSettings,
  at: number,
): boolean {
  const { packed } = begun.readings
  if (packed === undefined || packedAt(packed) !== begun.watch.polledAt) return false
  return isJudgedAlike(alerts, begun, watchedBy(samples, settings), at)
}

export function gapOf({ everyMs }: AccountPollSettings): number {
  return GAP_PERIODS * everyMs
}

/** What is asked of an account, and kept of it. */
export function watchedBy({ records }: SampleSettings, { reports, pairs }: AccountPollSettings): Watched {
  return { reports, pairs, records }
}

/** For the share of errors that is allowed: how many calls of a poll worked, and failed. A refusal for want of a scope is an answer. */
export function answeredCalls(poll: ReadPoll): { worked: number; failed: number } {
  if (poll.is === 'at rest') return { worked: poll.answers.calls.length, failed: 0 }
  const { reports, troubles, calls, failedCalls } = poll.read
  const refusals = [...failuresOf(reports.values()), ...troubles].filter(({ class: kind }) => kind === 'forbidden')
  const failed = failedCalls - refusals.length
  return { worked: calls.length - failed, failed }
}
