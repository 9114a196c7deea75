import { boundariesOf, statesAfter } from '../src/alerts/evaluation/boundaries.ts'
import { decideAlerts } from '../src/alerts/evaluation/decide.ts'
import { judgeBucket, withoutBucket } from '../src/alerts/evaluation/judge-bucket.ts'
import { hasPolledAlerts, judgedBy } from '../src/alerts/evaluation/judged-by.ts'
import { staleAfter } from '../src/limits/coverage.ts'
import { type Findings, type FoundSeries, findingsOf, foundSeries, NOTHING_NEW } from '../src/limits/findings.ts'
import { NOT_JUDGED } from '../src/limits/fingerprints.ts'
import { decodeForecasts } from '../src/limits/forecast/stored-forecasts.ts'
import type { Change } from '../src/limits/history/change.ts'
import { movedTo } from '../src/limits/history/packed-bytes.ts'
import { nearestLimit } from '../src/limits/nearest-limit.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import type { Begun, LastRefresh, PollChanges, PollResult } from '../src/limits/poll-store.ts'
import { callsAfter } from '../src/limits/polling/call-share.ts'
import type { Answers } from '../src/limits/polling/fetch-reports.ts'
import { type PollPlan, planAfterFailure, planPoll } from '../src/limits/polling/plan-poll.ts'
import { failingAfter, failingAlertAt, gapsAfter, troublesAfter } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { shortTurn } from '../src/limits/polling/poll-turn.ts'
import { isFailure, reportOfKey } from '../src/limits/readings.ts'
import type { ReadReport } from '../src/limits/reports/report.ts'
import { mergeSamples, type SampleSettings, type Samples } from '../src/limits/samples.ts'
import type { StoredRecords, Watch } from '../src/limits/watch/watch.ts'
import { useToStore } from '../src/provider/bucket-use.ts'
import { type AlertWrites, bothWrites, NO_ALERT_WRITES } from '../src/redis/steps.ts'
import { parkedUntil } from '../src/tokens/after-failure.ts'
import { linesOfDisagreement, linesOfGaps, linesOfTypes, linesOfTypesLeftOut, type PollLine } from './poll-logs.ts'
import {
  type Anew,
  type AtRest,
  gapOf,
  isAsJudged,
  type MadePoll,
  type PollRules,
  type ReadPoll,
  watchedBy,
} from './read-poll.ts'

/** Facts that Redis has to give for the decision about a few polls. */
export interface Facts {
  /** Records that were kept before. */
  samples: Samples
  refreshes: LastRefresh | undefined
  /** So many accounts fail that the fleet's alert speaks for them. */
  isFleetTrouble: boolean
}

export const NO_FACTS: Facts = { samples: {}, refreshes: undefined, isFleetTrouble: false }

/** The decision on a poll. */
export interface Decided {
  outcome: 'committed' | 'failed' | 'blocked'
  result: Omit<PollResult, 'hubId' | 'claim'>
  /** For after the commit. */
  lines: readonly PollLine[]
}

/** The facts that a poll's decision needs: the account's refreshes, the records that were kept, the fleet's alert. */
export function asksFor(rules: PollRules, poll: ReadPoll, now: number): { samples: boolean; failing: boolean } {
  if (poll.is === 'at rest') return { samples: false, failing: false }
  const { outcome } = poll
  const { records } = poll.begun.watch
  return {
    samples: outcome.readAnything && !outcome.readAll && records !== undefined,
    failing: failsForLong(rules, poll, now),
  }
}

/** Decides on a poll, and on the account's next one, from these values alone. */
export function decidePoll(rules: PollRules, poll: ReadPoll, facts: Facts, now: number): Decided {
  const bucket = useToStore(poll.begun.watch.bucket, poll.answers.bucketUse, poll.at)
  const calls = callsAfter(rules.share, poll.begun.watch.calls, poll.answers.calls)
  const both = { bucket, calls }
  return poll.is === 'at rest' ? stay(rules, poll, both) : decideAnew(rules, poll, { ...facts, ...both, now })
}

/** All is as it was, but read at another moment. */
function stay(rules: PollRules, poll: MadePoll & AtRest, both: Pick<Watch, 'bucket' | 'calls'>): Decided {
  const { begun, settings, answers, at, readAt, seen } = poll
  // The bucket moves at almost every poll, and is judged apart from the values that did not.
  const alerts = judgeBucket(rules.alerts, { ...poll, bucket: both.bucket })
  const { hubId } = poll
  const plan = planPoll({
    ...NOTHING_NEW,
    ...planned(poll, begun.watch.changedAt),
    hubId,
    at: readAt,
    boundaries: NONE,
  })
  const before = begun.watch.records
  const records = before && readAgain(before, rules.samples, at)
  const hasWritten = alerts.changes.length > 0 || alerts.entries.length > 0
  const states = statesAfter(begun.alertStates, alerts)
  const isLonger = records?.until !== before?.until
  const watch = { ...begun.watch, ...both, polledAt: at, turn: shortTurn(plan), records }
  return {
    outcome: 'committed',
    result: {
      nextAt: Math.max(plan.at, answers.pausedUntil ?? 0),
      freshAt: freshUntil(rules, settings, readAt),
      readings: begun.readings.packed && movedTo(begun.readings.packed, at),
      watch: hasWritten
        ? { ...watch, hasAlerts: hasPolledAlerts(states), seen: { ...seen, judged: judgement(rules, poll, states) } }
        : { ...watch, seen },
      more: hasWritten || isLonger ? { alerts, samples: isLonger ? 'kept for longer' : undefined } : undefined,
    },
    lines: [],
  }
}

const NONE = new Map()

function planned({ settings, begun }: MadePoll, changedAt: number) {
  const { everyMs, soonestMs } = settings
  return { everyMs, soonestMs, turn: begun.watch.turn, changedAt: changedAt === 0 ? null : changedAt }
}

/** Records that were read again, and are as they were: they are kept for their time from now on, to a tenth of it. */
function readAgain(records: StoredRecords, { keepMs }: SampleSettings, at: number): StoredRecords {
  return { readAt: at, until: records.until > at + 0.9 * keepMs ? records.until : at + keepMs }
}

/** One that is polled seldom stays fresh for longer. */
function freshUntil({ coverage }: PollRules, { everyMs }: AccountPollSettings, readAt: number): number {
  return readAt + staleAfter(coverage, everyMs) - coverage.freshnessMs
}

/** All facts, for a poll that may bring news. */
type Known = Facts & Pick<Watch, 'bucket' | 'calls'> & { now: number }

function decideAnew(rules: PollRules, poll: MadePoll & Anew, known: Known): Decided {
  const { hubId, begun, settings, read, outcome, saw, at, readAt } = poll
  const { watch } = begun
  const { now } = known
  const found = outcome.readAnything
    ? findingsOf({ readings: begun.readings.unpacked() }, { ...read, at }, gapOf(settings))
    : undefined
  const shown = found && mergeSamples(known.samples, { ...read, at }, rules.samples)
  const moved =
    found && isAsJudged(rules, begun, settings, at) ? new Set(found.change?.before.map(([id]) => id)) : undefined
  const parked = parkedBy(rules, poll, now)
  const alerts = bothWrites(judge(rules, poll, known, found && { ...found, moved }, shown ?? {}), parked.alerts)
  const states = statesAfter(begun.alertStates, alerts)
  const changedAt = hasMoved(found?.change) ? at : watch.changedAt
  const next = planNext(rules, poll, {
    found: found && foundSeries(found.before, found.after, moved),
    changedAt,
    states,
    known,
  })
  const records = recordsAfter(rules, poll, shown)
  const disagreement =
    watch.disagreed || found === undefined ? undefined : disagreeingPercentage(found.after, { reports: read.reports })
  const after: Watch = {
    ...watch,
    ...troublesAfter(watch, outcome, now),
    bucket: known.bucket,
    calls: known.calls,
    changedAt,
    turn: shortTurn(next.plan),
    polledAt: outcome.readAnything ? at : watch.polledAt,
    typesLeftOut: typesLeftOut(watch, read),
    gaps: gapsAfter(watch.gaps, read),
    notAvailable: read.notAvailable,
    unconfirmed: read.unconfirmed,
    companionsAwayUntil: read.companionsAwayUntil ?? watch.companionsAwayUntil,
    allPairsRead: watch.allPairsRead || read.allPairsRead,
    disagreed: watch.disagreed || disagreement !== undefined,
    hasAlerts: hasPolledAlerts(states),
    records: records.kept,
    // A series near a threshold is judged at every poll.
    seen: saw && { ...saw, judged: next.isNear ? NOT_JUDGED : judgement(rules, poll, states) },
  }
  return {
    outcome: outcome.readAnything ? 'committed' : outcome.failures.length > 0 ? 'failed' : 'blocked',
    result: {
      nextAt: Math.max(next.plan.at, read.pausedUntil ?? 0, parked.until ?? 0),
      freshAt: found && freshUntil(rules, settings, readAt),
      readings: found === undefined ? begun.readings.packed : found.packed.readings,
      watch: after,
      more: {
        alerts,
        record: found?.packed.record,
        samples: records.write,
        parkedUntil: parked.until,
        nearness: found && nearnessOf(found, begun, at),
        failingSince: failingSinceAfter(watch, after),
        isBlocked: after.blocked?.what === 'all' ? true : undefined,
        isFirst: mayBeFirst(begun) && (found !== undefined || after.blocked?.what === 'all') ? true : undefined,
      },
    },
    lines: [
      ...linesOfTroubles(poll),
      ...linesOfDisagreement(hubId, disagreement),
      ...(found === undefined ? [] : linesOfTypes(hubId, found.before, found.after)),
      ...linesOfGaps(hubId, watch.gaps, after.gaps),
      ...linesOfTypesLeftOut(hubId, watch.typesLeftOut, after.typesLeftOut),
    ],
  }
}

/** Nothing was read of it yet, or not since its grant. */
function mayBeFirst({ isInterrupted, watch }: Begun): boolean {
  return isInterrupted || watch.polledAt === 0 || watch.failing !== undefined
}

function failingSinceAfter(before: Watch, { failing }: Watch): PollChanges['failingSince'] {
  if (failing !== undefined) return failing.since
  return before.failing === undefined ? undefined : 'over'
}

/**
 * The records behind the numbers after a poll; `shown`: those that are kept from now on, undefined: nothing was read.
 */
function recordsAfter({ samples }: PollRules, { begun, read, saw, at }: MadePoll & Anew, shown: Samples | undefined) {
  const { records, seen } = begun.watch
  if (shown === undefined) return { kept: records, write: undefined }
  if (isPartlyAsBefore(read)) return recordsKept(records, samples, at)
  if (Object.keys(shown).length === 0) return { kept: undefined, write: records && shown }
  if (saw === undefined || saw.records !== seen?.records || records === undefined || records.until <= at) {
    const readAt = Object.values(shown).reduce((last, one) => Math.max(last, one.at), 0)
    return { kept: { readAt, until: at + samples.keepMs }, write: shown }
  }
  return recordsKept(records, samples, at)
}

function recordsKept(records: StoredRecords | undefined, samples: SampleSettings, at: number) {
  const kept = records && readAgain(records, samples, at)
  return { kept, write: kept?.until === records?.until ? undefined : ('kept for longer' as const) }
}

/** Records of all reports are kept together: some were not read because none of any moved. */
function isPartlyAsBefore({ reports }: Answers): boolean {
  for (const report of reports.values()) if (!isFailure(report) && report.isAsBefore) return true
  return false
}

/** By all that the judgement rests on beside the numbers. */
function judgement(
  { alerts, samples }: PollRules,
  { begun, settings }: MadePoll,
  states: Readonly<Record<string, string>>,
) {
  return judgedBy(alerts, begun, states, watchedBy(samples, settings))
}

/** The account's next poll, by its readings, their place among the thresholds, and its failures. */
function planNext(
  { alerts, alertAfter }: PollRules,
  poll: MadePoll & Anew,
  {
    found,
    changedAt,
    states,
    known,
  }: { found: FoundSeries | undefined; changedAt: number; states: Readonly<Record<string, string>>; known: Known },
): { plan: PollPlan; isNear: boolean } {
  const { hubId, begun, settings, outcome, readAt: at } = poll
  const { everyMs } = settings
  const { failing } = begun.watch
  const account = { hubId, hubDomain: begun.hubDomain, states }
  const plan =
    found &&
    planPoll({
      ...found,
      ...planned(poll, changedAt),
      hubId,
      at,
      boundaries: boundariesOf(alerts, account, found.series),
    })
  const isNear = plan?.isNear ?? false
  if (plan !== undefined && outcome.failures.length === 0) return { plan, isNear }
  const { now } = known
  const tellAt = failingAlertAt(Math.min(failing?.since ?? now, now), everyMs, alertAfter)
  const attempt = { count: failing?.count ?? 0, tellAt, now }
  return { plan: planAfterFailure({ hubId, at, everyMs }, outcome.failures, attempt, plan), isNear }
}

/** An account that moves to another data centre: its token is not to be refreshed before, and may end meanwhile. */
function parkedBy(
  { announce }: PollRules,
  { hubId, begun, outcome }: MadePoll & Anew,
  now: number,
): { until: number | undefined; alerts: AlertWrites } {
  const failure = outcome.failures.find(({ class: kind }) => kind === 'parked')
  if (failure === undefined) return { until: undefined, alerts: NO_ALERT_WRITES }
  const until = Math.round(parkedUntil(failure, now))
  const { hubDomain, alertStates, access } = begun
  const { obtainedAt = 0, expiresAt = 0 } = access?.times ?? {}
  const account = { hubId, hubDomain, expiresAt, refreshedAt: obtainedAt, tokenAlert: alertStates.token ?? '', now }
  return { until, alerts: until > expiresAt ? announce.failing(account, failure.message) : NO_ALERT_WRITES }
}

function nearnessOf({ after }: Findings, { forecasts }: Begun, at: number): number | 'none' {
  return nearestLimit(after, decodeForecasts(forecasts), at)?.nearness ?? 'none'
}

/** True where a number changed. A first reading is no change: pairs that take turns come by and by. */
function hasMoved(change: Change | undefined): boolean {
  return change?.before.some(([, was]) => was !== undefined) ?? false
}

function judge(
  rules: PollRules,
  poll: MadePoll & Anew,
  known: Known,
  found: (Findings & { moved: ReadonlySet<string> | undefined }) | undefined,
  samples: Samples,
): AlertWrites {
  const { hubId, begun, settings, at } = poll
  const { hubDomain, alertStates, watch } = begun
  const forecasts = decodeForecasts(begun.forecasts)
  const states = withoutBucket(alertStates)
  const allPairsRead = settings.pairs === 'auto' && watch.allPairsRead
  const account = { hubId, hubDomain, allPairsRead, samples, forecasts, states }
  const series = found === undefined ? NO_ALERT_WRITES : decideAlerts(rules.alerts, { ...account, ...found }, at)
  const own = bothWrites(
    judgeBucket(rules.alerts, { ...poll, bucket: known.bucket }),
    pollAlertWrites(rules, poll, known),
  )
  return bothWrites(series, own)
}

/** The number of before, where the report could not be read. */
function typesLeftOut(before: Watch, { reports }: Answers): number {
  const naming = [...reports].filter(([key]) => reportOfKey(key)?.report.namesTypes)
  if (naming.some(([, report]) => isFailure(report))) return before.typesLeftOut
  return naming.reduce((most, [, report]) => Math.max(most, (report as ReadReport).leftOut ?? 0), 0)
}

function linesOfTroubles({ hubId, begun, outcome }: MadePoll & Anew): PollLine[] {
  const { failures, refused } = outcome
  const [failure] = failures
  const lines: PollLine[] = []
  if (failure !== undefined) {
    const { class: kind, code: reason, message } = failure
    lines.push(['warn', { code: `poll.${kind}`, hubId, reason, calls: failures.length }, message])
  }
  if (refused !== undefined && begun.watch.blocked === undefined) {
    const fields = { code: 'poll.forbidden' as const, hubId, ...refused }
    lines.push(['warn', fields, 'a scope is missing: not everything can be read'])
  }
  return lines
}

function failsForLong({ alertAfter }: PollRules, { begun, settings, outcome }: MadePoll & Anew, now: number): boolean {
  const failing = failingAfter(begun.watch, outcome, now)
  return failing !== undefined && now >= failingAlertAt(failing.since, settings.everyMs, alertAfter)
}

/** Changes of the account's poll alert by a poll. */
function pollAlertWrites(
  rules: PollRules,
  poll: MadePoll & Anew,
  { refreshes, isFleetTrouble, now }: Known,
): AlertWrites {
  const { hubId, begun, outcome } = poll
  const { hubDomain, alertStates, watch } = begun
  return rules.announcePoll({
    hubId,
    hubDomain,
    outcome,
    now,
    failing: watch.failing,
    blocked: watch.blocked,
    pollAlert: alertStates.poll ?? '',
    failsForLong: failsForLong(rules, poll, now),
    ...(refreshes && { refreshes }),
    isFleetTrouble,
  })
}
