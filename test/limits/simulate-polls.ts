import type { Boundaries } from '../../src/limits/plan-poll.ts'
import { planPoll, planWithoutRoom } from '../../src/limits/plan-poll.ts'
import {
  admitPolls,
  decodeBudget,
  encodeBudget,
  newBudget,
  refill,
  roomFor,
  type Shortage,
  sayShort,
} from '../../src/limits/poll-budget.ts'
import type { PollTurn } from '../../src/limits/poll-turn.ts'
import type { Series } from '../../src/limits/series.ts'

const MINUTE = 60_000
const DAY = 1_440 * MINUTE
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
  /** Calls that one poll of it takes. */
  calls: number
  /** Usage of its one series, of a limit of 1,000, by time. */
  usageAt(now: number): number
}

/** A poll, made or not. */
export interface SimulatedPoll {
  account: SimulatedAccount
  now: number
  /** Since the one before, ms. */
  pauseMs: number
  turn: PollTurn
  admitted: boolean
}

/** A warning from 80 %, and that is all. */
const BOUNDARIES: Boundaries = new Map([
  ['overall', [{ level: 'warning' as const, move: 'enter' as const, asks: 'percent' as const, of: 80, at: 800 }]],
])

interface Standing {
  polledAt: number
  usage: number
  changedAt: number | null
  turn: PollTurn
}

/**
 * A fleet on a clock of its own, with the functions that decide about real polls: sweeps find who is due, workers ask the
 * budget they share for room, polls plan their next one.
 */
export function simulatePolls(
  accounts: readonly SimulatedAccount[],
  { callsPerHour, forMs }: { callsPerHour: number; forMs: number },
  seen: (poll: SimulatedPoll) => void,
): { callsByMinute: Int32Array; said: { at: number; short: Shortage }[] } {
  const callsByMinute = new Int32Array(Math.ceil(forMs / MINUTE) + 1)
  const said: { at: number; short: Shortage }[] = []
  const due = new DueHeap(accounts.length)
  const standings = accounts.map((account, index): Standing => {
    // As if they had been polled for long: each somewhere in its period.
    const at = Math.floor(((index * 0.618) % 1) * 0.9 * account.everyMs)
    due.push(at, index)
    const turn: PollTurn = { regularAt: at, urgency: 0, because: { is: 'still' } }
    return { polledAt: at - Math.floor(0.9 * account.everyMs), usage: account.usageAt(0), changedAt: null, turn }
  })
  let shared = ''
  const known = Array.from({ length: WORKERS }, () => '')

  const workOn = (chunk: readonly number[], worker: number, now: number) => {
    const requests = chunk.map((index) => ({
      calls: accounts[index]?.calls ?? 1,
      regularAt: standings[index]?.turn.regularAt ?? 0,
      urgency: standings[index]?.turn.urgency ?? 0,
    }))
    for (;;) {
      const read = known[worker] ?? ''
      const before = refill(decodeBudget(read) ?? newBudget(now), callsPerHour, now)
      const served = admitPolls(before, requests, callsPerHour, now)
      const { budget, say } = sayShort(served.budget, now)
      const lost = read !== shared
      known[worker] = lost ? shared : encodeBudget(budget)
      if (lost) continue
      shared = known[worker] ?? ''
      if (say !== undefined) said.push({ at: now, short: say })
      for (const [n, index] of chunk.entries()) poll(index, now + n * POLL_LATENCY_MS, served.admitted[n] === true)
      return
    }
  }

  const poll = (index: number, now: number, admitted: boolean) => {
    const [account, standing] = [accounts[index], standings[index]]
    if (account === undefined || standing === undefined) return
    seen({ account, now, pauseMs: now - standing.polledAt, turn: standing.turn, admitted })
    if (!admitted) {
      const plan = planWithoutRoom(standing.turn, standing.polledAt, now)
      standing.turn = plan
      due.push(plan.at, index)
      return
    }
    const minute = Math.floor(now / MINUTE)
    callsByMinute[minute] = (callsByMinute[minute] ?? 0) + account.calls
    const usage = account.usageAt(now)
    if (usage !== standing.usage) standing.changedAt = now
    const series: Series = {
      id: 'overall',
      metric: 'customProperties.overall',
      usage,
      limit: 1_000,
      percent: usage / 10,
    }
    const perDay = ((usage - standing.usage) * DAY) / (now - standing.polledAt)
    const plan = planPoll({
      ...{ hubId: account.hubId, at: now, everyMs: account.everyMs, soonestMs: account.soonestMs, isFirst: false },
      ...{ turn: standing.turn, changedAt: standing.changedAt, series: [series] },
      ...{ boundaries: BOUNDARIES, growth: perDay === 0 ? NO_GROWTH : new Map([['overall', perDay]]) },
    })
    standings[index] = { polledAt: now, usage, changedAt: standing.changedAt, turn: plan }
    due.push(plan.at, index)
  }

  for (let now = 0; now < forMs; now += SWEEP_MS) {
    const { polls } = roomFor(refill(decodeBudget(shared) ?? newBudget(now), callsPerHour, now), callsPerHour, now)
    const claimed: number[] = []
    while (claimed.length < polls && due.first() <= now) claimed.push(due.pop())
    for (let from = 0, n = 0; from < claimed.length; from += CHUNK, n++) {
      workOn(claimed.slice(from, from + CHUNK), n % WORKERS, now + (n + 1) * CHUNK_LATENCY_MS)
    }
  }
  return { callsByMinute, said }
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
