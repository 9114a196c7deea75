import type { Claimed } from '../src/accounts/due-sets.ts'
import { pollJudge } from '../src/alerts/evaluation/judge-poll.ts'
import { nextPoll } from '../src/limits/next-poll.ts'
import type { MadePoll, NextPoll, PollRules } from '../src/limits/poll.ts'
import type { Loaded } from '../src/limits/poll-store.ts'
import { longestPollMs, type MakePollDeps, makePoll, type PollOrder } from '../src/limits/polling/make-poll.ts'
import type { PollWork } from './job-deps.ts'
import { PollCommits, type PolledOutcome, pollFailed } from './poll-commits.ts'
import { identifyOne, refreshOne } from './refresh-tokens.ts'
import { workOff } from './work-off.ts'

/** Accounts whose limits are due to be polled. */
export async function pollLimits(deps: PollWork, signal: AbortSignal): Promise<void> {
  const { metrics, inFlight } = deps
  const polling = pollingBy(deps, { signal, asksAll: false })
  const commits = new PollCommits(deps, (outcome) => metrics.polls.inc({ outcome }))
  const endCommitting = commits.keepCommitting()
  try {
    await workOff(deps, signal, {
      atOnce: inFlight.limit,
      claim: async (most) => load(deps, await deps.due.claim('poll', most, claimMs(deps))),
      work: async (account) => {
        observeLateness(deps, account.loaded)
        await pollOne(polling, commits, account)
      },
      failed: (account, error) => pollFailed(deps, account, error),
    })
  } finally {
    endCommitting()
    await commits.flush()
  }
}

/** One account, counted, before its turn: a caller waits for it. What came of no poll leaves it its turn. */
export async function pollWanted(deps: PollWork, hubId: number, signal: AbortSignal): Promise<PolledOutcome> {
  const claimed = await claimOne(deps, hubId)
  if (typeof claimed === 'string') return claimed
  let is: PolledOutcome = 'lost'
  const commits = new PollCommits(deps, (outcome) => (is = outcome))
  // A plan or claim of another worker since then stays. Where Redis does not answer, the claim ends by itself.
  const giveBack = () => deps.due.move('poll', claimed, claimed.before).catch(() => undefined)
  // A stop leaves a call that hangs behind: the next poll must not wait for its claim.
  signal.addEventListener('abort', giveBack)
  try {
    const [account] = await load(deps, [claimed])
    if (account !== undefined) await pollOne(pollingBy(deps, { signal, asksAll: true }), commits, account)
    await commits.flush()
  } finally {
    signal.removeEventListener('abort', giveBack)
    await giveBack()
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

function claimMs(deps: PollWork): number {
  return longestPollMs(deps, deps.callMs)
}

/** A claimed account, as it was read right after. */
type ToPoll = Claimed & { loaded: Loaded }

async function load({ polls }: PollWork, claimed: readonly Claimed[]): Promise<ToPoll[]> {
  const loaded = await polls.load(claimed.map(({ hubId }) => hubId))
  return claimed.map((one, n) => ({ ...one, loaded: loaded[n] ?? 'gone' }))
}

/** A first poll has had no turn yet. */
function observeLateness({ metrics, clock }: PollWork, loaded: Loaded): void {
  const { turn } = typeof loaded === 'object' && 'state' in loaded ? loaded.state : {}
  if (turn !== undefined) metrics.pollLateness.observe(Math.max(0, clock.now() - turn.regularAt) / 1_000)
}

interface Polling extends PollOrder {
  deps: PollWork
  ask: MakePollDeps
  rules: PollRules
}

/** The reports of one account, what follows from them, its commit with those of others. */
async function pollOne(polling: Polling, commits: PollCommits, { loaded, ...claimed }: ToPoll): Promise<void> {
  const { deps } = polling
  if (loaded instanceof Error) throw loaded
  if (loaded === 'gone') return commits.ended('gone')
  const made = await deps.movement.inHand('poll', claimed.hubId, () => makePoll(polling.ask, loaded, polling))
  if ('answers' in made) return commits.add({ ...claimed, next: await decide(polling, made) })
  // A worker that has claimed or planned it since has it.
  await deps.due.move('poll', claimed, made.at)
  commits.ended(made.is)
}

function pollingBy(deps: PollWork, order: PollOrder): Polling {
  const { alertAfter, samples, coverage } = deps
  return {
    ...order,
    deps,
    ask: {
      ...deps,
      refresh: (hubId, refused) => refreshOne(deps, hubId, refused),
      identify: (hubId) => identifyOne(deps, hubId),
    },
    rules: { alertAfter, samples: samples.settings, coverage: coverage.settings, judge: pollJudge(deps) },
  }
}

async function decide({ deps, rules }: Polling, made: MadePoll): Promise<NextPoll> {
  const { samples, polls, coverage, clock, metrics } = deps
  let next = nextPoll(made, rules, clock.now())
  if (next === 'asks for facts') {
    const { hubId } = made.account
    const [kept, refreshes, isFleetTrouble] = await Promise.all([
      samples.read(hubId),
      polls.refreshes(hubId),
      coverage.fleetSpeaks(clock.now()),
    ])
    next = nextPoll({ ...made, facts: { samples: kept, refreshes, isFleetTrouble } }, rules, clock.now())
  }
  if (next === 'asks for facts') throw new Error('a poll asks for facts that it was given')
  metrics.reportGaps.inc({}, next.gaps)
  return next
}
