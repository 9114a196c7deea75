import type { ProviderFailure } from '../../provider/failure.ts'
import type { ReportGaps } from '../../provider/read.ts'
import { type Fetched, isFailure, reportOfKey, wordsOfKey } from '../readings.ts'
import type { Answers } from './fetch-reports.ts'

/** What one poll shows about its account: readable, refused, failing. */
export interface PollOutcome {
  readAnything: boolean
  /** Every report that there is to be was read by this poll. */
  readAll: boolean
  /** Calls that failed. A refusal for want of a scope is not among them: it is an answer, and trying again is no use. */
  failures: ProviderFailure[]
  refused: Refused | undefined
}

/** What the provider doesn't show, because a scope was not granted. */
export interface Refused {
  /** Reports, in words. */
  what: string[]
  /** Scopes that would do, as the provider names them: it may be wrong. */
  scopes: string[]
}

/** What is known of earlier polls; times in ms, 0 = not so. */
export interface PollRecord {
  pollFailures: number
  pollFailingSince: number
  pollBlockedSince: number
}

/** More are of no use, and the words are a stranger's. */
const MOST_SCOPES = 20
const SCOPE = /^[\w.:-]{1,80}$/

export function outcomeOf(answers: Pick<Answers, 'reports' | 'failures'>): PollOutcome {
  const missing = [...answers.reports].flatMap(([key, report]) =>
    isFailure(report) ? [{ what: reportOfKey(key)?.report.words ?? key, failure: report }] : [],
  )
  const refusals = missing.filter(({ failure }) => failure.class === 'forbidden')
  return {
    // An account may lack all that is asked for: that was read then.
    readAnything: missing.length === 0 || missing.length < answers.reports.size,
    readAll: missing.length === 0,
    failures: answers.failures.filter((failure) => failure.class !== 'forbidden'),
    refused: refusals.length === 0 ? undefined : refusedOf(refusals),
  }
}

function refusedOf(refusals: { what: string; failure: ProviderFailure }[]): Refused {
  const scopes = new Set(refusals.flatMap(({ failure }) => failure.scopes ?? []).filter((scope) => SCOPE.test(scope)))
  return { what: [...new Set(refusals.map(({ what }) => what))], scopes: [...scopes].slice(0, MOST_SCOPES) }
}

/** How many polls have failed in a row with this one, and since when. */
export function failingAfter(before: PollRecord, { failures }: PollOutcome, now: number) {
  if (failures.length === 0) return { count: 0, since: 0 }
  // What began in the future was noted by a clock that was set back since.
  const isKnown = before.pollFailingSince !== 0 && before.pollFailingSince <= now
  return { count: before.pollFailures + 1, since: isKnown ? before.pollFailingSince : now }
}

/** Fewer failed polls than that are weak evidence, however long an account's period is. */
const LEAST_TURNS = 2

/** When polls of an account that fail since `since` become an alert: they have failed for two periods, or longer. */
export function failingAlertAt(since: number, everyMs: number, alertAfterMs: number): number {
  return since + Math.max(LEAST_TURNS * everyMs, alertAfterMs)
}

/** The fields of the account's record that follow from a poll ('' takes one away). `readAt`: undefined = nothing was. */
export function recordFields(
  before: PollRecord,
  outcome: PollOutcome,
  readAt: number | undefined,
  now: number,
): Record<string, string> {
  return {
    ...(readAt === undefined ? {} : { polledAt: String(readAt) }),
    ...failureFields(before, outcome, now),
    ...blockedFields(before, outcome, now),
  }
}

function failureFields(before: PollRecord, outcome: PollOutcome, now: number): Record<string, string> {
  const [failure] = outcome.failures
  if (failure === undefined) {
    // Mostly there is nothing to take away.
    if (before.pollFailures === 0 && before.pollFailingSince === 0) return {}
    return { pollFailures: '', pollFailureReason: '', pollFailureAt: '', pollFailingSince: '' }
  }
  const { count, since } = failingAfter(before, outcome, now)
  return {
    ...{ pollFailures: String(count), pollFailureReason: failure.message },
    ...{ pollFailureAt: String(now), pollFailingSince: String(since) },
  }
}

function blockedFields(
  { pollBlockedSince }: PollRecord,
  { refused, failures, readAnything }: PollOutcome,
  now: number,
): Record<string, string> {
  // What failed may have been refused as well: nothing new is known of the rest.
  if (failures.length > 0 && (refused === undefined || pollBlockedSince > 0)) return {}
  if (refused === undefined) {
    return pollBlockedSince === 0 ? {} : { pollBlocked: '', pollBlockedSince: '', pollBlockedScopes: '' }
  }
  return {
    pollBlocked: readAnything || failures.length > 0 ? 'part' : 'all',
    pollBlockedSince: String(pollBlockedSince > 0 ? pollBlockedSince : now),
    pollBlockedScopes: refused.scopes.join(' '),
  }
}

/** Of the reports with gaps: an account may have hundreds of them, and one odd answer is mostly odd in all. */
const MOST_REPORTS = 10

/** What is known from now on: of a report that was not read now, what was known of it before. */
export function gapsAfter(before: ReportGaps, { reports }: Pick<Fetched, 'reports'>): ReportGaps {
  const gaps: Record<string, readonly string[]> = {}
  for (const [key, report] of reports) {
    const name = wordsOfKey(key)
    const found = isFailure(report) ? before[name] : report.gaps
    if (found !== undefined && Object.keys(gaps).length < MOST_REPORTS) gaps[name] = found
  }
  return gaps
}

/** How many of these reports have gaps. */
export function reportsWithGaps({ reports }: Pick<Fetched, 'reports'>): number {
  return [...reports.values()].filter((report) => !isFailure(report) && report.gaps !== undefined).length
}
