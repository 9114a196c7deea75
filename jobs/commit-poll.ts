import { type AlertSettings, decideAlerts } from '../src/alerts/evaluation/decide.ts'
import { judgedBy } from '../src/alerts/evaluation/judged-by.ts'
import { staleAfter } from '../src/limits/coverage.ts'
import { type Findings, partialFindings, wholeFindings } from '../src/limits/findings.ts'
import { gapsAfter, reportsWithGaps } from '../src/limits/gaps.ts'
import type { Change } from '../src/limits/history/change.ts'
import type { KeptSamples } from '../src/limits/history/kept-samples.ts'
import { nearestLimit } from '../src/limits/nearest-limit.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import type { PollStore } from '../src/limits/poll-store.ts'
import type { Answers, Heard } from '../src/limits/polling/fetch-reports.ts'
import { outcomeOf, type PollOutcome, recordFields } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { encodeTurn } from '../src/limits/polling/poll-turn.ts'
import { isFailure } from '../src/limits/readings.ts'
import { mergeSamples, type Samples } from '../src/limits/samples.ts'
import { NOT_JUDGED, type Seen } from '../src/limits/seen.ts'
import type { ProviderFailure } from '../src/provider/failure.ts'
import { encodeGaps } from '../src/provider/report-gaps.ts'
import { type AlertWrites, bothWrites, NO_ALERT_WRITES } from '../src/redis/steps.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import { parkedUntil } from '../src/tokens/after-failure.ts'
import type { TokenEndpoint } from '../src/tokens/endpoint/token-endpoint.ts'
import type { TokenAnnouncer } from '../src/tokens/refresh-account.ts'
import { commitQuietPoll, seenIfQuiet } from './commit-quiet-poll.ts'
import { logDisagreement } from './log-disagreement.ts'
import { logGaps } from './log-gaps.ts'
import { logTypes, logTypesLeftOut } from './log-types.ts'
import { foundSeries, type NextPoll, type PlanNextPollDeps, planNextPoll } from './plan-next-poll.ts'
import { type PollAlertDeps, pollAlertWrites } from './poll-alert-writes.ts'
import type { Queues } from './queues.ts'

export interface CommitPollDeps extends PollAlertDeps, PlanNextPollDeps {
  polls: PollStore
  samples: KeptSamples
  alerts: AlertSettings
  endpoint: TokenEndpoint
  announce: TokenAnnouncer
  queues: Queues
  log: Logger
  metrics: Metrics
}

/** A poll whose calls were made, and the account as it was when it began. */
export interface HeardPoll {
  hubId: number
  context: PollContext
  settings: AccountPollSettings
  heard: Heard
}

/** The same, its answers read. */
interface AnsweredPoll extends HeardPoll {
  answers: Answers
  /** Never before the poll that came before, whatever this machine's clock says. */
  at: number
  /** But the next one counts from when it really was. */
  readAt: number
}

/** Readings that are further apart than so many periods have a gap between them. */
const GAP_PERIODS = 2

/** What a poll found: readings, change, records, alerts, the next turn - one atomic step - and what is to be said of it. */
export async function commitPoll(
  deps: CommitPollDeps,
  poll: HeardPoll,
): Promise<'committed' | 'failed' | 'blocked' | 'gone' | 'lost'> {
  const { hubId, context, settings, heard } = poll
  const at = Math.max(heard.at, context.polledAt + 1)
  const readAt = Math.min(at, deps.clock.now())
  const quiet = { hubId, context, settings, at, readAt, gapMs: gapOf(settings) }
  const times = { freshAt: freshAt(deps, settings, readAt), notBefore: heard.pausedUntil ?? 0 }
  const seen = seenIfQuiet(deps, quiet)
  if (seen !== undefined && seen.answers === heard.fingerprint) {
    deps.endpoint.noteOthers(heard.calls, 0)
    return commitQuietPoll(deps, quiet, seen, times)
  }
  const answers = heard.read()
  const outcome = outcomeOf(answers)
  noteCalls(deps, answers, outcome)
  deps.metrics.reportGaps.inc({}, reportsWithGaps(answers))
  return commitFindings(deps, { ...poll, answers, at, readAt }, outcome)
}

async function commitFindings(
  deps: CommitPollDeps,
  poll: AnsweredPoll,
  outcome: PollOutcome,
): Promise<'committed' | 'failed' | 'blocked' | 'gone' | 'lost'> {
  const { hubId, context, settings, answers, at, readAt } = poll
  const { failures, readAnything } = outcome
  const now = deps.clock.now()
  const found = readAnything ? findingsOf(deps, poll, outcome) : undefined
  const after = found?.after
  const shown = found === undefined ? {} : await samplesAfter(deps, poll, outcome, found)
  const { keepMs } = deps.samples.settings
  const samples = found?.isShownAlike === true ? { sameAt: at, keepMs } : { shown, keepMs }
  const parked = parkedBy(deps, poll, failures, now)
  const alerts = bothWrites(await judge(deps, poll, outcome, { at, found, samples: shown }), parked.alerts)
  const changedAt = hasMoved(found?.change) ? at : context.changedAt
  const made = { hubId, at: readAt, context, settings, changedAt, alerts, failures }
  const next = planNextPoll(deps, { ...made, found: found && foundSeries(found.before, found.after) })
  const disagreement =
    context.disagreed || after === undefined ? undefined : disagreeingPercentage(after, answers.associations)
  const nearness = after === undefined ? undefined : (nearestLimit(after, context.forecasts, at)?.nearness ?? null)
  const leftOut = typesLeftOut(context, answers)
  const gaps = gapsAfter(context.gaps, answers)
  const committed = await deps.polls.commit(hubId, {
    ...{
      polls: context.polls,
      slots: context.slots,
      readings: after,
      change: found?.change,
      samples: found === undefined ? undefined : samples,
      alerts,
      nearness,
    },
    packedTexts: found?.packedTexts,
    nextAt: Math.max(next.plan.at, answers.pausedUntil ?? 0),
    freshAt: readAnything ? freshAt(deps, settings, readAt) : undefined,
    seen: seenAfter(deps, poll, found, next, nearness ?? null),
    fields: {
      pollBecause: encodeTurn(next.plan),
      ...(changedAt === context.changedAt ? {} : { changedAt: String(changedAt) }),
      ...recordFields(context, outcome, readAnything ? at : undefined, now),
      ...parked.fields,
      ...(disagreement === undefined ? {} : { disagreed: '1' }),
      ...companionFields(context, answers),
      ...(encodeGaps(gaps) === encodeGaps(context.gaps) ? {} : { gaps: encodeGaps(gaps) }),
      ...(leftOut === context.typesLeftOut ? {} : { typesLeftOut: leftOut === 0 ? '' : String(leftOut) }),
    },
  })
  logTroubles(deps.log, poll, outcome, disagreement)
  if (committed !== 'committed') return committed
  if (found !== undefined) logTypes(deps.log, hubId, found.before, found.after)
  logGaps(deps.log, hubId, context.gaps, gaps)
  logTypesLeftOut(deps.log, hubId, context.typesLeftOut, leftOut)
  if (alerts.entries.length > 0) await deps.queues.wake('alerts', now)
  if (readAnything) return 'committed'
  return failures.length > 0 ? 'failed' : 'blocked'
}

/** An account that moves to another data centre: its token is not to be refreshed before, and may end meanwhile. */
function parkedBy(
  { announce }: CommitPollDeps,
  { hubId, context }: AnsweredPoll,
  failures: readonly ProviderFailure[],
  now: number,
): { fields: Record<string, string>; alerts: AlertWrites } {
  const failure = failures.find(({ class: kind }) => kind === 'parked')
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

function findingsOf(
  { samples }: CommitPollDeps,
  { context, settings, answers, at }: AnsweredPoll,
  { readAll }: PollOutcome,
): Findings {
  const fetched = { ...answers, at }
  const gapMs = gapOf(settings)
  // A report with gaps is judged beside the last one, and must be read anew next time.
  return readAll && settings.pairs !== 'auto' && reportsWithGaps(fetched) === 0
    ? wholeFindings(context, fetched, samples.settings, gapMs)
    : partialFindings(context, fetched, gapMs)
}

/** What the next poll may go by: only a poll that read everything saw it, and only as long as no series is near a threshold. */
function seenAfter(
  { alerts, samples }: CommitPollDeps,
  { context, settings, heard }: AnsweredPoll,
  found: Findings | undefined,
  { isNear, states }: NextPoll,
  nearness: number | null,
): Seen | undefined {
  if (found?.words === undefined || heard.fingerprint === undefined) return undefined
  const watched = { pairs: settings.pairs, records: samples.settings.records }
  const judged = isNear ? NOT_JUDGED : judgedBy(alerts, context, states, watched)
  return { answers: heard.fingerprint, ...found.words, judged, nearness }
}

/** When an account that was read at `readAt` counts as read: one that is polled seldom stays fresh for longer. */
function freshAt({ coverage }: CommitPollDeps, { everyMs }: AccountPollSettings, readAt: number): number {
  return readAt + staleAfter(coverage.settings, everyMs) - coverage.settings.freshnessMs
}

/** Whether a number is another one than before. What is read for the first time is none: pairs that take turns come by and by. */
function hasMoved(change: Change | undefined): boolean {
  return change?.before.some(([, was]) => was !== undefined) ?? false
}

/** For the share of errors that is allowed. A refusal for want of a scope is an answer. */
function noteCalls({ endpoint }: CommitPollDeps, answers: Answers, { failures }: PollOutcome): void {
  const errors = answers.failedCalls - (answers.failures.length - failures.length)
  endpoint.noteOthers(answers.calls - errors, errors)
}

async function samplesAfter(
  { samples }: CommitPollDeps,
  { hubId, answers, at }: AnsweredPoll,
  { readAll }: PollOutcome,
  found: Findings,
): Promise<Samples> {
  if (found.shown !== undefined) return found.shown
  const before = readAll ? {} : await samples.read(hubId)
  return mergeSamples(before, { ...answers, at }, samples.settings)
}

async function judge(
  deps: CommitPollDeps,
  poll: AnsweredPoll,
  outcome: PollOutcome,
  { at, found, samples }: { at: number; found: Findings | undefined; samples: Samples },
): Promise<AlertWrites> {
  const { hubId, context, settings } = poll
  const { hubDomain, alertStates: states, forecasts } = context
  const pairsSeen = settings.pairs === 'auto' && context.pairsSeen
  const account = { hubId, hubDomain, pairsSeen, samples, forecasts, states }
  const series = found === undefined ? NO_ALERT_WRITES : decideAlerts(deps.alerts, { ...account, ...found }, at)
  return bothWrites(series, await pollAlertWrites(deps, poll, outcome, deps.clock.now()))
}

/** What was known before, where the report could not be read. */
function typesLeftOut(before: PollContext, { customProperties }: Answers): number {
  return isFailure(customProperties) ? before.typesLeftOut : (customProperties.typesLeftOut ?? 0)
}

function companionFields(context: PollContext, { companionsAwayUntil, pairsSeen }: Answers): Record<string, string> {
  return {
    ...(companionsAwayUntil === undefined ? {} : { companionsAwayUntil: String(companionsAwayUntil) }),
    ...(pairsSeen === undefined || context.pairsSeen ? {} : { pairsSeen: '1' }),
  }
}

function logTroubles(
  log: Logger,
  { hubId, context }: AnsweredPoll,
  outcome: PollOutcome,
  disagreement: string | undefined,
) {
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
