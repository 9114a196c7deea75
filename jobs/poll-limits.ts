import type { Claimed } from '../src/accounts/due-sets.ts'
import type { LoadedAccount, MadePoll } from '../src/limits/poll.ts'
import { AccountCalls } from '../src/limits/polling/account-calls.ts'
import type { Answers } from '../src/limits/polling/answers.ts'
import { fetchReports, wasUnauthorized } from '../src/limits/polling/fetch-reports.ts'
import { type AccountPollSettings, pollSettingsOf } from '../src/limits/polling/poll-settings.ts'
import type { Secret } from '../src/runtime/secret.ts'
import { hasTimeForACall } from '../src/tokens/access-token.ts'
import type { TokenTimes } from '../src/tokens/plan-refresh.ts'
import { openToken } from '../src/tokens/vault.ts'
import type { PollWork } from './job-deps.ts'
import { PollChunk, type PolledOutcome } from './poll-chunk.ts'
import { identifyOne, refreshOne } from './refresh-tokens.ts'
import { accountFailed, workOff } from './work-off.ts'

/** Accounts whose limits are due to be polled. */
export async function pollLimits(deps: PollWork, signal: AbortSignal): Promise<void> {
  const { due, clock, metrics } = deps
  const polls = new PollChunk(deps)
  const endCommitting = polls.keepCommitting()
  const count = (outcome: PolledOutcome) => metrics.polls.inc({ outcome })
  try {
    await workOff(clock, signal, {
      atOnce: deps.inFlight.limit,
      claim: async (most) => {
        const claimed = await due.claim('poll', most, claimMs(deps))
        polls.read(claimed.map(({ hubId }) => hubId))
        return claimed
      },
      work: (account) => pollOne({ deps, polls, signal, occasion: 'due' }, account, count),
      failed: ({ hubId }, error) => accountFailed(deps, 'poll', hubId, error),
    })
    await polls.flush()
  } finally {
    endCommitting()
  }
}

/** Calls that `auto` makes for a pair: for its source, for its targets, for the pair itself. */
const CALLS_FOR_A_PAIR = 3
/** A poll is made once more with another access token. */
const ROUNDS = 2
/** For the refresh of its token, and until it is committed. */
const BESIDE_CALLS_MS = 30_000

/** Longer than all calls of a poll may take. */
function claimMs({ polling, share, movement: { callMs } }: PollWork): number {
  const { reports, associations, pairsPerPoll, accounts } = polling
  const pairs = [associations, ...accounts.map((some) => some.associations ?? [])].map((listed) =>
    listed === 'auto' ? pairsPerPoll * CALLS_FOR_A_PAIR : listed.length,
  )
  const calls = ROUNDS * (reports.length + Math.max(...pairs))
  return calls * callMs + Math.floor(calls / share.requests) * share.perMs + BESIDE_CALLS_MS
}

/** One account, counted, before its turn: a caller waits for it. What came of no poll leaves it its turn. */
export async function pollWanted(deps: PollWork, hubId: number, signal: AbortSignal): Promise<PolledOutcome> {
  const claimed = await claimOne(deps, hubId)
  if (typeof claimed === 'string') return claimed
  const polls = new PollChunk(deps)
  polls.read([hubId])
  let is: PolledOutcome = 'lost'
  try {
    await pollOne({ deps, polls, signal, occasion: 'wanted' }, claimed, (outcome) => {
      is = outcome
    })
    await polls.flush()
  } finally {
    // A plan or claim of another worker since then stays.
    await deps.due.move('poll', claimed, claimed.before)
  }
  deps.metrics.polls.inc({ outcome: is })
  return is
}

/** An imported account is planned once the owner of its tokens is known. */
async function claimOne(deps: PollWork, hubId: number) {
  const claimed = await deps.due.claimOne('poll', hubId, claimMs(deps))
  if (claimed === 'held') return 'later'
  if (claimed !== 'gone') return claimed
  const account = await deps.polls.loadOne(hubId)
  if (account === undefined) return 'gone'
  if (account.access === undefined) await refreshOne(deps, hubId, account.record?.version)
  await identifyOne(deps, hubId)
  const again = await deps.due.claimOne('poll', hubId, claimMs(deps))
  return typeof again === 'string' ? 'later' : again
}

/** `due`: its moment has come; `wanted`: a caller waits for it, before its turn. */
type PollOccasion = 'due' | 'wanted'

/** Services and state of a poll. */
interface Polling {
  deps: PollWork
  polls: PollChunk
  signal: AbortSignal
  occasion: PollOccasion
}

/** Access token, the reports, what follows from them; `done` is called once that is committed, or with why it is not to be. */
async function pollOne(polling: Polling, account: Claimed, done: (outcome: PolledOutcome) => void): Promise<void> {
  const { deps, polls } = polling
  const { hubId, claim } = account
  const made = await deps.movement.inHand('poll', hubId, () => makePoll(polling, hubId))
  if (made.is === 'made') {
    await polls.commit({ hubId, claim, next: await polls.decide(made.poll), done })
    return
  }
  // A worker that has claimed or planned it since has it.
  if (made.at !== undefined) await deps.due.move('poll', account, made.at)
  done(made.is)
}

type Made =
  | { is: 'made'; poll: MadePoll }
  /** `at`: its next poll, ms; undefined: it keeps its turn. */
  | { is: 'later' | 'paused' | 'gone'; at?: number }

async function makePoll({ deps, polls, signal, occasion }: Polling, hubId: number): Promise<Made> {
  const loaded = await polls.load(hubId)
  if (loaded === undefined) return { is: 'gone' }
  let opened: Opened | 'held' | 'failed' =
    loaded.access !== undefined && hasTimeForACall(loaded.access.times, deps.clock.now())
      ? withToken(deps, loaded)
      : 'failed'
  if (opened === 'failed') opened = await refreshed(deps, loaded)
  if (typeof opened === 'string') return later(deps, loaded, opened)
  if (opened.account.record?.metadataDue) {
    // Numbers may be another account's else. It is due anew once that is known.
    await identifyOne(deps, hubId)
    return later(deps, loaded, 'failed')
  }
  if (occasion === 'due') observeLateness(deps, loaded)
  const settings = pollSettingsOf(deps.polling, opened.account)
  const calls = new AccountCalls(deps, { hubId, before: opened.account.state.calls }, signal)
  const asked = await ask(deps, { hubId, settings, asksAll: occasion === 'wanted', ...opened }, calls)
  if (asked.answers === undefined) return later(deps, loaded, 'held')
  // The provider asked another worker for a pause meanwhile: nothing was asked, so this was no poll.
  if (calls.made.length === 0) return { is: 'paused', at: calls.pausedUntil ?? deps.clock.now() + 2_000 }
  const at = Math.max(asked.answers.at, asked.account.state.polledAt + 1)
  const { account, answers } = asked
  return { is: 'made', poll: { account, settings, answers, at, readAt: Math.min(at, deps.clock.now()) } }
}

/** An account that can be polled: its access token is opened once. */
interface Opened {
  account: LoadedAccount
  times: TokenTimes
  accessToken: Secret
}

/** A token that no key opens is as none at all: a refresh brings another one, or the reason why not. */
function withToken(deps: PollWork, account: LoadedAccount): Opened | 'failed' {
  const { access, hubId } = account
  if (access === undefined) return 'failed'
  const opened = openToken(deps.vault, access.sealed, hubId, 'access')
  return opened.ok ? { account, times: access.times, accessToken: opened.value } : 'failed'
}

/** A first poll has had no turn yet. */
function observeLateness({ metrics, clock }: PollWork, { state }: LoadedAccount): void {
  if (state.turn !== undefined) metrics.pollLateness.observe(Math.max(0, clock.now() - state.turn.regularAt) / 1_000)
}

/** Tokens are kept fresh by their own job; this is for the rare one that is refused, or about to expire, all the same. */
async function refreshed(deps: PollWork, account: LoadedAccount): Promise<Opened | 'held' | 'failed'> {
  const { hubId } = account
  const known = await deps.polls.record(hubId)
  if (known?.state !== 'active') return 'failed'
  const version = account.access?.version ?? known.version
  const outcome = await refreshOne(deps, hubId, version)
  if (outcome.is === 'held') return 'held'
  const again = await deps.polls.loadOne(hubId)
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
): Promise<{ account: LoadedAccount; answers: Answers | undefined }> {
  const { account, times } = asked
  const answers = await fetchReports(deps, asked, calls)
  const isWorthARefresh =
    answers !== undefined && wasUnauthorized(answers) && isOldEnoughToDoubt(times, deps.clock.now())
  const newer = isWorthARefresh ? await refreshed(deps, account) : 'failed'
  if (newer === 'failed') return { account, answers }
  if (newer === 'held') return { account, answers: undefined }
  return { account: newer.account, answers: await fetchReports(deps, { ...asked, ...newer }, calls) }
}

/**
 * The account keeps its turn: soon if another worker is refreshing or we are stopping; not so soon if a refresh failed,
 * because refreshing again is for the refresh job to decide.
 */
function later({ polling, clock }: PollWork, account: LoadedAccount, why: 'held' | 'failed'): Made {
  const { everyMs } = pollSettingsOf(polling, account)
  return { is: 'later', at: clock.now() + (why === 'held' ? 2_000 : Math.min(everyMs, 15_000)) }
}
