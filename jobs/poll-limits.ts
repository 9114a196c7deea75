import { type LazyMetadataDeps, readDueMetadata } from '../src/accounts/lazy-metadata.ts'
import { type AlertSettings, decideAlerts } from '../src/alerts/decide.ts'
import { changeBetween } from '../src/limits/change.ts'
import { type Answers, type FetchDeps, fetchReports, wasUnauthorized } from '../src/limits/fetch-reports.ts'
import type { KeptSamples } from '../src/limits/kept-samples.ts'
import { nextPollAt, retryPollAt } from '../src/limits/next-poll.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import { outcomeOf, recordFields } from '../src/limits/poll-outcome.ts'
import type { PollContext, PollStore } from '../src/limits/poll-store.ts'
import { mergeReadings, type Pair } from '../src/limits/readings.ts'
import { mergeSamples } from '../src/limits/samples.ts'
import { bothWrites, NO_ALERT_WRITES } from '../src/redis/steps.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import { type EachAccountDeps, eachAccount } from './each-account.ts'
import { logTypes } from './log-types.ts'
import { type PollAlertDeps, pollAlertWrites } from './poll-alert-writes.ts'
import type { ChunkJob } from './queues.ts'
import { type RefreshOneDeps, refreshOne } from './refresh-tokens.ts'

export interface PollLimitsDeps extends RefreshOneDeps, EachAccountDeps, FetchDeps, LazyMetadataDeps, PollAlertDeps {
  polls: PollStore
  pairs: readonly Pair[] | 'auto'
  pairsPerPoll: number
  everyMs: number
  samples: KeptSamples
  alerts: AlertSettings
}

/** A chunk of accounts whose limits are due to be polled. */
export function pollLimits(deps: PollLimitsDeps, { hubIds }: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, 'poll', hubIds, signal, async (hubId) => {
    await pollOne(deps, hubId, signal)
  })
}

/** One account, counted; also for a command that wants to know now. */
export async function pollOne(deps: PollLimitsDeps, hubId: number, signal: AbortSignal): Promise<PollOutcome> {
  const outcome = await pollAccount(deps, hubId, signal)
  deps.metrics.polls.inc({ outcome })
  return outcome
}

/** Readings that are further apart than so many periods have a gap between them. */
const GAP_PERIODS = 2

/** `blocked`: a scope is missing, and nothing could be read. */
export type PollOutcome = 'committed' | 'failed' | 'blocked' | 'gone' | 'lost' | 'later'

/** Access token, both endpoints, series, alerts, one atomic step. */
async function pollAccount(deps: PollLimitsDeps, hubId: number, signal: AbortSignal): Promise<PollOutcome> {
  let context = await deps.polls.read(hubId)
  if (context === undefined) return 'gone'
  if (context.accessToken === null || !hasTimeForACall(context, deps.clock.now())) {
    const refreshed = context.state === 'active' ? await refreshedContext(deps, hubId, context) : 'failed'
    if (typeof refreshed === 'string') return pollLater(deps, hubId, refreshed)
    context = refreshed
  }
  if (context.metadataDue) {
    const named = await withMetadata(deps, hubId, context)
    if (named === 'foreign') return 'gone'
    if (named === 'held') return pollLater(deps, hubId, named)
    if (named === 'unread') return pollUnread(deps, hubId, context)
    context = named
  }
  let fetched = await fetchWith(deps, hubId, context, signal)
  if (fetched !== undefined && wasUnauthorized(fetched) && isOldEnoughToDoubt(deps, context)) {
    const refreshed = await refreshedContext(deps, hubId, context)
    if (refreshed === 'held') return pollLater(deps, hubId, refreshed)
    if (refreshed !== 'failed') {
      context = refreshed
      fetched = await fetchWith(deps, hubId, context, signal)
    }
  }
  if (fetched === undefined) return pollLater(deps, hubId, 'held')
  if (fetched.calls === 0) return pollAfterPause(deps, hubId, fetched)
  return commit(deps, hubId, context, fetched)
}

/** An account that was imported is asked whose it is before it is polled: numbers may be another account's else. */
async function withMetadata(
  deps: PollLimitsDeps,
  hubId: number,
  context: PollContext,
): Promise<PollContext | 'held' | 'foreign' | 'unread'> {
  const read = await readDueMetadata(deps, hubId, context)
  if (read.is === 'foreign' || (read.is === 'stored' && read.alerted)) {
    await deps.queues.wake('alerts', deps.clock.now())
  }
  if (read.is === 'foreign') return 'foreign'
  if (read.is === 'lost') return 'held'
  if (read.is !== 'stored') return 'unread'
  // An alert was opened: what this poll changes about it must be what is there now.
  if (read.alerted) return (await deps.polls.read(hubId)) ?? 'held'
  return { ...context, hubDomain: read.hubDomain }
}

/** Tokens are kept fresh by their own job; this is for the rare one that is refused, or about to expire, all the same. */
async function refreshedContext(
  deps: PollLimitsDeps,
  hubId: number,
  { generation }: PollContext,
): Promise<PollContext | 'held' | 'failed'> {
  const outcome = await refreshOne(deps, hubId, generation)
  if (outcome.is === 'held') return 'held'
  const context = await deps.polls.read(hubId)
  // Newer tokens are what counts, whoever brought them.
  return context === undefined || context.generation === generation ? 'failed' : context
}

/**
 * A token that was refused is worth one refresh, but not if it is brand-new: then the refusal has another cause, and
 * refreshing at every poll would only add to it.
 */
function isOldEnoughToDoubt(deps: PollLimitsDeps, { obtainedAt, expiresAt }: PollContext): boolean {
  return deps.clock.now() - obtainedAt > Math.min(60_000, (expiresAt - obtainedAt) / 10)
}

async function fetchWith(deps: PollLimitsDeps, hubId: number, context: PollContext, signal: AbortSignal) {
  const { accessToken, readings, companionsAwayUntil } = context
  if (accessToken === null) return undefined
  const asked = { pairs: deps.pairs, pairsPerPoll: deps.pairsPerPoll, readings, companionsAwayUntil }
  return fetchReports(deps, hubId, deps.vault.open(accessToken, hubId, 'access'), asked, signal)
}

/**
 * The account keeps its turn: soon if somebody else is refreshing or we are stopping; not so soon if a refresh failed,
 * because refreshing again is for the refresh job to decide.
 */
async function pollLater(deps: PollLimitsDeps, hubId: number, why: 'held' | 'failed'): Promise<'later'> {
  const pause = why === 'held' ? 2_000 : Math.min(deps.everyMs, 15_000)
  await deps.due.plan('poll', [hubId], deps.clock.now() + pause)
  return 'later'
}

/**
 * Metadata is read at a bounded rate. Each time the account waits as long again as it has waited with this token, so that
 * of a fleet that was just imported not everybody asks every other second.
 */
async function pollUnread(deps: PollLimitsDeps, hubId: number, { obtainedAt }: PollContext): Promise<'later'> {
  const now = deps.clock.now()
  await deps.due.plan('poll', [hubId], now + Math.min(deps.everyMs, Math.max(2_000, now - obtainedAt)))
  return 'later'
}

/** Somebody was told meanwhile to leave the account alone: nothing was asked, so this was no poll. */
async function pollAfterPause(deps: PollLimitsDeps, hubId: number, { pausedUntil }: Answers): Promise<'later'> {
  await deps.due.plan('poll', [hubId], pausedUntil ?? deps.clock.now() + 2_000)
  return 'later'
}

async function commit(
  deps: PollLimitsDeps,
  hubId: number,
  context: PollContext,
  answers: Answers,
): Promise<PollOutcome> {
  const outcome = outcomeOf(answers)
  const { failures, readAnything, readAll } = outcome
  // A refusal for want of a scope is an answer.
  const errors = answers.failedCalls - (answers.failures.length - failures.length)
  deps.endpoint.noteOthers(answers.calls - errors, errors)
  // Never before the poll that came before, whatever this machine's clock says.
  const at = Math.max(answers.at, context.polledAt + 1)
  const before = context.readings
  const after = mergeReadings(before, { ...answers, at })
  const shown = readAll ? {} : await deps.samples.read(hubId)
  const samples = mergeSamples(shown, { ...answers, at }, deps.samples.settings)
  const { hubDomain, alertStates: states, forecasts } = context
  const seriesAlerts = readAnything
    ? decideAlerts(deps.alerts, { hubId, hubDomain, before, after, samples, forecasts, states }, at)
    : NO_ALERT_WRITES
  const alerts = bothWrites(seriesAlerts, await pollAlertWrites(deps, hubId, context, outcome, deps.clock.now()))
  const disagreement = context.disagreed ? undefined : disagreeingPercentage(after)
  if (disagreement !== undefined) {
    deps.log.warn({ code: 'poll.percentage', hubId }, `${disagreement} %: computed from usage and limit instead`)
  }
  const committed = await deps.polls.commit(hubId, {
    polls: context.polls,
    slots: context.slots,
    nextAt: Math.max(
      failures.length === 0
        ? nextPollAt(hubId, at, deps.everyMs, before === undefined && (readAnything || context.polls === '0'))
        : retryPollAt(failures, context.pollFailures, deps.clock.now(), deps.everyMs, deps.endpoint.mayRetry()),
      answers.pausedUntil ?? 0,
    ),
    fields: {
      ...recordFields(context, outcome, readAnything ? at : undefined, deps.clock.now()),
      ...(disagreement === undefined ? {} : { disagreed: '1' }),
      ...(answers.companionsAwayUntil === undefined
        ? {}
        : { companionsAwayUntil: String(answers.companionsAwayUntil) }),
    },
    readings: readAnything ? after : undefined,
    change: readAnything ? changeBetween(before, after, at, GAP_PERIODS * deps.everyMs) : undefined,
    samples: readAnything ? { shown: samples, keepMs: deps.samples.settings.keepMs } : undefined,
    alerts,
  })
  const [failure] = failures
  if (failure !== undefined) {
    deps.log.warn(
      { code: `poll.${failure.class}`, hubId, reason: failure.code, calls: failures.length },
      failure.message,
    )
  }
  if (outcome.refused !== undefined && context.pollBlockedSince === 0) {
    deps.log.warn(
      { code: 'poll.forbidden', hubId, ...outcome.refused },
      'a scope is missing: not everything can be read',
    )
  }
  if (committed !== 'committed') return committed
  logTypes(deps.log, hubId, before, after)
  if (alerts.messages.length > 0) await deps.queues.wake('alerts', deps.clock.now())
  if (readAnything) return 'committed'
  return failures.length > 0 ? 'failed' : 'blocked'
}
