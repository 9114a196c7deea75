import { boundariesOf, statesAfter } from '../src/alerts/evaluation/boundaries.ts'
import type { AlertSettings } from '../src/alerts/evaluation/decide.ts'
import type { Moved } from '../src/limits/moved-since.ts'
import type { PollContext } from '../src/limits/poll-context.ts'
import { type Growth, growthBetween } from '../src/limits/polling/growth.ts'
import {
  type Boundaries,
  type Found,
  isNearAny,
  type PollPlan,
  planAfterFailure,
  planPoll,
} from '../src/limits/polling/plan-poll.ts'
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
  clock: Clock
}

/** A poll that was made and is about to be committed. */
export interface MadePoll {
  hubId: number
  /** When it began, ms. */
  at: number
  context: PollContext
  settings: AccountPollSettings
  /** All reports there are before and after it; undefined: this poll could read nothing. */
  found: { before: Readings | undefined; after: Readings } | undefined
  changedAt: number
  alerts: AlertWrites
  failures: readonly ProviderFailure[]
}

export interface NextPoll {
  plan: PollPlan
  /** A series stands near a threshold. */
  isNear: boolean
  /** Of the account's alerts, after this poll. */
  states: Readonly<Record<string, string>>
}

/** When the account is polled next: what was read, how that stands among the thresholds, and what failed. */
export function planNextPoll(deps: PlanNextPollDeps, poll: MadePoll): NextPoll {
  const { hubId, at, context, settings, found, alerts, failures } = poll
  const states = statesAfter(context.alertStates, alerts)
  const planned = found === undefined ? undefined : planFromReadings(deps, poll, found, states)
  if (planned !== undefined && failures.length === 0) return { ...planned, states }
  const attempt = { count: context.pollFailures, mayRetry: deps.endpoint.mayRetry(), now: deps.clock.now() }
  const plan = planAfterFailure({ hubId, at, everyMs: settings.everyMs }, failures, attempt, planned?.plan)
  return { plan, isNear: planned?.isNear ?? false, states }
}

function planFromReadings(
  deps: PlanNextPollDeps,
  poll: MadePoll,
  { before, after }: NonNullable<MadePoll['found']>,
  states: NextPoll['states'],
): Pick<NextPoll, 'plan' | 'isNear'> {
  const series = seriesOf(after)
  const growth =
    before === undefined
      ? NO_GROWTH
      : growthBetween({ readings: before, series: seriesOf(before) }, { readings: after, series })
  return planFromSeries(deps, poll, { series, growth, isFirst: before === undefined }, states)
}

/**
 * When an account is polled next of which some series moved, while nothing stood near a threshold: those that stood still
 * bring nothing nearer.
 */
export function planMovedPoll(
  deps: PlanNextPollDeps,
  poll: Omit<MadePoll, 'found' | 'failures'>,
  { before, after, moves }: Pick<Moved, 'before' | 'after' | 'moves'>,
): NextPoll {
  const states = statesAfter(poll.context.alertStates, poll.alerts)
  const series = moves.map((move) => move.series)
  const growth = growthBetween({ readings: before, series: moves.map(({ was }) => was) }, { readings: after, series })
  return { ...planFromSeries(deps, poll, { series, growth, isFirst: false }, states), states }
}

function planFromSeries(
  deps: PlanNextPollDeps,
  { hubId, at, context, settings, changedAt }: Omit<MadePoll, 'found' | 'failures'>,
  { series, growth, isFirst }: Pick<Found, 'series' | 'growth' | 'isFirst'>,
  states: NextPoll['states'],
): Pick<NextPoll, 'plan' | 'isNear'> {
  const boundaries = boundariesOf(deps.alerts, { hubId, hubDomain: context.hubDomain, states }, series)
  const plan = planPoll({
    ...{ hubId, at, everyMs: settings.everyMs, soonestMs: settings.soonestMs },
    turn: decodeTurn(context.pollBecause),
    changedAt: changedAt === 0 ? null : changedAt,
    ...{ isFirst, series, boundaries, growth },
  })
  return { plan, isNear: isNearAny(series, boundaries) }
}

/** The same for a poll that found all as it was, with nothing near a threshold. */
export function planStillPoll({
  hubId,
  at,
  context,
  settings,
}: Pick<MadePoll, 'hubId' | 'at' | 'context' | 'settings'>): PollPlan {
  const { changedAt, pollBecause } = context
  return planPoll({
    ...{ hubId, at, everyMs: settings.everyMs, soonestMs: settings.soonestMs, isFirst: false },
    turn: decodeTurn(pollBecause),
    changedAt: changedAt === 0 ? null : changedAt,
    ...{ series: [], boundaries: NO_BOUNDARIES, growth: NO_GROWTH },
  })
}

const NO_GROWTH: Growth = new Map()
const NO_BOUNDARIES: Boundaries = new Map()
