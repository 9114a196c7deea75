import type { PollContext } from '../src/limits/poll-store.ts'
import { firstCalls } from '../src/limits/polling/account-calls.ts'
import { type FetchedHead, fetchReports, wasUnauthorized } from '../src/limits/polling/fetch-reports.ts'
import { planWithoutRoom } from '../src/limits/polling/plan-poll.ts'
import { type AccountPollSettings, mostCalls, pollSettingsOf } from '../src/limits/polling/poll-settings.ts'
import type { PollTurn } from '../src/limits/polling/poll-turn.ts'
import { keptUse, useOfBoth } from '../src/provider/bucket-use.ts'
import type { Secret } from '../src/runtime/secret.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import { CLOCK_SLACK_MS, type TokenTimes } from '../src/tokens/plan-refresh.ts'
import { openToken } from '../src/tokens/vault.ts'
import { commitPoll } from './commit-poll.ts'
import { decidePoll } from './decide-poll.ts'
import { eachAccount } from './each-account.ts'
import type { PollWork } from './job-deps.ts'
import type { ChunkJob } from './queues.ts'
import { identifyOne, refreshOne } from './refresh-tokens.ts'

/** A chunk of accounts whose limits are due to be polled. */
export function pollLimits(deps: PollWork, chunk: ChunkJob, signal: AbortSignal): Promise<void> {
  return eachAccount(deps, { kind: 'poll', ...chunk, signal }, async (hubId) => {
    await pollOne(deps, hubId, 'due', signal)
  })
}

/** One account, counted; also for a command that wants to know now. */
export async function pollOne(
  deps: PollWork,
  hubId: number,
  occasion: PollOccasion,
  signal: AbortSignal,
): Promise<PolledOutcome> {
  const outcome = await deps.movement.inHand('poll', hubId, () => pollAccount(deps, hubId, occasion, signal))
  deps.metrics.polls.inc({ outcome })
  return outcome
}

/**
 * `blocked`: a scope is missing, and nothing could be read; `paused`: the provider's rate limit for the account is reached;
 * `no-room`: the fleet's call budget had none.
 */
export type PolledOutcome = 'committed' | 'failed' | 'blocked' | 'gone' | 'lost' | 'later' | 'paused' | 'no-room'

/** Access token, the reports, series, alerts, one atomic step. */
async function pollAccount(
  deps: PollWork,
  hubId: number,
  occasion: PollOccasion,
  signal: AbortSignal,
): Promise<PolledOutcome> {
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
  // What it does not take is given back.
  const most = mostCalls(settings)
  if (!(await admitPoll(deps, hubId, context, { calls: most, occasion }))) return 'no-room'
  const asked = await ask(deps, { hubId, settings, ...opened }, signal)
  deps.callBudget?.settle(asked.calls - most)
  if (asked.fetched === undefined) return pollLater(deps, hubId, context, 'held')
  if (asked.fetched.calls === 0) return pollAfterPause(deps, hubId, asked.fetched)
  const at = Math.max(asked.fetched.at, asked.context.polledAt + 1)
  const readAt = Math.min(at, deps.clock.now())
  const bucket = keptUse(asked.context.bucket, asked.fetched.bucketUse, at)
  const poll = { hubId, context: asked.context, settings, fetched: asked.fetched, bucket, at, readAt }
  const outcome = await commitPoll(deps, poll, await decidePoll(deps, poll))
  // Where another poll was faster its plan counts; where an alert changed meanwhile no other poll is at work.
  if (outcome === 'lost') await deps.polls.hold(hubId, asked.context.polls, deps.clock.now())
  return outcome
}

/** An account that can be polled: its access token is opened once. */
interface Opened {
  context: PollContext
  accessToken: Secret
}

/** A token that no key opens is as none at all: a refresh brings another one, or the reason why not. */
function withToken(deps: PollWork, hubId: number, context: PollContext): Opened | 'failed' {
  if (context.accessToken === null) return 'failed'
  const opened = openToken(deps.vault, context.accessToken, hubId, 'access')
  return opened.ok ? { context, accessToken: opened.value } : 'failed'
}

/** A first poll has had no turn yet. */
function observeLateness({ metrics, clock }: PollWork, { turn }: PollContext): void {
  if (turn !== undefined) metrics.pollLateness.observe(Math.max(0, clock.now() - turn.regularAt) / 1_000)
}

/** Tokens are kept fresh by their own job; this is for the rare one that is refused, or about to expire, all the same. */
async function refreshed(
  deps: PollWork,
  hubId: number,
  { generation }: PollContext,
): Promise<Opened | 'held' | 'failed'> {
  const outcome = await refreshOne(deps, hubId, generation)
  if (outcome.is === 'held') return 'held'
  const context = await deps.polls.read(hubId)
  // Newer tokens count, from any worker.
  return context === undefined || context.generation === generation ? 'failed' : withToken(deps, hubId, context)
}

/**
 * A token that was refused is worth one refresh, but not if it is brand-new: then the refusal has another cause, and
 * refreshing at every poll would only add to it.
 */
export function isOldEnoughToDoubt({ obtainedAt, expiresAt }: TokenTimes, now: number): boolean {
  // By a clock that is fast, or was: its age is not known.
  if (obtainedAt > now + CLOCK_SLACK_MS) return true
  return now - obtainedAt > Math.min(60_000, (expiresAt - obtainedAt) / 10)
}

/** The provider's answers, asked once more where the token was refused and a new one came. No answers: ask later. */
async function ask(
  deps: PollWork,
  asked: Opened & { hubId: number; settings: AccountPollSettings },
  signal: AbortSignal,
): Promise<{ context: PollContext; fetched: FetchedHead | undefined; calls: number }> {
  const { hubId, context } = asked
  const fetched = await fetchReports(deps, asked, signal)
  const calls = fetched?.calls ?? 0
  const isWorthARefresh =
    fetched !== undefined && wasUnauthorized(fetched) && isOldEnoughToDoubt(context, deps.clock.now())
  const newer = isWorthARefresh ? await refreshed(deps, hubId, context) : 'failed'
  if (newer === 'failed') return { context, fetched, calls }
  if (newer === 'held') return { context, fetched: undefined, calls }
  const again = await fetchReports(deps, { ...asked, ...newer }, signal)
  const inAll = fetched && again && { ...again, bucketUse: useOfBoth(fetched.bucketUse, again.bucketUse) }
  return { context: newer.context, fetched: inAll, calls: calls + (again?.calls ?? 0) }
}

/**
 * The account keeps its turn: soon if another worker is refreshing or we are stopping; not so soon if a refresh failed,
 * because refreshing again is for the refresh job to decide.
 */
async function pollLater(
  deps: PollWork,
  hubId: number,
  { hubDomain }: PollContext,
  why: 'held' | 'failed',
): Promise<'later'> {
  const { everyMs } = pollSettingsOf(deps.polling, { hubId, hubDomain })
  const pause = why === 'held' ? 2_000 : Math.min(everyMs, 15_000)
  await deps.due.plan('poll', [hubId], deps.clock.now() + pause)
  return 'later'
}

/** The provider asked another worker for a pause meanwhile: nothing was asked, so this was no poll. */
async function pollAfterPause(deps: PollWork, hubId: number, { pausedUntil }: FetchedHead): Promise<'paused'> {
  await deps.due.plan('poll', [hubId], pausedUntil ?? deps.clock.now() + 2_000)
  return 'paused'
}

/** `due`: its moment has come; `wanted`: a caller waits for it, before its turn. */
export type PollOccasion = 'due' | 'wanted'

/** Takes what the budget has before any other early poll, and is no sign that the budget is too small for regular turns. */
const WANTED = { regularAt: Number.POSITIVE_INFINITY, urgency: 1 }

/**
 * Whether the fleet's call budget has room for a poll of `calls` now. Where it has not, and the account was due, its next
 * moment is moved, and its record has the reason; one that is wanted keeps its turn.
 */
async function admitPoll(
  { callBudget, polls, clock }: PollWork,
  hubId: number,
  context: PollContext,
  { calls, occasion }: { calls: number; occasion: PollOccasion },
): Promise<boolean> {
  if (callBudget === undefined) return true
  if (occasion === 'wanted') return callBudget.admits({ calls, ...WANTED })
  const now = clock.now()
  const turn = context.turn ?? turnNow(context, now)
  if (await callBudget.admits({ calls, regularAt: turn.regularAt, urgency: turn.urgency })) return true
  const plan = planWithoutRoom(turn, context.polledAt, now)
  await polls.move(hubId, context.polls, plan)
  return false
}

/** One without a turn was connected and not polled since: it has waited from then on. */
function turnNow({ polledAt, obtainedAt }: PollContext, now: number): PollTurn {
  return { regularAt: Math.min(now, obtainedAt), urgency: 0, because: { is: polledAt === 0 ? 'new' : 'still' } }
}
