import { type AlertSettings, decideAlerts } from '../src/alerts/evaluation/decide.ts'
import { staleAfter } from '../src/limits/coverage.ts'
import { type Change, changeBetween } from '../src/limits/history/change.ts'
import type { KeptSamples } from '../src/limits/history/kept-samples.ts'
import { nearestLimit } from '../src/limits/nearest-limit.ts'
import { disagreeingPercentage } from '../src/limits/percentage.ts'
import type { PollContext, PollStore } from '../src/limits/poll-store.ts'
import type { Answers } from '../src/limits/polling/fetch-reports.ts'
import { outcomeOf, type PollOutcome, recordFields } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { encodeTurn } from '../src/limits/polling/poll-turn.ts'
import { mergeReadings, type Readings } from '../src/limits/readings.ts'
import { mergeSamples, type Samples } from '../src/limits/samples.ts'
import { type AlertWrites, bothWrites, NO_ALERT_WRITES } from '../src/redis/steps.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { TokenEndpoint } from '../src/tokens/endpoint/token-endpoint.ts'
import { logTypes } from './log-types.ts'
import { type PlanNextPollDeps, planNextPoll } from './plan-next-poll.ts'
import { type PollAlertDeps, pollAlertWrites } from './poll-alert-writes.ts'
import type { Queues } from './queues.ts'

export interface CommitPollDeps extends PollAlertDeps, PlanNextPollDeps {
  polls: PollStore
  samples: KeptSamples
  alerts: AlertSettings
  endpoint: TokenEndpoint
  queues: Queues
  log: Logger
}

/** A poll that was made, and the account as it was when it began. */
export interface AnsweredPoll {
  hubId: number
  context: PollContext
  settings: AccountPollSettings
  answers: Answers
}

/** Readings that are further apart than so many periods have a gap between them. */
const GAP_PERIODS = 2

/** What a poll found: readings, change, records, alerts, the next turn - one atomic step - and what is to be said of it. */
export async function commitPoll(
  deps: CommitPollDeps,
  poll: AnsweredPoll,
): Promise<'committed' | 'failed' | 'blocked' | 'gone' | 'lost'> {
  const { hubId, context, settings, answers } = poll
  const outcome = outcomeOf(answers)
  const { failures, readAnything } = outcome
  noteCalls(deps, answers, outcome)
  const now = deps.clock.now()
  // Never before the poll that came before, whatever this machine's clock says.
  const at = Math.max(answers.at, context.polledAt + 1)
  // But the next one counts from when it really was.
  const readAt = Math.min(at, now)
  const before = context.readings
  const after = readAnything ? mergeReadings(before, { ...answers, at }) : undefined
  const change = after === undefined ? undefined : changeBetween(before, after, at, GAP_PERIODS * settings.everyMs)
  const samples = after === undefined ? undefined : await samplesAfter(deps, poll, outcome, at)
  const alerts = await judge(deps, poll, outcome, { at, after, samples: samples?.shown ?? {} })
  const changedAt = hasMoved(change) ? at : context.changedAt
  const next = planNextPoll(deps, {
    hubId,
    at: readAt,
    context,
    settings,
    after,
    changedAt,
    alerts,
    failures,
  })
  const disagreement = context.disagreed || after === undefined ? undefined : disagreeingPercentage(after)
  const committed = await deps.polls.commit(hubId, {
    ...{ polls: context.polls, slots: context.slots, readings: after, change, samples, alerts },
    nextAt: Math.max(next.at, answers.pausedUntil ?? 0),
    nearness: after === undefined ? undefined : (nearestLimit(after, context.forecasts, at)?.nearness ?? null),
    freshAt: readAnything ? freshAt(deps, settings, readAt) : undefined,
    fields: {
      pollBecause: encodeTurn(next),
      ...(changedAt === context.changedAt ? {} : { changedAt: String(changedAt) }),
      ...recordFields(context, outcome, readAnything ? at : undefined, now),
      ...(disagreement === undefined ? {} : { disagreed: '1' }),
      ...companionFields(context, answers),
    },
  })
  logTroubles(deps.log, poll, outcome, disagreement)
  if (committed !== 'committed') return committed
  if (after !== undefined) logTypes(deps.log, hubId, before, after)
  if (alerts.entries.length > 0) await deps.queues.wake('alerts', now)
  if (readAnything) return 'committed'
  return failures.length > 0 ? 'failed' : 'blocked'
}

/** When an account that was read at `readAt` counts as read: one that is polled seldom stays fresh for longer. */
function freshAt({ coverage }: CommitPollDeps, { everyMs }: AccountPollSettings, readAt: number): number {
  return readAt + staleAfter(coverage.settings, everyMs) - coverage.settings.freshnessMs
}

/** Whether a number is another one than before. What is read for the first time is none: pairs that take turns come by and by. */
function hasMoved(change: Change | undefined): boolean {
  return change?.before.some(([, was]) => was !== undefined) ?? false
}

/** For the share of errors that is allowed. A refusal for want of a scope is an answer. */
function noteCalls({ endpoint }: CommitPollDeps, answers: Answers, { failures }: PollOutcome): void {
  const errors = answers.failedCalls - (answers.failures.length - failures.length)
  endpoint.noteOthers(answers.calls - errors, errors)
}

async function samplesAfter(
  { samples }: CommitPollDeps,
  { hubId, answers }: AnsweredPoll,
  outcome: PollOutcome,
  at: number,
) {
  const before = outcome.readAll ? {} : await samples.read(hubId)
  const { settings } = samples
  return { shown: mergeSamples(before, { ...answers, at }, settings), keepMs: settings.keepMs }
}

async function judge(
  deps: CommitPollDeps,
  { hubId, context, settings }: AnsweredPoll,
  outcome: PollOutcome,
  { at, after, samples }: { at: number; after: Readings | undefined; samples: Samples },
): Promise<AlertWrites> {
  const { hubDomain, readings: before, alertStates: states, forecasts } = context
  const pairsSeen = settings.pairs === 'auto' && context.pairsSeen
  const series =
    after === undefined
      ? NO_ALERT_WRITES
      : decideAlerts(deps.alerts, { hubId, hubDomain, before, after, pairsSeen, samples, forecasts, states }, at)
  return bothWrites(series, await pollAlertWrites(deps, hubId, context, outcome, deps.clock.now()))
}

function companionFields(context: PollContext, { companionsAwayUntil, pairsSeen }: Answers): Record<string, string> {
  return {
    ...(companionsAwayUntil === undefined ? {} : { companionsAwayUntil: String(companionsAwayUntil) }),
    ...(pairsSeen === undefined || context.pairsSeen ? {} : { pairsSeen: '1' }),
  }
}

function logTroubles(
  log: Logger,
  { hubId, context }: AnsweredPoll,
  outcome: PollOutcome,
  disagreement: string | undefined,
) {
  const { failures, refused } = outcome
  const [failure] = failures
  if (failure !== undefined) {
    const { class: kind, code: reason, message } = failure
    log.warn({ code: `poll.${kind}`, hubId, reason, calls: failures.length }, message)
  }
  if (refused !== undefined && context.pollBlockedSince === 0) {
    log.warn({ code: 'poll.forbidden', hubId, ...refused }, 'a scope is missing: not everything can be read')
  }
  if (disagreement !== undefined) {
    log.warn({ code: 'poll.percentage', hubId }, `${disagreement} %: computed from usage and limit instead`)
  }
}
