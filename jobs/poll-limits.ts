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
import type { Secret } from '../src/runtime/secret.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import { openToken } from '../src/tokens/vault.ts'
import { type AdmitPollDeps, admitPoll, type PollOccasion } from './admit-poll.ts'
import { type CommitPollDeps, commitPoll } from './commit-poll.ts'
import { decidePoll } from './decide-poll.ts'
import { type EachAccountDeps, eachAccount } from './each-account.ts'
import type { ChunkJob } from './queues.ts'
import { identifyOne, type RefreshOneDeps, refreshOne } from './refresh-tokens.ts'

export interface PollLimitsDeps extends RefreshOneDeps, EachAccountDeps, FetchDeps, AdmitPollDeps, CommitPollDeps {
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
  const outcome = await deps.movement.inHand('poll', hubId, () => pollAccount(deps, hubId, occasion, signal))
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
  const begun = await deps.polls.begin(hubId, deps.share.asking(calls))
  if (begun === undefined) return 'gone'
  let opened: Opened | 'held' | 'failed' = hasTimeForACall(begun, deps.clock.now())
    ? withToken(deps, hubId, begun)
    : 'failed'
  if (opened === 'failed' && begun.state === 'active') opened = await refreshed(deps, hubId, begun)
  if (typeof opened === 'string') return pollLater(deps, hubId, begun, opened)
  if (opened.context.metadataDue) {
    // Numbers may be another account's else.
    await identifyOne(deps, hubId)
    const identified = await deps.polls.read(hubId)
    if (identified === undefined) return 'gone'
    opened = identified.metadataDue ? 'failed' : withToken(deps, hubId, identified)
    if (opened === 'failed') return pollLater(deps, hubId, identified, opened)
  }
  const { context } = opened
  if (occasion === 'due') observeLateness(deps, context)
  const settings = pollSettingsOf(deps.polling, { hubId, hubDomain: context.hubDomain })
  const most = mostCalls(settings)
  if (!(await admitPoll(deps, hubId, context, most, occasion))) return 'no-room'
  const asked = await ask(deps, hubId, opened, settings, signal)
  deps.callBudget?.settle(asked.calls - most)
  if (asked.heard === undefined) return pollLater(deps, hubId, context, 'held')
  if (asked.heard.calls === 0) return pollAfterPause(deps, hubId, asked.heard)
  const at = Math.max(asked.heard.at, asked.context.polledAt + 1)
  const readAt = Math.min(at, deps.clock.now())
  const poll = { hubId, context: asked.context, settings, heard: asked.heard, at, readAt }
  const outcome = await commitPoll(deps, poll, await decidePoll(deps, poll))
  // Where another poll was faster its plan counts; where an alert changed meanwhile nobody else is at work.
  if (outcome === 'lost') await deps.polls.hold(hubId, asked.context.polls, deps.clock.now())
  return outcome
}

/** An account that can be polled: its access token is opened once. */
interface Opened {
  context: PollContext
  token: Secret
}

/** A token that no key opens is as none at all: a refresh brings another one, or says what is wrong. */
function withToken(deps: PollLimitsDeps, hubId: number, context: PollContext): Opened | 'failed' {
  if (context.accessToken === null) return 'failed'
  const opened = openToken(deps.vault, context.accessToken, hubId, 'access')
  return opened.ok ? { context, token: opened.value } : 'failed'
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

/** Tokens are kept fresh by their own job; this is for the rare one that is refused, or about to expire, all the same. */
async function refreshed(
  deps: PollLimitsDeps,
  hubId: number,
  { generation }: PollContext,
): Promise<Opened | 'held' | 'failed'> {
  const outcome = await refreshOne(deps, hubId, generation)
  if (outcome.is === 'held') return 'held'
  const context = await deps.polls.read(hubId)
  // Newer tokens are what counts, whoever brought them.
  return context === undefined || context.generation === generation ? 'failed' : withToken(deps, hubId, context)
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
  opened: Opened,
  settings: AccountPollSettings,
  signal: AbortSignal,
): Promise<{ context: PollContext; heard: Heard | undefined; calls: number }> {
  const { context } = opened
  const heard = await hear(deps, hubId, opened, settings, signal)
  const calls = heard?.calls ?? 0
  const isWorthARefresh = heard !== undefined && wasUnauthorized(heard) && isOldEnoughToDoubt(deps, context)
  const newer = isWorthARefresh ? await refreshed(deps, hubId, context) : 'failed'
  if (newer === 'failed') return { context, heard, calls }
  if (newer === 'held') return { context, heard: undefined, calls }
  const again = await hear(deps, hubId, newer, settings, signal)
  return { context: newer.context, heard: again, calls: calls + (again?.calls ?? 0) }
}

function hear(
  deps: PollLimitsDeps,
  hubId: number,
  { context, token }: Opened,
  settings: AccountPollSettings,
  signal: AbortSignal,
): Promise<Heard | undefined> {
  return hearReports(deps, hubId, token, new AskedOfAccount(context, settings), signal)
}

/** A class for the same reason as what the poll starts from: an accessor in a literal. */
class AskedOfAccount implements Asked {
  readonly pairs: Asked['pairs']
  readonly pairsPerPoll: number
  readonly companionsAwayUntil: number
  readonly isOfOneAge: boolean
  readonly polls: string
  readonly taken: Asked['taken']
  readonly soonestMs: number
  readonly #context: PollContext

  constructor(context: PollContext, { pairs, pairsPerPoll, soonestMs }: AccountPollSettings) {
    this.pairs = pairs
    this.pairsPerPoll = pairsPerPoll
    this.companionsAwayUntil = context.companionsAwayUntil
    this.isOfOneAge = context.seen !== undefined
    this.polls = context.polls
    this.taken = context.taken
    // A fleet's second polls are spread over its period.
    this.soonestMs = context.polledAt === 0 ? 0 : soonestMs
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

/** Somebody was told meanwhile to leave the account alone: nothing was asked, so this was no poll. */
async function pollAfterPause(deps: PollLimitsDeps, hubId: number, { pausedUntil }: Heard): Promise<'paused'> {
  await deps.due.plan('poll', [hubId], pausedUntil ?? deps.clock.now() + 2_000)
  return 'paused'
}
