import { boundariesOf, statesAfter } from '../src/alerts/evaluation/boundaries.ts'
import { judgedBy } from '../src/alerts/evaluation/judged-by.ts'
import { staleAfter } from '../src/limits/coverage.ts'
import type { FoundSeries } from '../src/limits/findings.ts'
import { NOT_JUDGED } from '../src/limits/fingerprints.ts'
import type { PollContext } from '../src/limits/poll-store.ts'
import { type PollPlan, planAfterFailure, planPoll } from '../src/limits/polling/plan-poll.ts'
import { failingAlertAt } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { encodeTurn } from '../src/limits/polling/poll-turn.ts'
import { encodeBucketUse } from '../src/provider/bucket-use.ts'
import type { ProviderFailure } from '../src/provider/failure.ts'
import type { AlertWrites } from '../src/redis/steps.ts'
import { type Decision, type FetchedPoll, watchedBy } from './decide-poll.ts'
import type { PollWork } from './job-deps.ts'

/** What was decided of a poll, and the next turn, in one atomic step; then its log lines. */
export async function commitPoll(
  deps: PollWork,
  { hubId, context, settings, fetched, bucket, readAt }: FetchedPoll,
  { outcome, parts, saw, log, ...decided }: Decision,
): Promise<'committed' | 'failed' | 'blocked' | 'gone' | 'lost'> {
  const { alerts } = parts
  const next = planNextPoll(deps, { hubId, at: readAt, context, settings, alerts, ...decided })
  // What is near a threshold is judged at every poll.
  const judged = () =>
    next.isNear ? NOT_JUDGED : judgedBy(deps.alerts, context, next.states, watchedBy(deps, settings))
  const { freshnessMs } = deps.coverage.settings
  const committed = await deps.polls.commit(hubId, {
    ...parts,
    polls: context.polls,
    nextAt: Math.max(next.plan.at, fetched.pausedUntil ?? 0),
    // One that is polled seldom stays fresh for longer.
    freshAt: decided.found && readAt + staleAfter(deps.coverage.settings, settings.everyMs) - freshnessMs,
    seen: typeof saw === 'object' ? { ...saw, judged: judged() } : saw,
    fields: {
      ...parts.fields,
      pollBecause: encodeTurn(next.plan),
      ...(bucket === context.bucket ? {} : { bucket: encodeBucketUse(bucket) }),
    },
  })
  if (committed !== 'committed') return committed
  log()
  if (alerts.entries.length > 0) await deps.queues.wake('alerts', deps.clock.now())
  return outcome
}

/** A poll that was made and is about to be committed. */
export interface MadePoll {
  hubId: number
  /** When it began, ms. */
  at: number
  context: PollContext
  settings: AccountPollSettings
  /** Undefined: it could read nothing. */
  found: FoundSeries | undefined
  changedAt: number
  alerts: AlertWrites
  failures: readonly ProviderFailure[]
}

export interface NextPoll {
  plan: PollPlan
  /** A series is near a threshold. */
  isNear: boolean
  /** Of the account's alerts, after this poll. */
  states: Readonly<Record<string, string>>
}

/** When the account is polled next: what was read, how that is among the thresholds, and what failed. */
function planNextPoll(deps: PollWork, poll: MadePoll): NextPoll {
  const { hubId, at, context, settings, found, changedAt, alerts, failures } = poll
  const { everyMs, soonestMs } = settings
  const states = statesAfter(context.alertStates, alerts)
  const planned =
    found &&
    planPoll({
      ...found,
      hubId,
      at,
      everyMs,
      soonestMs,
      turn: context.turn,
      changedAt: changedAt === 0 ? null : changedAt,
      boundaries: boundariesOf(deps.alerts, { hubId, hubDomain: context.hubDomain, states }, found.series),
    })
  const isNear = planned?.isNear ?? false
  if (planned !== undefined && failures.length === 0) return { plan: planned, isNear, states }
  const now = deps.clock.now()
  const tellAt = failingAlertAt(Math.min(context.pollFailingSince || now, now), everyMs, deps.alertAfter)
  const attempt = { count: context.pollFailures, mayRetry: deps.endpoint.mayRetry(), tellAt, now }
  return { plan: planAfterFailure({ hubId, at, everyMs }, failures, attempt, planned), isNear, states }
}
