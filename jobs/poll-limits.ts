import { type LazyMetadataDeps, readDueMetadata } from '../src/accounts/lazy-metadata.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import {
  type Asked,
  type FetchDeps,
  type Heard,
  hearReports,
  wasUnauthorized,
} from '../src/limits/polling/fetch-reports.ts'
import { firstCalls } from '../src/limits/polling/first-calls.ts'
import { type AccountPollSettings, type PollSettings, pollSettingsOf } from '../src/limits/polling/poll-settings.ts'
import { decodeTurn } from '../src/limits/polling/poll-turn.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import { type AdmitPollDeps, admitPoll, type PollOccasion } from './admit-poll.ts'
import { type CommitPollDeps, commitPoll } from './commit-poll.ts'
import { type EachAccountDeps, eachAccount } from './each-account.ts'
import type { ChunkJob } from './queues.ts'
import { type RefreshOneDeps, refreshOne } from './refresh-tokens.ts'

export interface PollLimitsDeps
  extends RefreshOneDeps,
    EachAccountDeps,
    FetchDeps,
    LazyMetadataDeps,
    AdmitPollDeps,
    CommitPollDeps {
  polling: PollSettings
}

/** A chunk of accounts whose limits are due to be polled. */
export function pollLimits(deps: PollLimitsDeps, { hubIds }: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, 'poll', hubIds, signal, async (hubId) => {
    await pollOne(deps, hubId, 'due', signal)
  })
}

/** One account, counted; also for a command that wants to know now. */
export async function pollOne(
  deps: PollLimitsDeps,
  hubId: number,
  occasion: PollOccasion,
  signal: AbortSignal,
): Promise<PollOutcome> {
  const outcome = await pollAccount(deps, hubId, occasion, signal)
  deps.metrics.polls.inc({ outcome })
  return outcome
}

/**
 * `blocked`: a scope is missing, and nothing could be read; `paused`: the provider's rate limit for the account is reached;
 * `no-room`: the fleet's call budget had none.
 */
export type PollOutcome = 'committed' | 'failed' | 'blocked' | 'gone' | 'lost' | 'later' | 'paused' | 'no-room'

/** Access token, both endpoints, series, alerts, one atomic step. */
async function pollAccount(
  deps: PollLimitsDeps,
  hubId: number,
  occasion: PollOccasion,
  signal: AbortSignal,
): Promise<PollOutcome> {
  // Where the fleet's calls have a budget, it has the first word.
  const calls = deps.callBudget === undefined ? firstCalls(deps.polling) : 0
  let context = await deps.polls.begin(hubId, deps.share.asking(calls))
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
  if (occasion === 'due') observeLateness(deps, context)
  const settings = pollSettingsOf(deps.polling, { hubId, hubDomain: context.hubDomain })
  const most = mostCalls(settings)
  if (!(await admitPoll(deps, hubId, context, most, occasion))) return 'no-room'
  const asked = await ask(deps, hubId, context, settings, signal)
  deps.callBudget?.settle(asked.calls - most)
  if (asked.heard === undefined) return pollLater(deps, hubId, context, 'held')
  if (asked.heard.calls === 0) return pollAfterPause(deps, hubId, asked.heard)
  return commitPoll(deps, { hubId, context: asked.context, settings, heard: asked.heard })
}

/** A first poll has had no turn yet. */
function observeLateness({ metrics, clock }: PollLimitsDeps, { pollBecause }: PollContext): void {
  const turn = decodeTurn(pollBecause)
  if (turn !== undefined) metrics.pollLateness.observe(Math.max(0, clock.now() - turn.regularAt) / 1_000)
}

/** As many as a poll can take where all goes well; what it does not take is given back. */
function mostCalls({ pairs, pairsPerPoll }: AccountPollSettings): number {
  return 1 + (pairs === 'auto' ? pairsPerPoll : pairs.length)
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
  context.hubDomain = read.hubDomain
  return context
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

/** What the provider says, heard again where the token was refused and a new one came. No answers: ask later. */
async function ask(
  deps: PollLimitsDeps,
  hubId: number,
  context: PollContext,
  settings: AccountPollSettings,
  signal: AbortSignal,
): Promise<{ context: PollContext; heard: Heard | undefined; calls: number }> {
  const heard = await fetchWith(deps, hubId, context, settings, signal)
  const calls = heard?.calls ?? 0
  const isWorthARefresh = heard !== undefined && wasUnauthorized(heard) && isOldEnoughToDoubt(deps, context)
  const refreshed = isWorthARefresh ? await refreshedContext(deps, hubId, context) : 'failed'
  if (refreshed === 'failed') return { context, heard, calls }
  if (refreshed === 'held') return { context, heard: undefined, calls }
  const again = await fetchWith(deps, hubId, refreshed, settings, signal)
  return { context: refreshed, heard: again, calls: calls + (again?.calls ?? 0) }
}

async function fetchWith(
  deps: PollLimitsDeps,
  hubId: number,
  context: PollContext,
  settings: AccountPollSettings,
  signal: AbortSignal,
) {
  const { accessToken } = context
  if (accessToken === null) return undefined
  const asked = new AskedOfAccount(context, settings)
  return hearReports(deps, hubId, deps.vault.open(accessToken, hubId, 'access'), asked, signal)
}

/** A class for the same reason as what the poll starts from: an accessor in a literal. */
class AskedOfAccount implements Asked {
  readonly pairs: Asked['pairs']
  readonly pairsPerPoll: number
  readonly companionsAwayUntil: number
  readonly isOfOneAge: boolean
  readonly taken: Asked['taken']
  readonly #context: PollContext

  constructor(context: PollContext, { pairs, pairsPerPoll }: AccountPollSettings) {
    this.pairs = pairs
    this.pairsPerPoll = pairsPerPoll
    this.companionsAwayUntil = context.companionsAwayUntil
    this.isOfOneAge = context.seen !== undefined
    this.taken = context.taken
    this.#context = context
  }

  get readings() {
    return this.#context.readings
  }
}

/**
 * The account keeps its turn: soon if somebody else is refreshing or we are stopping; not so soon if a refresh failed,
 * because refreshing again is for the refresh job to decide.
 */
async function pollLater(
  deps: PollLimitsDeps,
  hubId: number,
  { hubDomain }: PollContext,
  why: 'held' | 'failed',
): Promise<'later'> {
  const { everyMs } = pollSettingsOf(deps.polling, { hubId, hubDomain })
  const pause = why === 'held' ? 2_000 : Math.min(everyMs, 15_000)
  await deps.due.plan('poll', [hubId], deps.clock.now() + pause)
  return 'later'
}

/**
 * Metadata is read at a bounded rate. Each time the account waits as long again as it has waited with this token, so that
 * of a fleet that was just imported not everybody asks every other second.
 */
async function pollUnread(
  deps: PollLimitsDeps,
  hubId: number,
  { hubDomain, obtainedAt }: PollContext,
): Promise<'later'> {
  const now = deps.clock.now()
  const { everyMs } = pollSettingsOf(deps.polling, { hubId, hubDomain })
  await deps.due.plan('poll', [hubId], now + Math.min(everyMs, Math.max(2_000, now - obtainedAt)))
  return 'later'
}

/** Somebody was told meanwhile to leave the account alone: nothing was asked, so this was no poll. */
async function pollAfterPause(deps: PollLimitsDeps, hubId: number, { pausedUntil }: Heard): Promise<'paused'> {
  await deps.due.plan('poll', [hubId], pausedUntil ?? deps.clock.now() + 2_000)
  return 'paused'
}
