import type { BucketUse } from '../../provider/bucket-use.ts'
import { classifyError } from '../../provider/classify.ts'
import type { ProviderFailure } from '../../provider/failure.ts'
import { parseJson } from '../../provider/read.ts'
import { ANSWER_DIGEST, answerDigests } from '../digest.ts'
import type { Pair } from '../pair.ts'
import type { PollState } from '../poll-state.ts'
import { isFailure, type Reports, reportOfKey, sameValues } from '../readings.ts'
import type { ReadReport, Report } from '../reports/report.ts'
import type { RecordChoice } from '../samples.ts'
import type { CallsMade } from './call-share.ts'
import type { UnconfirmedRefusals } from './refusals.ts'

/** An answer: its bytes, since a poll may know these already; or what was read in it where the next calls hang on that. */
export type ReportAnswer = Buffer | ReadReport | ProviderFailure

/** The answers to one poll. */
export interface Answers {
  /** Begin of the poll, ms. */
  at: number
  /** In their order. */
  reports: ReadonlyMap<string, ReportAnswer>
  /** Digests of answers that are all still bytes; undefined where not all came, or some were read already. */
  digests: string | undefined
  /** Calls that the account's next poll counts. */
  calls: CallsMade | undefined
  bucketUse: BucketUse
  /**
   * Failures of the companions, and a pause where calls were left out: other reasons why the readings are not whole.
   */
  troubles: readonly ProviderFailure[]
  /** Reports that the account does not have, with the moment until which they are not asked for, ms since 1970. */
  notAvailable: Readonly<Record<string, number>>
  /** Refusals that later polls have to confirm. */
  unconfirmed: UnconfirmedRefusals
  /** No call for this account before, ms since 1970. */
  pausedUntil: number | undefined
  /** With `auto`: a pair that has not been read by now had nothing at or near its limit, by the companions' answers. */
  allPairsRead: boolean
  /** The provider was found to have no companion endpoints: not to be asked before, ms since 1970. */
  companionsAwayUntil: number | undefined
}

/** An unreadable report is a failure of that report. */
export function readAnswers({ reports }: Answers): Reports {
  return new Map(Array.from(reports, ([key, answer]) => [key, readReport(key, answer)] as const))
}

export function readReport(key: string, answer: ReportAnswer): ReadReport | ProviderFailure {
  if (!Buffer.isBuffer(answer)) return answer
  try {
    const { report, pair } = reportOfKey(key) as { report: Report; pair: Pair }
    return report.read(parseJson(answer), pair)
  } catch (error) {
    return classifyError(error)
  }
}

/**
 * The same, where an answer of the same bytes as last time is neither parsed nor compared: its values are those that are
 * kept. Undefined: all have to be read. Records of all reports are stored together, and a gap hides what was there before.
 */
export function readChangedAnswers(state: PollState, answers: Answers, choice: RecordChoice): Reports | undefined {
  const kept = state.readings.all
  const reports = new Map<string, ReadReport>()
  if (kept === undefined || answers.digests?.length !== state.digests.length) return undefined
  for (const [key, answer] of answers.reports) {
    const place = reports.size * ANSWER_DIGEST
    const before = kept[key]
    if (before === undefined) return undefined
    const leftOut = reportOfKey(key)?.report.namesTypes ? state.typesLeftOut : 0
    const asBefore = { values: before.values, leftOut, isAsBefore: true as const }
    if (isSameAt(place, answers.digests, state.digests)) {
      reports.set(key, asBefore)
      continue
    }
    const report = readReport(key, answer)
    if (isFailure(report) || report.gaps !== undefined || report.isPartial) return undefined
    const records = state.records?.digests ?? NO_RECORDS.repeat(answers.reports.size)
    if (!isSameAt(0, recordsDigest(key, report, choice), records.slice(place))) return undefined
    const isSame = (report.leftOut ?? 0) === leftOut && sameValues(report.values, before.values)
    reports.set(key, isSame ? asBefore : report)
  }
  return reports
}

/** True where nothing moved in any report. */
export function areAsBefore(reports: Reports): boolean {
  for (const report of reports.values()) if (isFailure(report) || report.isAsBefore !== true) return false
  return true
}

function isSameAt(place: number, one: string, other: string): boolean {
  return one.slice(place, place + ANSWER_DIGEST) === other.slice(place, place + ANSWER_DIGEST)
}

const NO_RECORDS = '-'.repeat(ANSWER_DIGEST)

/** Digests of the records of each report, as far as they may be kept, and of where they are kept. */
export function recordDigests(reports: Reports, choice: RecordChoice): string {
  let digests = ''
  for (const [key, report] of reports) if (!isFailure(report)) digests += recordsDigest(key, report, choice)
  return digests
}

function recordsDigest(key: string, { records: shown }: ReadReport, choice: RecordChoice): string {
  if (choice === 'none' || shown === undefined) return NO_RECORDS
  let text = `${choice}\0${key}`
  for (const { objectId, label } of shown.atLimit) text += `\0${objectId}\0${choice === 'full' ? label : ''}`
  text += '\0near'
  for (const { objectId, label, usage } of shown.nearLimit) {
    text += `\0${objectId}\0${usage}\0${choice === 'full' ? label : ''}`
  }
  return answerDigests([text])
}
