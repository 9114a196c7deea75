import type { ProviderFailure } from '../../provider/failure.ts'
import { shareOf } from '../../tokens/plan-refresh.ts'
import type { FoundSeries } from '../findings.ts'
import type { Series } from '../series.ts'
import type { NearThreshold, PollTurn, RisingSeries, TurnBecause } from './poll-turn.ts'

/** The usage `at` which a series enters or leaves a level by its rule. */
export type Boundary = Pick<NearThreshold, 'level' | 'move' | 'asks' | 'of'> & { at: number }

/** Boundaries by series; what no rule watches has none. */
export type Boundaries = ReadonlyMap<string, readonly Boundary[]>

/** Findings of a poll that began at `at`, as far as they bear on the next one. */
export interface PollFindings extends FoundSeries {
  hubId: number
  at: number
  everyMs: number
  /** Never more than `everyMs`. */
  soonestMs: number
  /** The turn that it was; undefined where none was stored. */
  turn: PollTurn | undefined
  /** Moment of the last poll that found a number changed, this one included; null = never. */
  changedAt: number | null
  boundaries: Boundaries
}

/** The account's next poll. */
export type PollPlan = PollTurn & { at: number }

/** From this distance on a threshold is far: a share of the limit, or of the count where there is none. */
const FAR = 0.1
/** An account that is near and does not move is polled so many times in the time that it has not moved. */
const EASE = 16
/** Polls that an account gets on its way to a threshold that it is rising to. */
const POLLS_ON_THE_WAY = 8
const DAY_MS = 86_400_000

/**
 * How long after a poll an account's regular turn is, ms: a little less than `everyMs`, the longest that it may wait; the
 * rest is for the sweep that finds it due. Accounts that are polled together must not be together for ever: each has a
 * period of its own, and after a poll that many may have had in common (`spread`: the first one, one that came early) a
 * phase of its own. The later phase has the longer period: the other way round they would meet again.
 */
export function regularPeriod(hubId: number, everyMs: number, spread: boolean): number {
  return everyMs * (spread ? 0.5 + 0.47 * shareOf(hubId) : 0.94 + 0.03 * shareOf(hubId))
}

/**
 * Moment of the next poll, and why. An account at rest is polled at its regular turn. It is polled sooner, down to
 * `soonestMs`, while a series is near a threshold, rises to one or has just changed. `isNear`: a series is near a
 * threshold, however often it is polled.
 */
export function planPoll(found: PollFindings): PollPlan & { isNear: boolean } {
  const { hubId, at, everyMs, isFirst, turn } = found
  const soonestMs = Math.min(found.soonestMs, regularPeriod(hubId, everyMs, false))
  const phase = regularPeriod(hubId, everyMs, isFirst || (turn !== undefined && at < turn.regularAt))
  const regularMs = isFirst ? phase : Math.max(phase, soonestMs)
  let plan = turnAt(at, regularMs, regularMs, { is: isFirst ? 'new' : 'still' })
  let isNear = false
  for (const { periodMs, because } of earlyPolls(found, soonestMs, regularMs)) {
    isNear ||= because.is === 'near'
    if (periodMs >= regularMs) continue
    if (at + periodMs < plan.at) plan = turnAt(at, periodMs, regularMs, because)
  }
  return { ...plan, isNear }
}

/**
 * After a poll of which nothing, or not all, could be read, at `now`. `planned` is what follows from what was read;
 * undefined: nothing. `tellAt`: the first poll from then on that fails is an alert, which must not be late.
 */
export function planAfterFailure(
  { hubId, at, everyMs }: Pick<PollFindings, 'hubId' | 'at' | 'everyMs'>,
  failures: readonly ProviderFailure[],
  { count, tellAt: alertAt, now }: { count: number; tellAt: number; now: number },
  planned: PollPlan | undefined,
): PollPlan {
  const regularMs = regularPeriod(hubId, everyMs, false)
  const regular = planned ?? turnAt(at, regularMs, regularMs, { is: 'failed' })
  const pauseMs = Math.max(0, ...failures.map((failure) => failure.retryAfterMs ?? 0))
  const until = Math.round(now + pauseMs)
  if (pauseMs > 0)
    return { ...regular, at: until, regularAt: Math.max(until, regular.regularAt), because: { is: 'told' } }
  // Sooner helps only with what may pass: a missing scope is not granted in the next minute.
  const mayPass = failures.some((failure) => failure.class === 'transient')
  const retryAt = mayPass ? now + Math.min(regularMs, 5_000 * 2 ** Math.min(count, 12)) : regular.at
  const soonest = Math.min(retryAt, alertAt > now ? alertAt : regular.at)
  if (soonest >= regular.at) return regular
  return { ...regular, at: Math.round(soonest), because: { is: 'failed' } }
}

/**
 * For an account whose period was made shorter than its next poll is away: a turn within the new one, spread over it.
 * Undefined where it need not be moved, or the provider named how long to wait.
 */
export function planSooner(
  hubId: number,
  everyMs: number,
  next: { at: number; turn: PollTurn | undefined },
  now: number,
): PollPlan | undefined {
  if (next.at <= now + everyMs || next.turn?.because.is === 'told') return undefined
  const periodMs = everyMs * shareOf(hubId)
  return turnAt(now, periodMs, periodMs, { is: 'still' })
}

type EarlyPoll = { periodMs: number; because: NearThreshold | RisingSeries | { is: 'changed'; at: number } }

function* earlyPolls(found: PollFindings, soonestMs: number, regularMs: number): Generator<EarlyPoll> {
  const { at, changedAt, everyMs, turn } = found
  const was = turn?.because
  // Counted for the account, not for a series: series that take turns in being nearest do not begin anew each time.
  const since = was?.is === 'near' ? was.since : at
  // An account that is near and still gets two polls where others have one: its numbers do not move.
  const easedMs = Math.min((at - Math.max(since, changedAt ?? 0)) / EASE, regularMs / 2)
  for (const series of found.series) {
    const boundaries = found.boundaries.get(series.id)
    if (boundaries === undefined) continue
    const { id, usage, limit } = series
    for (const boundary of boundaries) {
      const distance = distanceTo(boundary, series)
      if (distance >= FAR) continue
      const { level, move, asks, of } = boundary
      // From the shortest period at the threshold to the longest where it is far, each step of the way by the same factor.
      const nearMs = soonestMs * (everyMs / soonestMs) ** (distance / FAR)
      const because: NearThreshold = { is: 'near', series: id, usage, limit, level, move, asks, of, since }
      yield { periodMs: Math.max(nearMs, easedMs), because }
    }
    const perDay = found.growth.get(id) ?? 0
    const ahead = perDay > 0 ? nextAhead(series, boundaries) : undefined
    if (ahead === undefined) continue
    const days = (ahead.at - usage) / perDay
    const because: RisingSeries = { is: 'rising', series: id, days, to: ahead.to }
    yield { periodMs: Math.max(soonestMs, (days * DAY_MS) / POLLS_ON_THE_WAY), because }
  }
  // A seldom change is followed, and let go by and by: the period is as long as the time without a change.
  if (changedAt === null) return
  yield { periodMs: Math.max(soonestMs, at - changedAt), because: { is: 'changed', at: changedAt } }
}

/**
 * Distance as a share of the limit; 0 for a level whose condition holds already and that waits for more polls to agree.
 */
function distanceTo({ move, at }: Boundary, { usage, limit }: Series): number {
  const distance = move === 'enter' ? at - usage : usage - at
  return Math.max(0, distance) / (limit ?? Math.max(1, at))
}

/** The next boundary of a growing series: a level, or its limit. */
function nextAhead({ usage, limit }: Series, boundaries: readonly Boundary[]) {
  const levels = boundaries.filter(({ move }) => move === 'enter').map(({ at, level }) => ({ at, to: level }))
  const ahead: { at: number; to: RisingSeries['to'] }[] = [{ at: limit ?? 0, to: 'limit' }, ...levels]
  // At the same usage the later one counts: a level before the limit, critical before warning.
  return ahead.filter(({ at }) => at > usage).toSorted((a, b) => a.at - b.at || ahead.indexOf(b) - ahead.indexOf(a))[0]
}

function turnAt(at: number, periodMs: number, regularMs: number, because: TurnBecause): PollPlan {
  return { at: Math.round(at + periodMs), regularAt: Math.round(at + regularMs), because }
}
