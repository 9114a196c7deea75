import { judgedBy } from '../src/alerts/evaluation/judged-by.ts'
import { staleAfter } from '../src/limits/coverage.ts'
import type { PollStore } from '../src/limits/poll-store.ts'
import { encodeTurn } from '../src/limits/polling/poll-turn.ts'
import { NOT_JUDGED } from '../src/limits/seen.ts'
import type { TokenEndpoint } from '../src/tokens/endpoint/token-endpoint.ts'
import { type DecidePollDeps, type Decision, type HeardPoll, watchedBy } from './decide-poll.ts'
import { type PlanNextPollDeps, planNextPoll } from './plan-next-poll.ts'
import type { Queues } from './queues.ts'

export interface CommitPollDeps extends DecidePollDeps, PlanNextPollDeps {
  polls: PollStore
  endpoint: TokenEndpoint
  queues: Queues
}

/** What was decided of a poll, and the next turn, in one atomic step; and what is to be said of it. */
export async function commitPoll(
  deps: CommitPollDeps,
  { hubId, context, settings, heard, readAt }: HeardPoll,
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
    nextAt: Math.max(next.plan.at, heard.pausedUntil ?? 0),
    // One that is polled seldom stays fresh for longer.
    freshAt: decided.found && readAt + staleAfter(deps.coverage.settings, settings.everyMs) - freshnessMs,
    seen: typeof saw === 'object' ? { ...saw, judged: judged() } : saw,
    fields: { ...parts.fields, pollBecause: encodeTurn(next.plan) },
  })
  if (committed !== 'committed') return committed
  log()
  if (alerts.entries.length > 0) await deps.queues.wake('alerts', deps.clock.now())
  return outcome
}
