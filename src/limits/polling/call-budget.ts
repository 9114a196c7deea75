import * as z from 'zod'
import type { SharedText } from '../../redis/steps.ts'
import type { Clock } from '../../runtime/clock.ts'
import { SharedRun } from '../../runtime/concurrency.ts'
import type { Logger } from '../../runtime/logger.ts'

interface Waiter {
  request: PollRequest
  answer(admitted: boolean): void
  fail(error: unknown): void
}

/**
 * This daemon's door to the call budget of all accounts. All who ask while an exchange is under way share the next one: a
 * poll costs no round trip of its own, and the urgent among them come first. What polls really took is sent along.
 */
export class CallBudget {
  readonly #uses: { text: SharedText; callsPerHour: number; clock: Clock; log: Logger }
  #waiters: Waiter[] = []
  /** Calls that were made beyond those that were asked for, and not reported yet. */
  #unsettled = 0
  #isAway = false
  readonly #exchange: SharedRun

  constructor(uses: { text: SharedText; callsPerHour: number; clock: Clock; log: Logger }) {
    this.#uses = uses
    this.#exchange = new SharedRun({
      work: () => this.#serve(this.#waiters.splice(0)),
      // A shortage that could not be reported waits for the next request, or it would be tried for ever.
      done: () => {
        if (this.#waiters.length > 0 || (this.#unsettled !== 0 && !this.#isAway)) void this.#exchange.now()
      },
      clock: uses.clock,
    })
  }

  /** True where a poll may be made now. */
  admits(request: PollRequest): Promise<boolean> {
    return new Promise((answer, fail) => {
      this.#waiters.push({ request, answer, fail })
      void this.#exchange.now()
    })
  }

  /**
   * A poll took so many calls more than it was let through with; below 0: fewer. Reported at once: while the budget seems
   * used up no sweep brings a poll that would report it, and a command that polled is about to end.
   */
  settle(calls: number): void {
    if (calls === 0) return
    this.#unsettled += calls
    void this.#exchange.now()
  }

  /** How many polls are worth taking up now; `until` is when to ask again where that is none. */
  async room(): Promise<{ polls: number; until: number }> {
    const stored = await this.#uses.text.read()
    const now = this.#uses.clock.now()
    return roomFor(this.#filled(stored, 0, now), this.#uses.callsPerHour, now)
  }

  async #serve(waiters: readonly Waiter[]): Promise<void> {
    const { text, callsPerHour, clock } = this.#uses
    const unsettled = this.#unsettled
    this.#unsettled = 0
    try {
      const requests = waiters.map(({ request }) => request)
      const { admitted, say, budget } = await text.change((stored) => {
        const now = clock.now()
        const served = admitPolls(this.#filled(stored, unsettled, now), requests, callsPerHour, now)
        return { after: JSON.stringify(served.budget), result: served }
      })
      this.#isAway = false
      if (say !== null) this.#logShort(say, budget)
      for (const [index, { answer }] of waiters.entries()) answer(admitted[index] === true)
    } catch (error) {
      // No word from Redis, no call: without it no poll could be committed either.
      this.#isAway = true
      this.#unsettled += unsettled
      for (const { fail } of waiters) fail(error)
    }
  }

  #filled(stored: string, unsettled: number, now: number): PollBudget {
    const budget = decodeBudget(stored, now)
    return refillBudget({ ...budget, level: budget.level - unsettled }, this.#uses.callsPerHour, now)
  }

  #logShort({ polls, latestMs }: Shortage, { meanCalls }: PollBudget): void {
    const { log, callsPerHour } = this.#uses
    const facts = { callsPerHour, polls, latestMs, callsPerPoll: Math.round(meanCalls * 10) / 10 }
    log.warn(
      { code: 'poll.budget', ...facts },
      'limits.callsPerHour has no room for the regular turns of all accounts: the oldest are polled first, the rest later',
    )
  }
}

/** Regular turns that had to wait: the budget is too small for the accounts, or they came all at once. */
const shortageSchema = z.strictObject({
  /** Since when, and when last, ms. */
  since: z.number(),
  at: z.number(),
  /** Polls that had to wait. */
  polls: z.number(),
  /** How late the latest of them was, ms. */
  latestMs: z.number(),
  /** Moment at which it was logged last, ms; 0 = not yet. */
  saidAt: z.number(),
})

/**
 * The calls to the limits endpoints that all accounts may make: one bucket for all daemons, that fills by the hour's
 * budget. Every poll takes its calls from it. One at its account's regular turn may overdraw it; one that comes earlier
 * finds room only where budget is left, and the less urgent it is, the more must be. So regular turns are let through
 * as long as the budget is enough for them, what they leave is for what moves, and the budget holds in any hour whatever
 * happens: what the bucket holds and what it may be overdrawn by are part of it.
 */
const budgetSchema = z.strictObject({
  /** Calls that may be made right now; below 0 it is overdrawn. */
  level: z.number().default(0),
  /** Up to when it was filled, ms. */
  at: z.number(),
  /** Calls that a poll takes: the mean, and the most that one took. */
  meanCalls: z.number().nonnegative().default(1),
  largest: z.number().nonnegative().default(1),
  short: shortageSchema.nullable().default(null),
})

export type PollBudget = z.infer<typeof budgetSchema>
export type Shortage = z.infer<typeof shortageSchema>

/** A poll that is due, or comes early. */
export interface PollRequest {
  calls: number
  /** The account's regular turn, ms; in the future: the poll comes early. */
  regularAt: number
  /** Urgency of an early poll: 0 to 1. */
  urgency: number
}

const HOUR_MS = 3_600_000
/** Share of the budget that may gather, and by which it may be overdrawn: under three minutes of it each. */
const DEPTH_SHARE = 0.045
/** Kept back for calls that were let through in one hour and made in the next. */
const LEEWAY_SHARE = 0.01
/** However large single polls are, so much of the budget is handed out. */
const LEAST_SHARE = 0.1
/** A clock further behind than this was set back; anything less is another daemon's that runs ahead. */
const SET_BACK_MS = 300_000
/** Later than by this a sweep finds no regular turn while there is room. */
const LATE_MS = 30_000
/** A shortage is over when no regular turn had to wait for so long. */
const SHORT_MS = 600_000

/** Calls that the bucket holds at most, and by how many it may be overdrawn. A poll of any size fits in. */
export function depthOf({ largest }: PollBudget, callsPerHour: number): number {
  return Math.max(callsPerHour * DEPTH_SHARE, largest)
}

/** Calls an hour that the bucket fills by. */
export function refillPerHour(budget: PollBudget, callsPerHour: number): number {
  const kept = 2 * depthOf(budget, callsPerHour) + callsPerHour * LEEWAY_SHARE
  return Math.max(callsPerHour - kept, callsPerHour * LEAST_SHARE)
}

/** The budget with the calls that came in with time. */
export function refillBudget(budget: PollBudget, callsPerHour: number, now: number): PollBudget {
  const from = budget.at > now + SET_BACK_MS ? now : budget.at
  const brought = (Math.max(0, now - from) * refillPerHour(budget, callsPerHour)) / HOUR_MS
  const short = budget.short !== null && now - budget.short.at > SHORT_MS ? null : budget.short
  const most = depthOf(budget, callsPerHour)
  return { ...budget, level: Math.min(most, budget.level + brought), at: Math.max(from, now), short }
}

/**
 * Lets polls through as far as there is room: regular turns first, the oldest first of all, then the most urgent. The
 * budget is one that was filled up to `now`.
 *
 * @returns the budget from now on, for each request in its place whether it was let through, and a shortage to be logged
 */
export function admitPolls(before: PollBudget, requests: readonly PollRequest[], callsPerHour: number, now: number) {
  const budget = { ...before }
  const admitted = requests.map(() => false)
  // Below 0: the oldest of the regular turns first. From 0 on: the most urgent of the early ones.
  const rankOf = ({ regularAt, urgency }: PollRequest) => (regularAt <= now ? regularAt - now - 1 : 1 - urgency)
  const inOrder = [...requests.entries()].sort(([, a], [, b]) => rankOf(a) - rankOf(b))
  for (const [index, { calls, regularAt, urgency }] of inOrder) {
    budget.largest = Math.max(budget.largest, calls)
    budget.meanCalls += (calls - budget.meanCalls) / 100
    const lateMs = now - regularAt
    const depth = depthOf(budget, callsPerHour)
    // The budget that must be left after it.
    admitted[index] = budget.level - calls >= (lateMs >= 0 ? -depth : (depth - calls) * (1 - urgency))
    // Sweeps bring no more than there is room for: that polls wait shows in how late they are, not in how many are refused.
    const isShort = lateMs >= 0 && (!admitted[index] || (lateMs > LATE_MS && budget.level < 0))
    if (isShort) budget.short = shortAfter(budget.short, lateMs, now)
    if (admitted[index]) budget.level -= calls
  }
  const say = now - (budget.short?.saidAt ?? now) >= HOUR_MS ? budget.short : null
  if (say !== null) budget.short = { ...say, saidAt: now }
  return { budget, admitted, say }
}

function shortAfter(short: Shortage | null, lateMs: number, now: number): Shortage {
  const { since = now, polls = 0, latestMs = 0, saidAt = 0 } = short ?? {}
  return { since, at: now, polls: polls + 1, latestMs: Math.max(latestMs, lateMs), saidAt }
}

/**
 * Polls that are worth taking up now; `until` is when to ask again where that is none, ms: not for each single call
 * that comes free, and not before the largest fits in - due accounts would be taken up and put back again and again.
 */
export function roomFor(budget: PollBudget, callsPerHour: number, now: number): { polls: number; until: number } {
  const depth = depthOf(budget, callsPerHour)
  const calls = budget.level + depth
  const worthwhile = Math.max(budget.largest, depth / 8)
  if (calls >= worthwhile) return { polls: Math.floor(calls / budget.meanCalls), until: now }
  return { polls: 0, until: now + Math.ceil(((worthwhile - calls) * HOUR_MS) / refillPerHour(budget, callsPerHour)) }
}

/** A text that is no budget counts as a new budget: earlier calls are unknown, and nothing has gathered yet. */
export function decodeBudget(stored: string, now: number): PollBudget {
  try {
    return budgetSchema.parse(JSON.parse(stored))
  } catch {
    return budgetSchema.parse({ at: now })
  }
}
