import type { Clock } from '../runtime/clock.ts'
import { type OneUnderWay, UnderWay } from '../runtime/under-way.ts'

/** Work for one account. */
export type Undertaking = 'refresh' | 'identify' | 'poll' | 'uninstall'

/** The oldest of its kind that is under way. */
export interface Oldest {
  /** A queue, or what is done for an account. */
  what: string
  hubId: number | undefined
  /** For how long it has run, and how long it may run, ms. */
  ms: number
  longestMs: number
}

interface InHand extends OneUnderWay<InHand> {
  hubId: number | undefined
  at: number
}

/**
 * Each call ends by its deadline; the rest is waiting in line. Tokens have places of their own, and go ahead of all else: a
 * provider that answers slowly may have the others wait for minutes.
 */
const LONGEST_REFRESH_MS = 120_000
const LONGEST_OTHER_MS = 300_000
/** Calls of a refresh, one after the other: with the current token, and with the one before. */
const CALLS = 2
/** Longest sweep: the wait of an account's work, and the calls of a grant of an unknown account. */
const LONGEST_SWEEP_MS = 120_000
const CALLS_OF_SWEEP = 3
/** Longest job that is not about accounts. */
const LONGEST_JOB_MS = 600_000
/** Jobs that last as long as there is work: their accounts, or attempts, are judged one by one, and that they take up others. */
const WHILE_DUE = new Set(['refresh-tokens', 'poll-limits', 'uninstall', 'tend-history', 'deliver'])

/**
 * Movement of this process's jobs: a worker that is stuck seems busy from outside. It notes for each queue when a job
 * last ended, and when the running ones began; and since when each account is worked on. All by the steady clock:
 * nothing could move while a machine slept.
 */
export class Movement {
  readonly #clock: Clock
  readonly #callMs: number
  readonly #queues = new Map<string, { endedAt: number; begun: UnderWay<InHand> }>()
  /** The oldest job that waits in each queue, and when it was first seen to. */
  readonly #waiting = new Map<string, { oldest: number | null; at: number }>()
  readonly #accounts: Record<Undertaking, UnderWay<InHand>> = {
    refresh: new UnderWay(),
    identify: new UnderWay(),
    poll: new UnderWay(),
    uninstall: new UnderWay(),
  }

  /** `callMs`: how long one call to the provider may take. */
  constructor(clock: Clock, callMs = 10_000) {
    this.#clock = clock
    this.#callMs = callMs
  }

  /** A job of a queue, or a sweep. */
  async watch<T>(queue: string, work: () => Promise<T>): Promise<T> {
    const noted = this.#queues.get(queue) ?? { endedAt: 0, begun: new UnderWay() }
    this.#queues.set(queue, noted)
    const job: InHand = { hubId: undefined, at: this.#clock.steady(), before: undefined, after: undefined }
    noted.begun.add(job)
    try {
      return await work()
    } finally {
      noted.begun.delete(job)
      noted.endedAt = this.#clock.steady()
    }
  }

  /** The running job of a queue takes up more: that counts as if one had ended. */
  movesOn(queue: string): void {
    const noted = this.#queues.get(queue)
    if (noted !== undefined) noted.endedAt = this.#clock.steady()
  }

  /** Work on one account. */
  async inHand<T>(what: Undertaking, hubId: number, work: () => Promise<T>): Promise<T> {
    const all = this.#accounts[what]
    const one: InHand = { hubId, at: this.#clock.steady(), before: undefined, after: undefined }
    all.add(one)
    try {
      return await work()
    } finally {
      all.delete(one)
    }
  }

  /** The account's work moves on, and has its whole time again. */
  goesOn(what: Undertaking, hubId: number): void {
    for (const one of this.#accounts[what]) if (one.hubId === hubId) one.at = this.#clock.steady()
  }

  /** The oldest of each kind that is running. */
  oldest(): Oldest[] {
    const now = this.#clock.steady()
    const jobs = [...this.#queues]
      .filter(([queue]) => !WHILE_DUE.has(queue))
      .map(([queue, { begun }]) => [queue, begun] as const)
    return [...jobs, ...this.#eachUndertaking()].map(([what, all]) => {
      // Entries are in the order in which they began; only one that went on may be out of it.
      let first: InHand | undefined
      for (const one of all) if (first === undefined || one.at < first.at) first = one
      return {
        what,
        hubId: first?.hubId,
        ms: first === undefined ? 0 : now - first.at,
        longestMs: this.#longestMs(what),
      }
    })
  }

  /**
   * For how long, as was seen here, the same job of a queue has waited while none was under way, ms by queue: a worker whose
   * connection went silently seems idle.
   */
  untaken(waiting: readonly { queue: string; oldestWaitingAt: number | null }[]): Record<string, number> {
    const now = this.#clock.steady()
    const untaken = waiting.map(({ queue, oldestWaitingAt: oldest }) => {
      const { endedAt, begun } = this.#queues.get(queue) ?? { endedAt: 0, begun: new UnderWay() }
      const before = this.#waiting.get(queue)
      const seen = before?.oldest === oldest ? before : { oldest, at: now }
      this.#waiting.set(queue, seen)
      return [queue, oldest === null || begun.size > 0 ? 0 : now - Math.max(seen.at, endedAt)] as const
    })
    return Object.fromEntries(untaken)
  }

  /** For how long no job of a queue has ended, or moved on, although some are under way, ms by queue. */
  standstills(): Record<string, number> {
    const now = this.#clock.steady()
    const queues = [...this.#queues].filter(([queue]) => !isSweep(queue))
    const standstills = queues.map(([queue, { endedAt, begun }]) => {
      const oldest = Math.min(now, ...[...begun].map(({ at }) => at))
      return [queue, begun.size === 0 ? 0 : now - Math.max(endedAt, oldest)] as const
    })
    return Object.fromEntries(standstills)
  }

  #eachUndertaking(): [Undertaking, UnderWay<InHand>][] {
    return Object.entries(this.#accounts) as [Undertaking, UnderWay<InHand>][]
  }

  #longestMs(what: string): number {
    if (isSweep(what)) return LONGEST_SWEEP_MS + CALLS_OF_SWEEP * this.#callMs
    if (!(what in this.#accounts)) return LONGEST_JOB_MS
    return (what === 'refresh' ? LONGEST_REFRESH_MS : LONGEST_OTHER_MS) + CALLS * this.#callMs
  }
}

/** One by one it is judged how long they take: no queue of them can hang. */
const isSweep = (what: string) => what.startsWith('sweep ')
