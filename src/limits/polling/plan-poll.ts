import type { ProviderFailure } from '../../provider/failure.ts'
import { shareOf } from '../../tokens/plan-refresh.ts'
import type { Series } from '../series.ts'
import type { Growth } from './growth.ts'
import { regularPeriod, retryPause, toldToWait } from './next-poll.ts'
import type { Because, Level, Near, PollTurn, Rising } from './poll-turn.ts'

/** Where a series enters or leaves a level, as its rule has it. */
export interface Boundary {
  level: Level
  move: 'enter' | 'leave'
  asks: 'percent' | 'count' | 'remaining'
  of: number
  /** The usage that this is at. */
  at: number
}

/** Boundaries by series; what no rule watches has none. */
export type Boundaries = ReadonlyMap<string, readonly Boundary[]>

/** What a poll that began at `at` found, as far as it bears on the next one. */
export interface Found {
  hubId: number
  at: number
  everyMs: number
  /** Never more than `everyMs`. */
  soonestMs: number
  isFirst: boolean
  /** The turn that it was; undefined where none was stored. */
  turn: PollTurn | undefined
  /** When a poll last found a number changed, this one included; null = never. */
  changedAt: number | null
  series: readonly Series[]
  boundaries: Boundaries
  growth: Growth
}

/** When an account is polled next. */
export interface PollPlan extends PollTurn {
  at: number
}

/** From this distance on a threshold is far: a share of the limit, or of the count where there is none. */
const FAR = 0.1
/** An account that is near and does not move is polled so many times in as long as it has stood still. */
const EASE = 16
/** Polls that an account gets on its way to a threshold that it is rising to. */
const POLLS_ON_THE_WAY = 8
/** Of two that are due at once, the one that something is about to happen to goes first. */
const WEIGHT = { near: 1, rising: 1, changed: 0.5, failed: 0.7 }

const DAY_MS = 86_400_000

/**
 * When to poll next, and why. `everyMs` is the longest period; what is near a threshold, rises or has just changed comes
 * sooner, down to `soonestMs`; nothing comes later than its regular turn. What is near and stands still is eased by and
 * by, to two polls where others have one: it must not keep from a budget those that move.
 */
export function planPoll(found: Found): PollPlan {
  const { hubId, at, everyMs, isFirst, turn } = found
  const wasEarly = turn !== undefined && at < turn.regularAt
  const soonestMs = Math.min(found.soonestMs, regularPeriod(hubId, everyMs, false))
  const phase = regularPeriod(hubId, everyMs, isFirst || wasEarly)
  const regularMs = isFirst ? phase : Math.max(phase, soonestMs)
  const wishes = wishesOf(found, soonestMs, regularMs).filter(({ periodMs }) => periodMs < regularMs)
  const [first, ...rest] = wishes
  if (first === undefined) return turnAt(at, regularMs, regularMs, 0, { is: isFirst ? 'new' : 'still' })
  const { periodMs, because } = rest.reduce((best, wish) => (wish.periodMs < best.periodMs ? wish : best), first)
  const urgencies = wishes.map((wish) => urgencyOf(wish.periodMs, soonestMs, regularMs) * WEIGHT[wish.because.is])
  return turnAt(at, periodMs, regularMs, Math.max(...urgencies), because)
}

/**
 * After a poll of which nothing, or not all, could be read, at `now`. `planned` is what follows from what was read;
 * undefined: nothing. `mayRetry`: the share of errors allows for a call that follows a failure.
 */
export function planAfterFailure(
  { hubId, at, everyMs }: Pick<Found, 'hubId' | 'at' | 'everyMs'>,
  failures: readonly ProviderFailure[],
  { count, mayRetry, now }: { count: number; mayRetry: boolean; now: number },
  planned: PollPlan | undefined,
): PollPlan {
  const regularMs = regularPeriod(hubId, everyMs, false)
  const regular = planned ?? turnAt(at, regularMs, regularMs, 0, { is: 'failed' })
  const told = toldToWait(failures)
  if (told > 0) {
    const until = Math.round(now + told)
    return { ...regular, at: until, regularAt: Math.max(until, regular.regularAt), because: { is: 'told' } }
  }
  const pause = mayRetry ? retryPause(failures, count, regularMs) : undefined
  if (pause === undefined || now + pause >= regular.at) return regular
  const because: Because = { is: 'failed' }
  return { ...regular, at: Math.round(now + pause), urgency: WEIGHT.failed, because }
}

/** An early poll that found no room waits at least so long. */
const LEAST_PAUSE_MS = 60_000
/** How much more urgent it is each time, so that it gets its turn before those that had one. */
const PUT_OFF_COUNTS = 2 / 9

/**
 * For an account that was due at `now` and that the call budget had no room for. An early poll is tried again a little
 * later, each time more urgent and after twice the pause, and at the regular turn at the latest. A regular one keeps its place, so that
 * of those that wait the oldest is first.
 *
 * @param polledAt when the account was polled last, ms
 */
export function planWithoutRoom(turn: PollTurn, polledAt: number, now: number): PollPlan {
  const { regularAt, urgency, because } = turn
  const pause = Math.max(LEAST_PAUSE_MS, now - polledAt)
  const instead = because.is === 'budget' ? because.instead : because
  return {
    at: Math.round(Math.min(regularAt, now + pause)),
    ...{ regularAt, urgency: Math.min(1, urgency + PUT_OFF_COUNTS), because: { is: 'budget', instead } },
  }
}

/**
 * For an account whose period was made shorter than its next poll is away: a turn within the new one, spread over it.
 * Undefined where it need not be moved, or the provider said how long to wait.
 */
export function planSooner(
  hubId: number,
  everyMs: number,
  next: { at: number; turn: PollTurn | undefined },
  now: number,
): PollPlan | undefined {
  if (next.at <= now + everyMs || next.turn?.because.is === 'told') return undefined
  const periodMs = everyMs * shareOf(hubId)
  return turnAt(now, periodMs, periodMs, 0, { is: 'still' })
}

/** Whether any series stands so near a threshold that it is polled sooner for it. */
export function isNearAny(all: readonly Series[], boundaries: Boundaries): boolean {
  return all.some(
    (series) => boundaries.get(series.id)?.some((boundary) => distanceTo(boundary, series) < FAR) === true,
  )
}

interface Wish {
  periodMs: number
  because: Near | Rising | { is: 'changed'; at: number }
}

function wishesOf(found: Found, soonestMs: number, regularMs: number): Wish[] {
  const wishes: Wish[] = []
  const wishFor = (periodMs: number, because: Wish['because']) => wishes.push({ periodMs, because })
  for (const series of found.series) {
    const boundaries = found.boundaries.get(series.id)
    if (boundaries === undefined) continue
    for (const boundary of boundaries) {
      const distance = distanceTo(boundary, series)
      if (distance >= FAR) continue
      const near = nearOf(series, boundary, found)
      const stillMs = found.at - Math.max(near.since, found.changedAt ?? 0)
      const eased = Math.min(stillMs / EASE, regularMs / 2)
      wishFor(Math.max(nearPeriod(distance, soonestMs, found.everyMs), eased), near)
    }
    const perDay = found.growth.get(series.id) ?? 0
    const ahead = perDay > 0 ? nextAhead(series, boundaries) : undefined
    if (ahead === undefined) continue
    const days = (ahead.at - series.usage) / perDay
    const periodMs = Math.max(soonestMs, (days * DAY_MS) / POLLS_ON_THE_WAY)
    wishFor(periodMs, { is: 'rising', series: series.id, days, to: ahead.to })
  }
  const { changedAt, at } = found
  // As long again as nothing has changed: what moves now and then is followed, and let go by and by.
  if (changedAt !== null) wishFor(Math.max(soonestMs, at - changedAt), { is: 'changed', at: changedAt })
  return wishes
}

/** As a share of the limit; 0 for a level whose condition holds already and that waits for more polls to agree. */
function distanceTo({ move, at }: Boundary, { usage, limit }: Series): number {
  const way = move === 'enter' ? at - usage : usage - at
  return Math.max(0, way) / (limit ?? Math.max(1, at))
}

/** From the shortest period at the threshold to the longest where it is far, each step of the way by the same factor. */
function nearPeriod(distance: number, soonestMs: number, everyMs: number): number {
  return soonestMs * (everyMs / soonestMs) ** (distance / FAR)
}

/** `since`: it has been near the same boundary from one poll to the next. */
function nearOf({ id, usage, limit }: Series, { level, move, asks, of }: Boundary, { at, turn }: Found): Near {
  const was = turn?.because.is === 'budget' ? turn.because.instead : turn?.because
  const isSame = was?.is === 'near' && was.series === id && was.level === level && was.move === move
  return { is: 'near', series: id, usage, limit, level, move, asks, of, since: isSame ? was.since : at }
}

/** What a series that grows reaches next: a level, or its limit. */
function nextAhead(
  { usage, limit }: Series,
  boundaries: readonly Boundary[],
): { at: number; to: Rising['to'] } | undefined {
  let next: { at: number; to: Rising['to'] } | undefined =
    limit !== null && limit > usage ? { at: limit, to: 'limit' } : undefined
  for (const { move, at, level } of boundaries) {
    if (move === 'enter' && at > usage && (next === undefined || at <= next.at)) next = { at, to: level }
  }
  return next
}

/** 0 at the regular turn, 1 at the shortest period. */
function urgencyOf(periodMs: number, soonestMs: number, regularMs: number): number {
  if (regularMs <= soonestMs) return 0
  return Math.min(1, Math.log(regularMs / periodMs) / Math.log(regularMs / soonestMs))
}

function turnAt(at: number, periodMs: number, regularMs: number, urgency: number, because: Because): PollPlan {
  return { at: Math.round(at + periodMs), regularAt: Math.round(at + regularMs), urgency, because }
}
