import { boundariesOf, statesAfter } from '../src/alerts/evaluation/boundaries.ts'
import type { AlertSettings } from '../src/alerts/evaluation/decide.ts'
import type { PollContext } from '../src/limits/poll-store.ts'
import { growthBetween } from '../src/limits/polling/growth.ts'
import { type PollPlan, planAfterFailure, planPoll } from '../src/limits/polling/plan-poll.ts'
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
  /** All reports there are after it; undefined: this poll could read nothing. */
  after: Readings | undefined
  changedAt: number
  alerts: AlertWrites
  failures: readonly ProviderFailure[]
}

/** When the account is polled next: what was read, how that stands among the thresholds, and what failed. */
export function planNextPoll(deps: PlanNextPollDeps, poll: MadePoll): PollPlan {
  const { hubId, at, context, settings, after, failures } = poll
  const planned = after === undefined ? undefined : planFromReadings(deps, poll, after)
  if (planned !== undefined && failures.length === 0) return planned
  const attempt = { count: context.pollFailures, mayRetry: deps.endpoint.mayRetry(), now: deps.clock.now() }
  return planAfterFailure({ hubId, at, everyMs: settings.everyMs }, failures, attempt, planned)
}

function planFromReadings(deps: PlanNextPollDeps, poll: MadePoll, after: Readings): PollPlan {
  const { hubId, at, context, settings, changedAt, alerts } = poll
  const before = context.readings
  const series = seriesOf(after)
  const states = statesAfter(context.alertStates, alerts)
  return planPoll({
    ...{ hubId, at, everyMs: settings.everyMs, soonestMs: settings.soonestMs },
    isFirst: before === undefined,
    turn: decodeTurn(context.pollBecause),
    changedAt: changedAt === 0 ? null : changedAt,
    series,
    boundaries: boundariesOf(deps.alerts, { hubId, hubDomain: context.hubDomain, states }, series),
    growth:
      before === undefined
        ? new Map()
        : growthBetween({ readings: before, series: seriesOf(before) }, { readings: after, series }),
  })
}
