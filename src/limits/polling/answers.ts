import type { BucketUse } from '../../provider/bucket-use.ts'
import { classifyError } from '../../provider/classify.ts'
import type { ProviderFailure } from '../../provider/failure.ts'
import { parseJson } from '../../provider/read.ts'
import { DIGEST_LENGTH, digestsOf } from '../digest.ts'
import type { Pair } from '../pair.ts'
import type { PollState } from '../poll-state.ts'
import { isFailure, type Reports, reportOfKey } from '../readings.ts'
import type { ReadReport, Report } from '../reports/report.ts'
import type { RecordChoice } from '../samples.ts'
import { storedLine } from '../stored-readings.ts'
import type { CallsMade } from './account-calls.ts'
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
 * Reports in which something moved: an answer of the same bytes as last time is not parsed, and one whose stored line would
 * be the same is as it was. Undefined: all have to be read. Records of all reports are stored together, and a gap hides what was
 * there before.
 */
export function readChanged(
  { digests, records, typesLeftOut, readings }: PollState,
  answers: Answers,
  choice: RecordChoice,
): ReadonlyMap<string, ReadReport> | undefined {
  const { lines } = readings
  if (answers.digests?.length !== digests.length || lines.length !== answers.reports.size) return undefined
  const changed = new Map<string, ReadReport>()
  for (const [n, [key, answer]] of [...answers.reports].entries()) {
    const place = n * DIGEST_LENGTH
    if (isSameAt(place, answers.digests, digests)) continue
    const report = readReport(key, answer)
    if (isFailure(report) || report.gaps !== undefined || report.isPartial) return undefined
    const shown = records?.digests.slice(place, place + DIGEST_LENGTH) ?? NO_RECORDS
    if (recordsDigest(key, report, choice) !== shown) return undefined
    const hasMoreTypes = reportOfKey(key)?.report.namesTypes && (report.leftOut ?? 0) !== typesLeftOut
    if (hasMoreTypes || storedLine(key, report.values) !== lines[n]) changed.set(key, report)
  }
  return changed
}

/** The others are as they were. */
export function withUnchanged(
  changed: ReadonlyMap<string, ReadReport>,
  { readings, typesLeftOut }: PollState,
  { reports }: Answers,
): Reports {
  const kept = (key: string) => ({ values: readings.all?.[key]?.values ?? [], leftOut: typesLeftOut })
  return new Map(Array.from(reports.keys(), (key) => [key, changed.get(key) ?? kept(key)]))
}

function isSameAt(place: number, one: string, other: string): boolean {
  return one.slice(place, place + DIGEST_LENGTH) === other.slice(place, place + DIGEST_LENGTH)
}

const NO_RECORDS = '-'.repeat(DIGEST_LENGTH)

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
  return digestsOf([text])
}
