import { admitPolls, decodeBudget, refill, roomFor, type Shortage } from '../../../src/limits/polling/call-budget.ts'
import type { Boundaries } from '../../../src/limits/polling/plan-poll.ts'
import { type PollPlan, planAfterFailure, planPoll, planWithoutRoom } from '../../../src/limits/polling/plan-poll.ts'
import type { PollTurn } from '../../../src/limits/polling/poll-turn.ts'
import type { Series } from '../../../src/limits/series.ts'
import type { ProviderFailure } from '../../../src/provider/failure.ts'

const SECOND = 1_000
const HOUR = 3_600 * SECOND
const DAY = 24 * HOUR
const SWEEP_MS = 15_000
const CHUNK = 200
const WORKERS = 3
/** From a sweep to the first poll of a chunk, and from one poll to the next. */
const CHUNK_LATENCY_MS = 150
const POLL_LATENCY_MS = 2

export interface SimulatedAccount {
  hubId: number
  /** What it is an example of. */
  kind: string
  everyMs: number
  soonestMs: number
  /** Calls that one poll of it takes at most where all goes well: so many it asks for. */
  calls: number
  /** Calls that its nth poll takes in truth; absent: as many as it asks for. */
  takes?(n: number): number
  /** Usage of its one series, of a limit of 1,000, by time. Undefined: the poll fails, and may be tried again soon. */
  usageAt(now: number): number | undefined
  /** When it is connected, ms; absent: it was there before. */
  connectedAt?: number
}

/** A poll, made or not. */
export interface SimulatedPoll {
  account: SimulatedAccount
  now: number
  /** Since the one before, or since it was connected, ms. */
  pauseMs: number
  turn: PollTurn
  admitted: boolean
}

/** A warning from 80 %, and that is all. */
const BOUNDARIES: Boundaries = new Map([
  ['overall', [{ level: 'warning' as const, move: 'enter' as const, asks: 'percent' as const, of: 80, at: 800 }]],
])

const FAILURE: ProviderFailure = { class: 'transient', code: '503', message: 'not now', status: 503 }

interface Standing {
  /** When it was polled last, well or not; before the first time, when it was connected. */
  polledAt: number
  /** When it was read last; undefined: never. */
  readAt: number | undefined
  usage: number
  changedAt: number | null
  turn: PollTurn
  /** In a row. */
  failures: number
  polls: number
}

/** What a fleet did. */
export interface Simulated {
  callsBySecond: Int32Array
  said: { at: number; short: Shortage }[]
  /** For how long each account had not been polled when it was over, ms. */
  unpolledMs: number[]
}

/**
 * A fleet on a clock of its own, with the functions that decide about real polls: sweeps find who is due, workers ask the
 * budget they share for room, polls plan their next one.
 */
export function simulatePolls(
  accounts: readonly SimulatedAccount[],
  { callsPerHour, forMs }: { callsPerHour: number; forMs: number },
  seen: (poll: SimulatedPoll) => void,
): Simulated {
  // What was admitted last may end a little later.
  const callsBySecond = new Int32Array(Math.ceil(forMs / SECOND) + 600)
  const said: Simulated['said'] = []
  const due = new DueHeap(accounts.length)
  const standings = accounts.map(({ connectedAt, everyMs, usageAt }, index): Standing => {
    // As if they had been polled for long: each somewhere in its period.
    const at = connectedAt ?? Math.floor(((index * 0.618) % 1) * 0.9 * everyMs)
    due.push(at, index)
    const polledAt = connectedAt ?? at - Math.floor(0.9 * everyMs)
    const turn: PollTurn = {
      regularAt: at,
      urgency: 0,
      because: { is: connectedAt === undefined ? 'still' : 'new' },
    }
    const readAt = connectedAt === undefined ? polledAt : undefined
    return { polledAt, readAt, usage: usageAt(0) ?? 0, changedAt: null, turn, failures: 0, polls: 0 }
  })
  let shared = ''
  const known = Array.from({ length: WORKERS }, () => '')
  const unsettled = Array.from({ length: WORKERS }, () => 0)

  const workOn = (chunk: readonly number[], worker: number, now: number) => {
    const requests = chunk.map((index) => ({
      calls: accounts[index]?.calls ?? 1,
      regularAt: standings[index]?.turn.regularAt ?? 0,
      urgency: standings[index]?.turn.urgency ?? 0,
    }))
    for (;;) {
      const read = known[worker] ?? ''
      const stored = decodeBudget(read, now)
      const before = refill({ ...stored, level: stored.level - (unsettled[worker] ?? 0) }, callsPerHour, now)
      const { budget, admitted, say } = admitPolls(before, requests, callsPerHour, now)
      const lost = read !== shared
      known[worker] = lost ? shared : JSON.stringify(budget)
      if (lost) continue
      shared = known[worker] ?? ''
      unsettled[worker] = 0
      if (say !== null) said.push({ at: now, short: say })
      for (const [n, index] of chunk.entries()) poll(index, worker, now + n * POLL_LATENCY_MS, admitted[n] === true)
      return
    }
  }

  const poll = (index: number, worker: number, now: number, admitted: boolean) => {
    const [account, standing] = [accounts[index], standings[index]]
    if (account === undefined || standing === undefined) return
    seen({ account, now, pauseMs: now - standing.polledAt, turn: standing.turn, admitted })
    if (!admitted) {
      const plan = planWithoutRoom(standing.turn, standing.polledAt, now)
      standing.turn = plan
      due.push(plan.at, index)
      return
    }
    const taken = account.takes?.(standing.polls) ?? account.calls
    unsettled[worker] = (unsettled[worker] ?? 0) + taken - account.calls
    const second = Math.floor(now / SECOND)
    callsBySecond[second] = (callsBySecond[second] ?? 0) + taken
    const plan = planOf(account, standing, now)
    standings[index] = { ...plan.standing, polledAt: now, polls: standing.polls + 1, turn: plan.turn }
    due.push(plan.turn.at, index)
  }

  for (let now = 0; now < forMs; now += SWEEP_MS) {
    const { polls } = roomFor(refill(decodeBudget(shared, now), callsPerHour, now), callsPerHour, now)
    const claimed: number[] = []
    while (claimed.length < polls && due.first() <= now) claimed.push(due.pop())
    for (let from = 0, n = 0; from < claimed.length; from += CHUNK, n++) {
      workOn(claimed.slice(from, from + CHUNK), n % WORKERS, now + (n + 1) * CHUNK_LATENCY_MS)
    }
  }
  return { callsBySecond, said, unpolledMs: standings.map(({ polledAt }) => forMs - polledAt) }
}

/** What a poll found, and when the next one is. */
function planOf(account: SimulatedAccount, before: Standing, now: number): { standing: Standing; turn: PollPlan } {
  const { hubId, everyMs, soonestMs } = account
  const usage = account.usageAt(now)
  if (usage === undefined) {
    const attempt = { count: before.failures, mayRetry: true, tellAt: Number.POSITIVE_INFINITY, now }
    const turn = planAfterFailure({ hubId, at: now, everyMs }, [FAILURE], attempt, undefined)
    return { standing: { ...before, failures: before.failures + 1 }, turn }
  }
  const { readAt } = before
  const changedAt = readAt !== undefined && usage !== before.usage ? now : before.changedAt
  const series: Series = { id: 'overall', metric: 'customProperties.overall', usage, limit: 1_000, percent: usage / 10 }
  const perDay = readAt === undefined ? 0 : ((usage - before.usage) * DAY) / (now - readAt)
  const turn = planPoll({
    ...{ hubId, at: now, everyMs, soonestMs, isFirst: readAt === undefined },
    ...{ turn: before.turn, changedAt, series: [series], boundaries: BOUNDARIES },
    growth: perDay === 0 ? NO_GROWTH : new Map([['overall', perDay]]),
  })
  return { standing: { ...before, readAt: now, usage, changedAt, failures: 0 }, turn }
}

/** The most calls in any 3,601 seconds in a row: no hour, whenever it begins, has more. */
export function busiestHour(callsBySecond: Int32Array): number {
  let sum = 0
  let most = 0
  for (const [second, calls] of callsBySecond.entries()) {
    sum += calls - (callsBySecond[second - HOUR / SECOND - 1] ?? 0)
    most = Math.max(most, sum)
  }
  return most
}

const NO_GROWTH: ReadonlyMap<string, number> = new Map()

/** Indexes by when they are due, in place of the due sets. */
class DueHeap {
  readonly #at: Float64Array
  readonly #index: Int32Array
  #size = 0

  constructor(most: number) {
    this.#at = new Float64Array(most)
    this.#index = new Int32Array(most)
  }

  first(): number {
    return this.#size === 0 ? Number.POSITIVE_INFINITY : (this.#at[0] ?? 0)
  }

  push(at: number, index: number): void {
    let hole = this.#size++
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      if ((this.#at[parent] ?? 0) <= at) break
      this.#move(parent, hole)
      hole = parent
    }
    this.#at[hole] = at
    this.#index[hole] = index
  }

  pop(): number {
    const first = this.#index[0] ?? 0
    const last = --this.#size
    const [at, index] = [this.#at[last] ?? 0, this.#index[last] ?? 0]
    let hole = 0
    for (;;) {
      let child = 2 * hole + 1
      if (child >= last) break
      if (child + 1 < last && (this.#at[child + 1] ?? 0) < (this.#at[child] ?? 0)) child++
      if ((this.#at[child] ?? 0) >= at) break
      this.#move(child, hole)
      hole = child
    }
    this.#at[hole] = at
    this.#index[hole] = index
    return first
  }

  #move(from: number, to: number): void {
    this.#at[to] = this.#at[from] ?? 0
    this.#index[to] = this.#index[from] ?? 0
  }
}
