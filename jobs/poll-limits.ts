import { type LazyMetadataDeps, readDueMetadata } from '../src/accounts/lazy-metadata.ts'
import { type AlertSettings, decideAlerts } from '../src/alerts/decide.ts'
import { type FetchDeps, fetchReports, wasUnauthorized } from '../src/limits/fetch-reports.ts'
import { historyEntry } from '../src/limits/history.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import { type AccountPollSettings, type PollSettings, pollSettingsOf } from '../src/limits/poll-settings.ts'
import type { PollContext, PollStore } from '../src/limits/poll-store.ts'
import { encodeTurn } from '../src/limits/poll-turn.ts'
import { type Fetched, failuresOf, mergeReadings, type Pair } from '../src/limits/readings.ts'
import { seriesOf } from '../src/limits/series.ts'
import { NO_ALERT_WRITES } from '../src/redis/steps.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import { type AdmitPollDeps, admitPoll } from './admit-poll.ts'
import { type EachAccountDeps, eachAccount } from './each-account.ts'
import { planNextPoll } from './plan-next-poll.ts'
import type { ChunkJob } from './queues.ts'
import { type RefreshOneDeps, refreshOne } from './refresh-tokens.ts'

export interface PollLimitsDeps extends RefreshOneDeps, EachAccountDeps, FetchDeps, LazyMetadataDeps, AdmitPollDeps {
  polls: PollStore
  polling: PollSettings
  historyKeepMs: number
  alerts: AlertSettings
}

/** A chunk of accounts whose limits are due to be polled. */
export function pollLimits(deps: PollLimitsDeps, { hubIds }: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, 'poll', hubIds, signal, async (hubId) => {
    deps.metrics.polls.inc({ outcome: await pollAccount(deps, hubId, signal) })
  })
}

type PollOutcome = 'committed' | 'failed' | 'gone' | 'lost' | 'later' | 'no-room'

/** Access token, both endpoints, series, alerts, one atomic step. */
async function pollAccount(deps: PollLimitsDeps, hubId: number, signal: AbortSignal): Promise<PollOutcome> {
  let context = await deps.polls.read(hubId)
  if (context === undefined) return 'gone'
  if (context.accessToken === null || !hasTimeForACall(context, deps.clock.now())) {
    const refreshed = context.state === 'active' ? await refreshedContext(deps, hubId, context) : 'failed'
    if (typeof refreshed === 'string') return pollLater(deps, hubId, context, refreshed)
    context = refreshed
  }
  if (context.metadataDue) {
    const named = await withMetadata(deps, hubId, context)
    if (named === 'foreign') return 'gone'
    if (named === 'held') return pollLater(deps, hubId, context, named)
    if (named === 'unread') return pollUnread(deps, hubId, context)
    context = named
  }
  const calls = callsOf(pollSettings(deps, hubId, context))
  if (!(await admitPoll(deps, hubId, context, calls))) return 'no-room'
  let fetched = await fetchWith(deps, hubId, context, signal)
  if (fetched !== undefined && wasUnauthorized(fetched) && isOldEnoughToDoubt(deps, context)) {
    const refreshed = await refreshedContext(deps, hubId, context)
    if (refreshed === 'held') return pollLater(deps, hubId, context, refreshed)
    if (refreshed !== 'failed') {
      context = refreshed
      deps.callBudget?.settle(calls)
      fetched = await fetchWith(deps, hubId, context, signal)
    }
  }
  return fetched === undefined ? pollLater(deps, hubId, context, 'held') : commit(deps, hubId, context, fetched)
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
  return read.is === 'stored' ? { ...context, hubDomain: read.hubDomain } : 'unread'
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
  const { accessToken } = context
  if (accessToken === null) return undefined
  const pairs = pairsOf(pollSettings(deps, hubId, context))
  return fetchReports(deps, hubId, deps.vault.open(accessToken, hubId, 'access'), pairs, signal)
}

function pollSettings(deps: PollLimitsDeps, hubId: number, { hubDomain }: PollContext): AccountPollSettings {
  return pollSettingsOf(deps.polling, { hubId, hubDomain })
}

function pairsOf({ pairs }: AccountPollSettings): readonly Pair[] {
  return pairs === 'auto' ? [] : pairs
}

function callsOf(settings: AccountPollSettings): number {
  return 1 + pairsOf(settings).length
}

/**
 * The account keeps its turn: soon if somebody else is refreshing or we are stopping; not so soon if a refresh failed,
 * because refreshing again is for the refresh job to decide.
 */
async function pollLater(
  deps: PollLimitsDeps,
  hubId: number,
  context: PollContext,
  why: 'held' | 'failed',
): Promise<'later'> {
  const pause = why === 'held' ? 2_000 : Math.min(pollSettings(deps, hubId, context).everyMs, 15_000)
  await deps.due.plan('poll', [hubId], deps.clock.now() + pause)
  return 'later'
}

/**
 * Metadata is read at a bounded rate. Each time the account waits as long again as it has waited with this token, so that
 * of a fleet that was just imported not everybody asks every other second.
 */
async function pollUnread(deps: PollLimitsDeps, hubId: number, context: PollContext): Promise<'later'> {
  const now = deps.clock.now()
  const { everyMs } = pollSettings(deps, hubId, context)
  await deps.due.plan('poll', [hubId], now + Math.min(everyMs, Math.max(2_000, now - context.obtainedAt)))
  return 'later'
}

async function commit(
  deps: PollLimitsDeps,
  hubId: number,
  context: PollContext,
  fetched: Fetched,
): Promise<PollOutcome> {
  const failures = failuresOf(fetched)
  const calls = 1 + fetched.associations.size
  const nothingRead = failures.length === calls
  deps.endpoint.noteOthers(calls - failures.length, failures.length)
  // Never before the poll that came before, whatever this machine's clock says.
  const at = Math.max(fetched.at, context.polledAt + 1)
  const before = context.readings
  const after = mergeReadings(before, { ...fetched, at })
  const alerts = nothingRead
    ? NO_ALERT_WRITES
    : decideAlerts(deps.alerts, { hubId, hubDomain: context.hubDomain, before, after, states: context.alertStates }, at)
  const disagreement = context.disagreed ? undefined : disagreeingPercentage(after)
  if (disagreement !== undefined) {
    deps.log.warn({ code: 'poll.percentage', hubId }, `${disagreement} %: computed from usage and limit instead`)
  }
  const history = nothingRead ? [] : historyEntry(before === undefined ? [] : seriesOf(before), seriesOf(after))
  const changedAt = before !== undefined && history.length > 0 ? at : context.changedAt
  const settings = pollSettings(deps, hubId, context)
  const read = nothingRead ? undefined : after
  const next = planNextPoll(deps, { hubId, at, context, settings, after: read, changedAt, alerts, failures })
  const committed = await deps.polls.commit(hubId, {
    polls: context.polls,
    at,
    nextAt: next.at,
    fields: {
      pollBecause: encodeTurn(next),
      ...(changedAt === context.changedAt ? {} : { changedAt: String(changedAt) }),
      ...pollFields(context, failures, nothingRead ? undefined : at, deps.clock.now()),
      ...(disagreement === undefined ? {} : { disagreed: '1' }),
    },
    readings: read,
    history,
    historyFrom: at - deps.historyKeepMs,
    alerts,
  })
  const [failure] = failures
  if (failure !== undefined) {
    deps.log.warn(
      { code: `poll.${failure.class}`, hubId, reason: failure.code, calls: failures.length },
      failure.message,
    )
  }
  if (committed !== 'committed') return committed
  if (alerts.messages.length > 0) await deps.queues.wake('alerts', deps.clock.now())
  return nothingRead ? 'failed' : 'committed'
}

function pollFields(
  context: PollContext,
  failures: readonly { message: string }[],
  polledAt: number | undefined,
  now: number,
): Record<string, string> {
  const [failure] = failures
  return {
    ...(polledAt === undefined ? {} : { polledAt: String(polledAt) }),
    pollFailures: failure === undefined ? '' : String(context.pollFailures + 1),
    pollFailureReason: failure?.message ?? '',
    pollFailureAt: failure === undefined ? '' : String(now),
  }
}
