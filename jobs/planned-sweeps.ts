import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { SWEEPS, type SweepKind } from './queues.ts'

/** Between two sweeps: a thousand polls that find work at once share one. */
const PAUSE_MS = 500
/** After one that failed. */
const AGAIN_MS = 2_000
/** However far ahead the next is planned: the clock of Redis may have been set. */
const LONGEST_MS = 60_000

export interface PlannedSweeps {
  /** Plans a sweep at a moment, or as soon as it may be. One that is planned for sooner stays planned. */
  wake(kind: SweepKind, at: number): void
  /** Begins no other, and waits for those that are under way. */
  stop(): Promise<void>
}

/**
 * Sweeps for due work in this process: when the clock ticks, when another job has found work, when the sweep before saw that
 * work would be due. `sweep` returns when that is. A sweep that is missed loses nothing: what is due
 * is in the due sets, every daemon that works reads them, and each account is claimed by one.
 */
export function startSweeps(
  sweep: (kind: SweepKind) => Promise<number | undefined>,
  clock: Clock,
  log: Logger,
): PlannedSweeps {
  const safely = (kind: SweepKind) =>
    sweep(kind).catch((error: unknown) => {
      log.error({ code: 'sweep.failed', kind, err: error }, 'a sweep failed: it is tried again soon')
      return clock.now() + AGAIN_MS
    })
  const planned = new Map(SWEEPS.map((kind) => [kind, new PlannedSweep(() => safely(kind), clock)]))
  return {
    wake: (kind, at) => planned.get(kind)?.wake(at),
    stop: async () => {
      await Promise.all([...planned.values()].map((one) => one.stop()))
    },
  }
}

class PlannedSweep {
  readonly #sweep: () => Promise<number | undefined>
  readonly #clock: Clock
  /** By the steady clock, as what comes next. */
  #planned: { at: number; timer: NodeJS.Timeout } | undefined
  #underWay: Promise<void> | undefined
  #notBefore = 0
  #stopped = false

  constructor(sweep: () => Promise<number | undefined>, clock: Clock) {
    this.#sweep = sweep
    this.#clock = clock
  }

  wake(at: number): void {
    const now = this.#clock.steady()
    const planned = this.#planned
    const moment = Math.max(now + Math.min(at - this.#clock.now(), LONGEST_MS), this.#notBefore)
    if (this.#stopped || (planned !== undefined && planned.at <= moment)) return
    clearTimeout(planned?.timer)
    this.#planned = { at: moment, timer: setTimeout(() => this.#begin(), Math.max(0, moment - now)) }
  }

  stop(): Promise<void> | undefined {
    this.#stopped = true
    clearTimeout(this.#planned?.timer)
    return this.#underWay
  }

  #begin(): void {
    this.#planned = undefined
    this.#notBefore = this.#clock.steady() + PAUSE_MS
    if (this.#underWay !== undefined) {
      this.wake(this.#clock.now() + PAUSE_MS)
      return
    }
    this.#underWay = this.#sweep().then((next) => {
      this.#underWay = undefined
      if (next !== undefined) this.wake(next)
    })
  }
}
