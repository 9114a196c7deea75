/**
 * The calls to the limits endpoints that the whole fleet may make: one bucket for all daemons, that fills by the hour's
 * budget. Every poll takes its calls from it. One at its account's regular turn may overdraw it; one that comes earlier
 * finds room only where something is left, and the less urgent it is, the more must be. So regular turns are let through
 * as long as the budget is enough for them, what they leave is for what moves, and the budget holds in any hour whatever
 * happens: what the bucket holds and what it may be overdrawn by are part of it.
 */
export interface PollBudget {
  /** Calls that may be made right now; below 0 it is overdrawn. */
  level: number
  /** Up to when it was filled, ms. */
  at: number
  /** Calls that a poll takes: the mean, and the most that one took. */
  meanCalls: number
  largest: number
  /** Regular turns that had to wait: the budget is too small for the fleet, or the fleet came all at once. */
  short: Shortage | null
}

export interface Shortage {
  /** Since when, and when last, ms. */
  since: number
  at: number
  /** Polls that had to wait. */
  polls: number
  /** How late the latest of them was, ms. */
  latestMs: number
  /** When somebody was last told, ms; 0 = not yet. */
  saidAt: number
}

/** A poll that wants to be made. */
export interface PollRequest {
  calls: number
  /** When the account's regular turn was, ms; in the future: it comes early. */
  regularAt: number
  /** Of an early one: 0 to 1. */
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
const SAID_EVERY_MS = HOUR_MS

/** What was called before is not known: nothing has gathered yet. */
export function newBudget(now: number): PollBudget {
  return { level: 0, at: now, meanCalls: 1, largest: 1, short: null }
}

/** Calls that the bucket holds at most, and by how many it may be overdrawn. A poll fits in, whatever its size. */
export function depthOf({ largest }: PollBudget, callsPerHour: number): number {
  return Math.max(callsPerHour * DEPTH_SHARE, largest)
}

/** Calls an hour that the bucket fills by. */
export function refillPerHour(budget: PollBudget, callsPerHour: number): number {
  const kept = 2 * depthOf(budget, callsPerHour) + callsPerHour * LEEWAY_SHARE
  return Math.max(callsPerHour - kept, callsPerHour * LEAST_SHARE)
}

/** What time has brought. */
export function refill(budget: PollBudget, callsPerHour: number, now: number): PollBudget {
  const from = budget.at > now + SET_BACK_MS ? now : budget.at
  const brought = (Math.max(0, now - from) * refillPerHour(budget, callsPerHour)) / HOUR_MS
  const short = budget.short !== null && now - budget.short.at > SHORT_MS ? null : budget.short
  const level = Math.min(depthOf(budget, callsPerHour), budget.level + brought)
  return { ...budget, level, at: Math.max(from, now), short }
}

/**
 * Lets polls through as far as there is room: regular turns first, the oldest first of all, then the most urgent. The
 * budget is one that was filled up to `now`.
 *
 * @returns the budget from now on, and for each request in its place whether it was let through
 */
export function admitPolls(
  before: PollBudget,
  requests: readonly PollRequest[],
  callsPerHour: number,
  now: number,
): { budget: PollBudget; admitted: boolean[] } {
  const budget = { ...before }
  const admitted = requests.map(() => false)
  const inOrder = [...requests.entries()].sort(([, a], [, b]) => compare(a, b, now))
  for (const [index, request] of inOrder) {
    budget.largest = Math.max(budget.largest, request.calls)
    budget.meanCalls += (request.calls - budget.meanCalls) / 100
    const lateMs = now - request.regularAt
    const isAdmitted = budget.level - request.calls >= floorFor(request, budget, callsPerHour, now)
    // Sweeps bring no more than there is room for: that polls wait shows in how late they are, not in how many are refused.
    const waits = lateMs >= 0 && (!isAdmitted || (lateMs > LATE_MS && budget.level < 0))
    if (waits) budget.short = noted(budget.short, lateMs, now)
    if (!isAdmitted) continue
    budget.level -= request.calls
    admitted[index] = true
  }
  return { budget, admitted }
}

/** The level that must be left. */
function floorFor(request: PollRequest, budget: PollBudget, callsPerHour: number, now: number): number {
  const depth = depthOf(budget, callsPerHour)
  if (request.regularAt <= now) return -depth
  return (depth - request.calls) * (1 - request.urgency)
}

function compare(a: PollRequest, b: PollRequest, now: number): number {
  const [isLate, isOtherLate] = [a.regularAt <= now, b.regularAt <= now]
  if (isLate !== isOtherLate) return isLate ? -1 : 1
  return isLate ? a.regularAt - b.regularAt : b.urgency - a.urgency
}

function noted(short: Shortage | null, lateMs: number, now: number): Shortage {
  if (short === null) return { since: now, at: now, polls: 1, latestMs: lateMs, saidAt: 0 }
  return { ...short, at: now, polls: short.polls + 1, latestMs: Math.max(short.latestMs, lateMs) }
}

/** A poll took other calls than it was let through with: more, or (below 0) fewer. */
export function settle(budget: PollBudget, calls: number): PollBudget {
  return { ...budget, level: budget.level - calls }
}

/** Whether it is time to say that the budget is too small, and the budget after it was said. */
export function sayShort(budget: PollBudget, now: number): { budget: PollBudget; say: Shortage | undefined } {
  const { short } = budget
  if (short === null || (short.saidAt !== 0 && now - short.saidAt < SAID_EVERY_MS)) return { budget, say: undefined }
  return { budget: { ...budget, short: { ...short, saidAt: now } }, say: short }
}

/**
 * Polls that are worth taking up now; `until` is when to look again where that is none, ms: not for each single call
 * that comes free, and not before the largest fits in - whoever is due would be taken up and put back again and again.
 */
export function roomFor(budget: PollBudget, callsPerHour: number, now: number): { polls: number; until: number } {
  const depth = depthOf(budget, callsPerHour)
  const calls = budget.level + depth
  const worthwhile = Math.max(budget.largest, depth / 8)
  if (calls >= worthwhile) return { polls: Math.floor(calls / budget.meanCalls), until: now }
  return { polls: 0, until: now + Math.ceil(((worthwhile - calls) * HOUR_MS) / refillPerHour(budget, callsPerHour)) }
}

export function encodeBudget({ level, at, meanCalls, largest, short }: PollBudget): string {
  const facts = short && [short.since, short.at, short.polls, short.latestMs, short.saidAt].map(Math.round)
  return JSON.stringify([level, at, meanCalls, largest, facts])
}

/** Undefined for what is none: what was called before is then not known. */
export function decodeBudget(stored: string): PollBudget | undefined {
  let list: unknown
  try {
    list = JSON.parse(stored)
  } catch {
    return undefined
  }
  if (!Array.isArray(list) || list.length !== 5) return undefined
  const [level, at, meanCalls, largest, facts] = list as unknown[]
  const short = facts === null ? null : readShortage(facts)
  if (!isNumber(level) || !isNumber(at) || !isNumber(meanCalls) || !isNumber(largest) || short === undefined) return
  return meanCalls < 0 || largest < 0 ? undefined : { level, at, meanCalls, largest, short }
}

function readShortage(facts: unknown): Shortage | undefined {
  if (!Array.isArray(facts) || facts.length !== 5 || !facts.every(isNumber)) return undefined
  const [since = 0, at = 0, polls = 0, latestMs = 0, saidAt = 0] = facts
  return { since, at, polls, latestMs, saidAt }
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value)
}
