import type { ProviderFailure } from '../../provider/failure.ts'
import type { ReportGaps } from '../../provider/read.ts'
import type { PollFailure, PollState } from '../poll-state.ts'
import { failuresOf, isFailure, NOT_ASKED, type Reports, reportOfKey, wordsOfKey } from '../readings.ts'
import type { Answers } from './answers.ts'

/** Outcome of one poll for its account: readable, refused, failing. */
export interface PollOutcome {
  readAnything: boolean
  /** Every report that there is to be was read by this poll. */
  readAll: boolean
  /** Calls that failed. A missing scope is not among them: that is an answer, and a retry is useless. */
  failures: ProviderFailure[]
  /** Set where calls failed, but a part was read. */
  partly?: PollFailure['partly']
  refused: Refused | undefined
  /** Reports that the account does not have, in words. */
  lacking: string[]
}

/** Reports that the provider doesn't show, because a scope was not granted. */
export interface Refused {
  /** Reports, in words. */
  what: string[]
  /** Scopes that would do, as the provider names them: it may be wrong. */
  scopes: string[]
}

/** Outcome of earlier polls. */
export type PollRecord = Pick<PollState, 'failing' | 'blocked'>

/** Most scopes that are kept: more are of no use, and the words come from outside. */
const MOST_SCOPES = 20
const SCOPE = /^[\w.:-]{1,80}$/

export function outcomeOf(
  reports: Reports,
  { troubles, notAvailable }: Pick<Answers, 'troubles' | 'notAvailable'>,
): PollOutcome {
  const missing = [...reports].flatMap(([key, report]) =>
    isFailure(report) ? [{ what: reportOfKey(key)?.report.words ?? key, failure: report }] : [],
  )
  const failures = [...failuresOf(reports.values()), ...troubles].filter((failure) => failure.class !== 'forbidden')
  // An account may lack all that is asked for: that was read then.
  const readAnything = missing.length === 0 || missing.length < reports.size
  const refusals = missing.filter(({ failure }) => failure.class === 'forbidden')
  return {
    readAnything,
    readAll: missing.length === 0,
    failures,
    ...(readAnything && failures.length > 0 && { partly: partlyRead(reports) }),
    refused: refusals.length === 0 ? undefined : refusedOf(refusals),
    lacking: Object.keys(notAvailable).map((name) => reportOfKey(name)?.report.words ?? name),
  }
}

function partlyRead(reports: Reports): PollFailure['partly'] {
  const namesOf = (isMeant: (report: object) => boolean) => [
    ...new Set([...reports].flatMap(([key, report]) => (isMeant(report) ? (reportOfKey(key)?.report.name ?? []) : []))),
  ]
  const hasFailed = (report: object) => isFailure(report) && report !== NOT_ASKED && report.class !== 'forbidden'
  return { unread: namesOf(hasFailed), read: namesOf((report) => !isFailure(report)) }
}

function refusedOf(refusals: { what: string; failure: ProviderFailure }[]): Refused {
  const scopes = new Set(refusals.flatMap(({ failure }) => failure.scopes ?? []).filter((scope) => SCOPE.test(scope)))
  return { what: [...new Set(refusals.map(({ what }) => what))], scopes: [...scopes].slice(0, MOST_SCOPES) }
}

/** The polls that have failed in a row with this one; undefined: this one did not. */
export function failingAfter(
  { failing }: PollRecord,
  { failures: [failure], partly }: PollOutcome,
  now: number,
): PollFailure | undefined {
  if (failure === undefined) return undefined
  const since = failing?.since ?? now
  return { count: (failing?.count ?? 0) + 1, reason: failure.message, at: now, since, ...(partly && { partly }) }
}

/** Fewer failed polls than that are weak evidence, however long an account's period is. */
const LEAST_TURNS = 2

/** Moment at which failing polls of an account become an alert: they have failed for two periods, or longer. */
export function failingAlertAt(since: number, everyMs: number, alertAfterMs: number): number {
  return since + Math.max(LEAST_TURNS * everyMs, alertAfterMs)
}

/** Troubles of an account's polls after this one. */
export function troublesAfter(before: PollRecord, outcome: PollOutcome, now: number): PollRecord {
  return { failing: failingAfter(before, outcome, now), blocked: blockedAfter(before, outcome, now) }
}

function blockedAfter(
  { blocked }: PollRecord,
  { refused, failures, readAnything }: PollOutcome,
  now: number,
): PollRecord['blocked'] {
  // A failed report may have been refused as well: nothing new is known of the rest.
  if (failures.length > 0 && (refused === undefined || blocked !== undefined)) return blocked
  if (refused === undefined) return undefined
  const what = readAnything || failures.length > 0 ? 'part' : 'all'
  return { what, since: blocked?.since ?? now, scopes: refused.scopes }
}

/** Most reports whose gaps are kept: an account may have hundreds of them, and one odd answer is mostly odd in all. */
const MOST_REPORTS = 10

/** Gaps after a poll: those of a report that was not read now stay. */
export function gapsAfter(before: ReportGaps, reports: Reports): ReportGaps {
  const gaps: Record<string, readonly string[]> = {}
  for (const [key, report] of reports) {
    const name = wordsOfKey(key)
    const found = isFailure(report) ? before[name] : report.gaps
    if (found !== undefined && Object.keys(gaps).length < MOST_REPORTS) gaps[name] = found
  }
  return gaps
}

/** How many of these reports have gaps. */
export function reportsWithGaps(reports: Reports): number {
  return [...reports.values()].filter((report) => !isFailure(report) && report.gaps !== undefined).length
}
