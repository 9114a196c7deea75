import { boundariesOf, statesAfter } from '../src/alerts/evaluation/boundaries.ts'
import type { AlertSettings } from '../src/alerts/evaluation/decide.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import { type Growth, growthBetween } from '../src/limits/polling/growth.ts'
import { type Found, type PollPlan, planAfterFailure, planPoll } from '../src/limits/polling/plan-poll.ts'
import { tellFailingAt } from '../src/limits/polling/poll-outcome.ts'
import type { AccountPollSettings } from '../src/limits/polling/poll-settings.ts'
import { decodeTurn } from '../src/limits/polling/poll-turn.ts'
import type { Readings } from '../src/limits/readings.ts'
import { seriesOf } from '../src/limits/series.ts'
import type { ProviderFailure } from '../src/provider/failure.ts'
import type { AlertWrites } from '../src/redis/steps.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { TokenEndpoint } from '../src/tokens/endpoint/token-endpoint.ts'

export interface PlanNextPollDeps {
  alerts: AlertSettings
  endpoint: Pick<TokenEndpoint, 'mayRetry'>
  alertAfter: number
  clock: Clock
}

/** What a poll found that may bring a threshold nearer. */
export type FoundSeries = Pick<Found, 'series' | 'growth' | 'isFirst'>

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

const NO_GROWTH: Growth = new Map()

/** Of a poll that found all as it was, with nothing near a threshold. */
export const NOTHING_NEW: FoundSeries = { series: [], growth: NO_GROWTH, isFirst: false }

/**
 * The series after a poll that bear on the next one, and how they moved since the one before: those that moved, where the
 * others were near no threshold and stand as they stood.
 */
export function foundSeries(before: Readings | undefined, after: Readings, moved?: ReadonlySet<string>): FoundSeries {
  const series = moved === undefined ? seriesOf(after) : seriesOf(after).filter(({ id }) => moved.has(id))
  if (before === undefined) return { series, growth: NO_GROWTH, isFirst: true }
  return { series, growth: growthBetween(before, after, series), isFirst: false }
}

/** When the account is polled next: what was read, how that is among the thresholds, and what failed. */
export function planNextPoll(deps: PlanNextPollDeps, poll: MadePoll): NextPoll {
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
      turn: decodeTurn(context.pollBecause),
      changedAt: changedAt === 0 ? null : changedAt,
      boundaries: boundariesOf(deps.alerts, { hubId, hubDomain: context.hubDomain, states }, found.series),
    })
  const isNear = planned?.isNear ?? false
  if (planned !== undefined && failures.length === 0) return { plan: planned, isNear, states }
  const now = deps.clock.now()
  const tellAt = tellFailingAt(Math.min(context.pollFailingSince || now, now), everyMs, deps.alertAfter)
  const attempt = { count: context.pollFailures, mayRetry: deps.endpoint.mayRetry(), tellAt, now }
  return { plan: planAfterFailure({ hubId, at, everyMs }, failures, attempt, planned), isNear, states }
}
