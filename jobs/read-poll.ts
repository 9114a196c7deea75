import type { AlertSettings } from '../src/alerts/evaluation/decide.ts'
import { isJudgedAlike, needsNoJudging, type Watched } from '../src/alerts/evaluation/judged-by.ts'
import type { PollAnnouncer } from '../src/alerts/kinds/poll-alert.ts'
import type { CoverageSettings } from '../src/limits/coverage.ts'
import { PRINT, recordsFingerprint } from '../src/limits/fingerprints.ts'
import { packedAt } from '../src/limits/history/packed-bytes.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import type { Begun } from '../src/limits/poll-store.ts'
import type { ShareSettings } from '../src/limits/polling/call-share.ts'
import { type Answers, type RawReport, readAnswers, readRawReport } from '../src/limits/polling/fetch-reports.ts'
import { outcomeOf, type PollOutcome, reportsWithGaps } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { isFailure, type Reading, reportOfKey } from '../src/limits/readings.ts'
import type { ReadReport, ReportedValue } from '../src/limits/reports/report.ts'
import type { RecordChoice, SampleSettings } from '../src/limits/samples.ts'
import type { Fingerprints, Watch } from '../src/limits/watch/watch.ts'
import type { PollWork } from './job-deps.ts'

/** Settings that polls are decided by, and texts made from them. */
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
  answers: Answers<RawReport>
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
  /** Fingerprints for the next poll: only a poll that read everything has them. */
  saw: Omit<Fingerprints, 'judged'> | undefined
}

/** Readings that are further apart than so many periods have a gap between them. */
const GAP_PERIODS = 2

/** Reads what may be new in the answers; all of them where what was known of the account does not rest. */
export function readPoll(rules: PollRules, made: MadePoll): ReadPoll {
  const { begun, answers } = made
  const { seen } = begun.watch
  if (seen !== undefined && answers.fingerprint !== undefined && isAtRest(rules, made)) {
    if (answers.fingerprint === seen.answers) return { ...made, is: 'at rest', seen }
    const reports = readChanged(made, seen, rules.samples.records)
    const saw = { answers: answers.fingerprint, records: seen.records }
    // Other bytes may mean the same.
    if (reports !== undefined && areAsBefore(reports)) return { ...made, is: 'at rest', seen: { ...seen, ...saw } }
    if (reports !== undefined) return anew(made, { ...answers, reports }, saw)
  }
  const read = readAnswers(answers)
  const poll = anew(made, read, undefined)
  // A report with gaps is judged beside the last one, and must be read anew next time.
  if (!poll.outcome.readAll || reportsWithGaps(read) > 0 || answers.fingerprint === undefined) return poll
  return { ...poll, saw: { answers: answers.fingerprint, records: recordsOf(read, rules.samples.records) } }
}

function anew(made: MadePoll, read: Answers, saw: Anew['saw']): MadePoll & Anew {
  return { ...made, is: 'anew', read, outcome: outcomeOf(read), saw }
}

function recordsOf({ reports }: Answers, choice: RecordChoice): string {
  let prints = ''
  for (const [key, report] of reports) if (!isFailure(report)) prints += recordsFingerprint(key, report, choice)
  return prints
}

function areAsBefore(reports: ReadonlyMap<string, ReadReport>): boolean {
  for (const { isAsBefore } of reports.values()) if (isAsBefore === undefined) return false
  return true
}

/**
 * Only the answers whose bytes are other ones are read, and of those only what moved is more than the numbers that are kept.
 * Undefined: all have to be read, as records are kept of all reports together, and a gap hides what was there before.
 */
function readChanged(
  { begun: { watch, readings }, answers: { reports, fingerprint = '' } }: MadePoll,
  seen: Fingerprints,
  choice: RecordChoice,
): ReadonlyMap<string, ReadReport> | undefined {
  const kept = readings.unpacked()
  const read = new Map<string, ReadReport>()
  if (kept === undefined || seen.answers.length !== fingerprint.length) return undefined
  for (const [key, raw] of reports) {
    const place = read.size * PRINT
    const printIn = (prints: string) => prints.slice(place, place + PRINT)
    const before = kept[key]
    if (before === undefined) return undefined
    const report = printIn(fingerprint) === printIn(seen.answers) ? undefined : readRawReport(key, raw)
    if (report !== undefined) {
      if (isFailure(report) || report.gaps !== undefined || report.isPartial) return undefined
      if (recordsFingerprint(key, report, choice) !== printIn(seen.records)) return undefined
    }
    const asBefore = asKept(before, reportOfKey(key)?.report.namesTypes ? watch.typesLeftOut : 0)
    const isNew = report !== undefined && (!isSaidBefore(report, asBefore) || disagreesNow(watch, key, report))
    read.set(key, isNew ? report : asBefore)
  }
  return read
}

/** A record's percentage: it is in no fingerprint, and logged once. */
function disagreesNow({ disagreed }: Watch, key: string, report: ReadReport): boolean {
  return !disagreed && disagreeingPercentage({}, { reports: new Map([[key, report]]) }) !== undefined
}

function asKept({ values }: Reading, leftOut: number): ReadReport {
  return { values, leftOut, isAsBefore: true }
}

function isSaidBefore({ values, leftOut = 0 }: ReadReport, before: ReadReport): boolean {
  if (leftOut !== before.leftOut || values.length !== before.values.length) return false
  return values.every((value, n) => isSame(value, before.values[n]))
}

function isSame(one: ReportedValue, other: ReportedValue | undefined): boolean {
  return (
    one.usage === other?.usage &&
    one.limit === other.limit &&
    one.metric === other.metric &&
    one.objectTypeId === other.objectTypeId &&
    one.from === other.from &&
    one.to === other.to &&
    one.label === other.label &&
    one.reported === other.reported
  )
}

/** True where an unchanged poll adds nothing but its moment. */
function isAtRest({ alerts, samples }: PollRules, { begun, settings, at }: MadePoll): boolean {
  const { watch } = begun
  // The history records a gap.
  if (at - watch.polledAt > gapOf(settings)) return false
  // Records that are gone are stored anew.
  const keepsRecords = samples.records !== 'none' && settings.pairs.length > 0
  const hasRecords = watch.records !== undefined && watch.records.until > at
  return (
    hasRecords === keepsRecords &&
    needsNoJudging(alerts, begun, at) &&
    isAsJudged({ alerts, samples }, begun, settings, at)
  )
}

/** True where unchanged values need no judging: the last poll judged them the same way. */
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

/** The reports and pairs of an account's polls, and the record choice. */
export function watchedBy({ records }: SampleSettings, { reports, pairs }: AccountPollSettings): Watched {
  return { reports, pairs, records }
}
