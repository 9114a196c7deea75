import type { ProviderFailure } from '../../provider/failure.ts'
import { shareOf } from '../../tokens/plan-refresh.ts'
import type { NearThreshold, PollTurn, TurnBecause } from '../poll-state.ts'
import type { Series } from '../series.ts'

/** The usage `at` which a series enters or leaves a level by its rule. */
export type Boundary = Pick<NearThreshold, 'level' | 'move' | 'asks' | 'of'> & { at: number }

/** Boundaries by series; what no rule watches has none. */
export type Boundaries = ReadonlyMap<string, readonly Boundary[]>

/** Findings of a poll that began at `at`, as far as they bear on the next one. */
export interface PollFindings {
  hubId: number
  at: number
  everyMs: number
  /** Never more than `everyMs`. */
  soonestMs: number
  /** The turn that it was; undefined where none was stored. */
  turn: PollTurn | undefined
  isFirst: boolean
  /** Series that may be near a threshold. */
  series: readonly Series[]
  boundaries: Boundaries
}

/** The account's next poll. */
export type PollPlan = PollTurn & { at: number }

/** A threshold is near within this distance: a share of the limit, or of the count where there is none. */
const NEAR = 0.1

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
 * Moment of the next poll, and why: after `soonestMs` while a series is near a threshold, else at the regular turn. `isNear`: one
 * is, however often the account is polled.
 */
export function planPoll(found: PollFindings): PollPlan & { isNear: boolean } {
  const { hubId, at, everyMs, isFirst, turn } = found
  const soonestMs = Math.min(found.soonestMs, regularPeriod(hubId, everyMs, false))
  const phase = regularPeriod(hubId, everyMs, isFirst || (turn !== undefined && at < turn.regularAt))
  const regularMs = isFirst ? phase : Math.max(phase, soonestMs)
  const near = nearestThreshold(found)
  const isNear = near !== undefined
  if (isNear && soonestMs < regularMs) return { ...turnAt(at, soonestMs, regularMs, near), isNear }
  return { ...turnAt(at, regularMs, regularMs, { is: isFirst ? 'new' : 'still' }), isNear }
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
 * For an account whose period was made shorter than its next poll is away: a moment within the new one, spread over it.
 * Undefined where it need not be moved, or the provider named how long to wait.
 */
export function planSooner(
  hubId: number,
  everyMs: number,
  next: { at: number; turn: PollTurn | undefined },
  now: number,
): number | undefined {
  const mayStay = next.at <= now + everyMs || next.turn?.because.is === 'told'
  return mayStay ? undefined : Math.round(now + everyMs * shareOf(hubId))
}

function nearestThreshold({ series: all, boundaries }: PollFindings): NearThreshold | undefined {
  let nearest: { distance: number; series: Series; boundary: Boundary } | undefined
  for (const series of all) {
    for (const boundary of boundaries.get(series.id) ?? []) {
      const distance = distanceTo(boundary, series)
      if (distance < (nearest?.distance ?? NEAR)) nearest = { distance, series, boundary }
    }
  }
  if (nearest === undefined) return undefined
  const { id, usage, limit } = nearest.series
  const { level, move, asks, of } = nearest.boundary
  return { is: 'near', series: id, usage, limit, level, move, asks, of }
}

/**
 * Distance as a share of the limit; 0 for a level whose condition holds already and that waits for more polls to agree.
 */
function distanceTo({ move, at }: Boundary, { usage, limit }: Series): number {
  const distance = move === 'enter' ? at - usage : usage - at
  return Math.max(0, distance) / (limit ?? Math.max(1, at))
}

function turnAt(at: number, periodMs: number, regularMs: number, because: TurnBecause): PollPlan {
  return { at: Math.round(at + periodMs), regularAt: Math.round(at + regularMs), because }
}
