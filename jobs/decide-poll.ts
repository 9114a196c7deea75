import { decideAlerts } from '../src/alerts/evaluation/decide.ts'
import { judgeBucket, withoutBucket } from '../src/alerts/evaluation/judge-bucket.ts'
import { isJudgedAlike, mayRest, type Watched } from '../src/alerts/evaluation/judged-by.ts'
import { type Findings, type FoundSeries, findingsOf, foundSeries, NOTHING_NEW } from '../src/limits/findings.ts'
import { type Fingerprints, recordsFingerprint, saidFingerprint } from '../src/limits/fingerprints.ts'
import { nearestLimit } from '../src/limits/forecast/outlook.ts'
import type { Change } from '../src/limits/history/change.ts'
import { packedAt } from '../src/limits/history/packed-bytes.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import type { PollContext, PollResult } from '../src/limits/poll-store.ts'
import type { Answers, FetchedHead } from '../src/limits/polling/fetch-reports.ts'
import {
  failingAfter,
  failingAlertAt,
  gapsAfter,
  outcomeOf,
  type PollOutcome,
  recordFields,
  reportsWithGaps,
} from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { isFailure, reportOfKey } from '../src/limits/readings.ts'
import type { ReadReport } from '../src/limits/reports/report.ts'
import { mergeSamples, type Samples } from '../src/limits/samples.ts'
import type { KeptBucketUse } from '../src/provider/bucket-use.ts'
import type { ProviderFailure } from '../src/provider/failure.ts'
import { encodeNotAvailable } from '../src/provider/not-available.ts'
import { encodeGaps } from '../src/provider/read.ts'
import { type AlertWrites, bothWrites, NO_ALERT_WRITES } from '../src/redis/steps.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { parkedUntil } from '../src/tokens/after-failure.ts'
import type { PollWork } from './job-deps.ts'
import { logDisagreement, logGaps, logTypes, logTypesLeftOut } from './poll-logs.ts'

/** A poll whose calls were made, and the account as it was when it began. */
export interface FetchedPoll {
  hubId: number
  context: PollContext
  settings: AccountPollSettings
  fetched: FetchedHead
  /** What is kept of the account's bucket from now on. */
  bucket: KeptBucketUse | undefined
  /** Never before the poll that came before, even if this machine's clock was set back. */
  at: number
  /** But the next one counts from when it really was. */
  readAt: number
}

/** The same, its answers read. */
interface ReadPoll extends FetchedPoll {
  answers: Answers
  outcome: PollOutcome
  saw: Omit<Fingerprints, 'judged'> | undefined
}

/** What a poll adds to what is known of the account. */
export interface Decision {
  outcome: 'committed' | 'failed' | 'blocked'
  /** What is committed beside the next turn. */
  parts: Pick<PollResult, 'readings' | 'record' | 'samples' | 'nearness' | 'alerts' | 'fields'>
  /** Undefined: nothing could be read. */
  found: FoundSeries | undefined
  changedAt: number
  failures: readonly ProviderFailure[]
  /** What the next poll may go by: only a poll that read everything saw it. */
  saw: Omit<Fingerprints, 'judged'> | 'unchanged' | undefined
  /** The log lines, for after the commit. */
  log: () => void
}

/** Readings that are further apart than so many periods have a gap between them. */
const GAP_PERIODS = 2

/** What a poll found: readings, change, records, alerts. Where nothing can be new, the answers are not even parsed. */
export async function decidePoll(deps: PollWork, poll: FetchedPoll): Promise<Decision> {
  const { context, fetched } = poll
  if (fetched.fingerprint !== undefined && context.seen?.answers === fetched.fingerprint && isAtRest(deps, poll)) {
    deps.endpoint.noteOthers(fetched.calls, 0)
    return unchanged(deps, poll)
  }
  const answers = fetched.read()
  const outcome = outcomeOf(answers)
  noteCalls(deps, answers, outcome)
  const gaps = reportsWithGaps(answers)
  deps.metrics.reportGaps.inc({}, gaps)
  // A report with gaps is judged beside the last one, and must be read anew next time.
  const isWhole = outcome.readAll && gaps === 0 && fetched.fingerprint !== undefined
  const said = isWhole ? saidFingerprint(answers) : undefined
  // Other bytes may mean the same.
  return said !== undefined && said === context.seen?.said && isAtRest(deps, poll)
    ? unchanged(deps, poll, { ...context.seen, answers: fetched.fingerprint as string })
    : decideAnew(deps, {
        ...poll,
        answers,
        outcome,
        saw: said === undefined ? undefined : sawIn(deps, poll, answers, said),
      })
}

/** Whether a poll that sees what the last one saw has nothing to add but its moment. */
function isAtRest(deps: PollWork, poll: FetchedPoll): boolean {
  const { context, settings, at } = poll
  // The history records a gap.
  if (at - context.polledAt > gapOf(settings)) return false
  // Records that are gone, however that came, are stored anew.
  const hasSamples = deps.samples.settings.records !== 'none' && settings.pairs.length > 0
  return context.packed.hasSamples === hasSamples && mayRest(deps.alerts, context, at) && isAsJudged(deps, poll)
}

/** Whether what has not moved since the last poll needs no judgement: it has had the same one. */
function isAsJudged(deps: PollWork, { context, settings, at }: FetchedPoll): boolean {
  const { packed, polledAt } = context
  // If it is not what that poll left, unpacking it reports that: what is unreadable must not rest, either.
  if (packed.readings === null || packedAt(packed.readings) !== polledAt || context.readings === undefined) return false
  return isJudgedAlike(deps.alerts, context, watchedBy(deps, settings), at)
}

function unchanged(deps: PollWork, poll: FetchedPoll, saw: Decision['saw'] = 'unchanged'): Decision {
  const { context, at } = poll
  const { keepMs } = deps.samples.settings
  return {
    outcome: 'committed',
    parts: {
      readings: 'unchanged',
      samples: context.packed.hasSamples ? { shown: 'unchanged', keepMs } : undefined,
      // It moves at almost every poll, and is judged apart from what has not moved.
      alerts: judgeBucket(deps.alerts, poll),
      fields: { polledAt: String(at) },
    },
    found: NOTHING_NEW,
    changedAt: context.changedAt,
    failures: [],
    saw,
    log: () => {},
  }
}

async function decideAnew(deps: PollWork, poll: ReadPoll): Promise<Decision> {
  const { hubId, context, settings, answers, outcome, saw, at } = poll
  const { failures, readAnything } = outcome
  const now = deps.clock.now()
  const found = readAnything ? findingsOf(context, { ...answers, at }, gapOf(settings)) : undefined
  const shown = found === undefined ? {} : await samplesAfter(deps, poll)
  const isShownAlike =
    saw !== undefined &&
    saw.records === context.seen?.records &&
    context.packed.hasSamples &&
    Object.keys(shown).length > 0
  const moved = found && isAsJudged(deps, poll) ? new Set(found.change?.before.map(([id]) => id)) : undefined
  const parked = parkedBy(deps, poll, now)
  const changedAt = hasMoved(found?.change) ? at : context.changedAt
  const disagreement =
    context.disagreed || found === undefined ? undefined : disagreeingPercentage(found.after, answers)
  const leftOut = typesLeftOut(context, answers)
  const gaps = gapsAfter(context.gaps, answers)
  logTroubles(deps.log, poll, disagreement)
  return {
    outcome: readAnything ? 'committed' : failures.length > 0 ? 'failed' : 'blocked',
    parts: {
      ...found?.packed,
      readings: found?.packed.readings,
      samples: found && {
        shown: isShownAlike ? 'unchanged' : shown,
        keepMs: deps.samples.settings.keepMs,
      },
      nearness: found && nearnessOf(found, poll),
      alerts: bothWrites(await judge(deps, poll, found && { ...found, moved }, shown), parked.alerts),
      fields: {
        ...(changedAt === context.changedAt ? {} : { changedAt: String(changedAt) }),
        ...recordFields(context, outcome, readAnything ? at : undefined, now),
        ...parked.fields,
        ...(disagreement === undefined ? {} : { disagreed: '1' }),
        ...companionFields(context, answers),
        ...(encodeNotAvailable(answers.notAvailable) === encodeNotAvailable(context.notAvailable)
          ? {}
          : { notAvailable: encodeNotAvailable(answers.notAvailable) }),
        ...(encodeGaps(gaps) === encodeGaps(context.gaps) ? {} : { gaps: encodeGaps(gaps) }),
        ...(leftOut === context.typesLeftOut ? {} : { typesLeftOut: leftOut === 0 ? '' : String(leftOut) }),
      },
    },
    found: found && foundSeries(found.before, found.after, moved),
    changedAt,
    failures,
    saw,
    log: () => {
      if (found !== undefined) logTypes(deps.log, hubId, found.before, found.after)
      logGaps(deps.log, hubId, context.gaps, gaps)
      logTypesLeftOut(deps.log, hubId, context.typesLeftOut, leftOut)
    },
  }
}

/** An account that moves to another data centre: its token is not to be refreshed before, and may end meanwhile. */
function parkedBy(
  { announce }: PollWork,
  { hubId, context, outcome }: ReadPoll,
  now: number,
): { fields: Record<string, string>; alerts: AlertWrites } {
  const failure = outcome.failures.find(({ class: kind }) => kind === 'parked')
  if (failure === undefined) return { fields: {}, alerts: NO_ALERT_WRITES }
  const until = Math.round(parkedUntil(failure, now))
  const { hubDomain, alertStates, obtainedAt, expiresAt } = context
  const account = { hubId, hubDomain, expiresAt, refreshedAt: obtainedAt, tokenAlert: alertStates.token ?? '', now }
  return {
    fields: { parkedUntil: String(until) },
    alerts: until > expiresAt ? announce.failing(account, failure.message) : NO_ALERT_WRITES,
  }
}

function gapOf({ everyMs }: AccountPollSettings): number {
  return GAP_PERIODS * everyMs
}

/** What is asked of an account, and kept of it. */
export function watchedBy({ samples }: Pick<PollWork, 'samples'>, { reports, pairs }: AccountPollSettings): Watched {
  return { reports, pairs, records: samples.settings.records }
}

function nearnessOf({ after }: Findings, { context, at }: FetchedPoll): number | 'none' {
  return nearestLimit(after, context.forecasts, at)?.nearness ?? 'none'
}

/** Only a poll that read everything saw it. */
function sawIn({ samples }: PollWork, { fetched }: FetchedPoll, answers: Answers, said: string): ReadPoll['saw'] {
  const records = recordsFingerprint(answers, samples.settings.records)
  return { answers: fetched.fingerprint as string, said, records }
}

/** Whether a number is another one than before. What is read for the first time is none: pairs that take turns come by and by. */
function hasMoved(change: Change | undefined): boolean {
  return change?.before.some(([, was]) => was !== undefined) ?? false
}

/** For the share of errors that is allowed. A refusal for want of a scope is an answer. */
function noteCalls({ endpoint }: PollWork, answers: Answers, { failures }: PollOutcome): void {
  const errors = answers.failedCalls - (answers.failures.length - failures.length)
  endpoint.noteOthers(answers.calls - errors, errors)
}

async function samplesAfter({ samples }: PollWork, { hubId, answers, outcome, at }: ReadPoll): Promise<Samples> {
  const before = outcome.readAll ? {} : await samples.read(hubId)
  return mergeSamples(before, { ...answers, at }, samples.settings)
}

async function judge(
  deps: PollWork,
  poll: ReadPoll,
  found: (Findings & { moved: ReadonlySet<string> | undefined }) | undefined,
  samples: Samples,
): Promise<AlertWrites> {
  const { hubId, context, settings, outcome, at } = poll
  const { hubDomain, alertStates, forecasts } = context
  const states = withoutBucket(alertStates)
  const pairsSeen = settings.pairs === 'auto' && context.pairsSeen
  const account = { hubId, hubDomain, pairsSeen, samples, forecasts, states }
  const series = found === undefined ? NO_ALERT_WRITES : decideAlerts(deps.alerts, { ...account, ...found }, at)
  const own = bothWrites(judgeBucket(deps.alerts, poll), await pollAlertWrites(deps, poll, outcome, deps.clock.now()))
  return bothWrites(series, own)
}

/** What was known before, where the report could not be read. */
function typesLeftOut(before: PollContext, { reports }: Answers): number {
  const naming = [...reports].filter(([key]) => reportOfKey(key)?.report.namesTypes)
  if (naming.some(([, report]) => isFailure(report))) return before.typesLeftOut
  return naming.reduce((most, [, report]) => Math.max(most, (report as ReadReport).leftOut ?? 0), 0)
}

function companionFields(context: PollContext, { companionsAwayUntil, pairsSeen }: Answers): Record<string, string> {
  return {
    ...(companionsAwayUntil === undefined ? {} : { companionsAwayUntil: String(companionsAwayUntil) }),
    ...(pairsSeen === undefined || context.pairsSeen ? {} : { pairsSeen: '1' }),
  }
}

function logTroubles(log: Logger, { hubId, context, outcome }: ReadPoll, disagreement: string | undefined): void {
  const { failures, refused } = outcome
  const [failure] = failures
  if (failure !== undefined) {
    const { class: kind, code: reason, message } = failure
    log.warn({ code: `poll.${kind}`, hubId, reason, calls: failures.length }, message)
  }
  if (refused !== undefined && context.pollBlockedSince === 0) {
    log.warn({ code: 'poll.forbidden', hubId, ...refused }, 'a scope is missing: not everything can be read')
  }
  logDisagreement(log, hubId, disagreement)
}

/** What a poll changes about the account's poll alert, to be committed with the rest. */
async function pollAlertWrites(
  { announcePoll, alertAfter, coverage, polls }: PollWork,
  { hubId, context, settings }: { hubId: number; context: PollContext; settings: AccountPollSettings },
  outcome: PollOutcome,
  now: number,
): Promise<AlertWrites> {
  const { count, since } = failingAfter(context, outcome, now)
  const failsForLong = count > 0 && now >= failingAlertAt(since, settings.everyMs, alertAfter)
  const { hubDomain, alertStates, pollFailures, pollFailingSince, pollBlockedSince } = context
  return announcePoll({
    ...{ hubId, hubDomain, outcome, now, pollFailures, pollFailingSince, pollBlockedSince },
    pollAlert: alertStates.poll ?? '',
    failsForLong,
    ...(failsForLong && { refreshes: await polls.refreshes(hubId) }),
    isFleetTrouble: failsForLong && (await coverage.fleetSpeaks(now)),
  })
}
