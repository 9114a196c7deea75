import type { Begun } from '../src/limits/poll-store.ts'
import { AccountCalls } from '../src/limits/polling/account-calls.ts'
import { type Answers, fetchReports, type RawReport, wasUnauthorized } from '../src/limits/polling/fetch-reports.ts'
import { type AccountPollSettings, pollSettingsOf } from '../src/limits/polling/poll-settings.ts'
import type { Secret } from '../src/runtime/secret.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import type { TokenTimes } from '../src/tokens/plan-refresh.ts'
import { openToken } from '../src/tokens/vault.ts'
import { ChunkClaims } from './chunk-claims.ts'
import { eachAccount } from './each-account.ts'
import type { PollWork } from './job-deps.ts'
import { PollChunk, type PolledOutcome } from './poll-chunk.ts'
import type { ChunkJob } from './queues.ts'
import type { MadePoll } from './read-poll.ts'
import { identifyOne, refreshOne } from './refresh-tokens.ts'

/** A chunk of accounts whose limits are due to be polled. */
export async function pollLimits(deps: PollWork, chunk: ChunkJob, signal: AbortSignal): Promise<void> {
  const claims = new ChunkClaims(deps, { kind: 'poll', ...chunk })
  const polls = new PollChunk(deps, claims, chunk.hubIds)
  const endCommitting = polls.keepCommitting()
  const count = (outcome: PolledOutcome) => deps.metrics.polls.inc({ outcome })
  const work = (hubId: number) => pollOne({ deps, polls, claims, signal, occasion: 'due' }, hubId, count)
  try {
    await eachAccount(deps, claims, signal, work, () => polls.flush())
  } finally {
    endCommitting()
  }
}

/** One account, counted, before its turn: a caller waits for it. What came of no poll leaves it its turn. */
export async function pollWanted(deps: PollWork, hubId: number, signal: AbortSignal): Promise<PolledOutcome> {
  const claimedUntil = deps.due.claimEnd('poll', deps.clock.now())
  const before = await claimOne(deps, hubId, claimedUntil)
  if (typeof before === 'string') return before
  const claims = new ChunkClaims(deps, { kind: 'poll', hubIds: [hubId], claimedUntil })
  const polls = new PollChunk(deps, claims, [hubId])
  const endKeeping = claims.keep()
  claims.begin()
  let is: PolledOutcome = 'lost'
  try {
    await pollOne({ deps, polls, claims, signal, occasion: 'wanted' }, hubId, (outcome) => {
      is = outcome
    })
    await polls.flush()
  } finally {
    endKeeping()
    // A plan or claim of another worker since then stays.
    await claims.move(hubId, before)
  }
  deps.metrics.polls.inc({ outcome: is })
  return is
}

/**
 * Claims one account and returns its moment before. An imported one is planned once the owner of its tokens is known.
 */
async function claimOne(deps: PollWork, hubId: number, until: number): Promise<number | 'gone' | 'later'> {
  const claimed = await deps.due.takeClaim('poll', hubId, until)
  if (claimed !== undefined) return claimed
  const begun = await deps.polls.read(hubId)
  if (begun === undefined) return 'gone'
  if (begun.access === undefined) await refreshOne(deps, hubId, begun.record?.version)
  await identifyOne(deps, hubId)
  return (await deps.due.takeClaim('poll', hubId, until)) ?? 'later'
}

/** `due`: its moment has come; `wanted`: a caller waits for it, before its turn. */
type PollOccasion = 'due' | 'wanted'

/** Services and state of a poll. */
interface Polling {
  deps: PollWork
  polls: PollChunk
  claims: ChunkClaims
  signal: AbortSignal
  occasion: PollOccasion
}

/** Access token, the reports, what follows from them; `done` is called once that is committed, or with why it is not to be. */
async function pollOne(
  { deps, polls, claims, signal, occasion }: Polling,
  hubId: number,
  done: (outcome: PolledOutcome) => void,
): Promise<'goes on' | 'over'> {
  const made = await deps.movement.inHand('poll', hubId, () => makePoll({ deps, polls, signal, occasion }, hubId))
  switch (made.is) {
    case 'made': {
      const decided = await polls.decide(made.poll)
      await polls.commit({ ...decided, result: { hubId, ...decided.result }, done })
      return 'goes on'
    }
    default:
      // A worker that claims it by another end, or has planned it anew, has it.
      if (made.at !== undefined) await claims.move(hubId, Math.round(made.at))
      done(made.is)
      return 'over'
  }
}

type Made =
  | { is: 'made'; poll: MadePoll }
  /** `at`: its next poll, ms; undefined: it keeps its turn. */
  | { is: 'later' | 'paused' | 'gone'; at?: number }

async function makePoll({ deps, polls, signal, occasion }: Omit<Polling, 'claims'>, hubId: number): Promise<Made> {
  const begun = await polls.begin(hubId)
  if (begun === undefined) return { is: 'gone' }
  let opened: Opened | 'held' | 'failed' =
    begun.access !== undefined && hasTimeForACall(begun.access.times, deps.clock.now())
      ? withToken(deps, begun)
      : 'failed'
  if (opened === 'failed') opened = await refreshed(deps, begun)
  if (typeof opened === 'string') return later(deps, begun, opened)
  if (opened.begun.record?.metadataDue) {
    // Numbers may be another account's else. It is due anew once that is known.
    await identifyOne(deps, hubId)
    return later(deps, begun, 'failed')
  }
  if (occasion === 'due') observeLateness(deps, begun)
  const settings = pollSettingsOf(deps.polling, opened.begun)
  const calls = new AccountCalls(deps, { hubId, before: opened.begun.watch.calls }, signal)
  const asked = await ask(deps, { hubId, settings, asksAll: occasion === 'wanted', ...opened }, calls)
  if (asked.answers === undefined) return later(deps, begun, 'held')
  // The provider asked another worker for a pause meanwhile: nothing was asked, so this was no poll.
  if (calls.made.length === 0) return { is: 'paused', at: calls.pausedUntil ?? deps.clock.now() + 2_000 }
  const at = Math.max(asked.answers.at, asked.begun.watch.polledAt + 1)
  const poll = { hubId, begun: asked.begun, settings, answers: asked.answers, at }
  return { is: 'made', poll: { ...poll, readAt: Math.min(at, deps.clock.now()) } }
}

/** An account that can be polled: its access token is opened once. */
interface Opened {
  begun: Begun
  times: TokenTimes
  accessToken: Secret
}

/** A token that no key opens is as none at all: a refresh brings another one, or the reason why not. */
function withToken(deps: PollWork, begun: Begun): Opened | 'failed' {
  const { access, hubId } = begun
  if (access === undefined) return 'failed'
  const opened = openToken(deps.vault, access.sealed, hubId, 'access')
  return opened.ok ? { begun, times: access.times, accessToken: opened.value } : 'failed'
}

/** A first poll has had no turn yet. */
function observeLateness({ metrics, clock }: PollWork, { watch }: Begun): void {
  if (watch.turn !== undefined) metrics.pollLateness.observe(Math.max(0, clock.now() - watch.turn.regularAt) / 1_000)
}

/** Tokens are kept fresh by their own job; this is for the rare one that is refused, or about to expire, all the same. */
async function refreshed(deps: PollWork, begun: Begun): Promise<Opened | 'held' | 'failed'> {
  const { hubId } = begun
  const known = await deps.polls.record(hubId)
  if (known?.state !== 'active') return 'failed'
  const version = begun.access?.version ?? known.version
  const outcome = await refreshOne(deps, hubId, version)
  if (outcome.is === 'held') return 'held'
  const again = await deps.polls.read(hubId)
  // Newer tokens count, from any worker.
  return again?.access === undefined || again.access.version === version ? 'failed' : withToken(deps, again)
}

/**
 * A token that was refused is worth one refresh, but not if it is brand-new: then the refusal has another cause, and
 * refreshing at every poll would only add to it.
 */
export function isOldEnoughToDoubt({ obtainedAt, expiresAt }: TokenTimes, now: number): boolean {
  return now - obtainedAt > Math.min(60_000, (expiresAt - obtainedAt) / 10)
}

/** The provider's answers, asked once more where the token was refused and a new one came. No answers: ask later. */
async function ask(
  deps: PollWork,
  asked: Opened & { hubId: number; settings: AccountPollSettings; asksAll: boolean },
  calls: AccountCalls,
): Promise<{ begun: Begun; answers: Answers<RawReport> | undefined }> {
  const { begun, times } = asked
  const answers = await fetchReports(deps, asked, calls)
  const isWorthARefresh =
    answers !== undefined && wasUnauthorized(answers) && isOldEnoughToDoubt(times, deps.clock.now())
  const newer = isWorthARefresh ? await refreshed(deps, begun) : 'failed'
  if (newer === 'failed') return { begun, answers }
  if (newer === 'held') return { begun, answers: undefined }
  return { begun: newer.begun, answers: await fetchReports(deps, { ...asked, ...newer }, calls) }
}

/**
 * The account keeps its turn: soon if another worker is refreshing or we are stopping; not so soon if a refresh failed,
 * because refreshing again is for the refresh job to decide.
 */
function later({ polling, clock }: PollWork, begun: Begun, why: 'held' | 'failed'): Made {
  const { everyMs } = pollSettingsOf(polling, begun)
  return { is: 'later', at: clock.now() + (why === 'held' ? 2_000 : Math.min(everyMs, 15_000)) }
}
