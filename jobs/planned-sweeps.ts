import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { SWEEPS, type SweepKind } from './queues.ts'

/** Between two sweeps: a thousand polls that find work at once share one. */
const PAUSE_MS = 500
/** After one that failed. */
const AGAIN_MS = 2_000
/** However far ahead the next is planned: the clock may have been set. */
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
  #planned: { at: number; timer: NodeJS.Timeout } | undefined
  #underWay: Promise<void> | undefined
  #notBefore = 0
  #stopped = false

  constructor(sweep: () => Promise<number | undefined>, clock: Clock) {
    this.#sweep = sweep
    this.#clock = clock
  }

  wake(at: number): void {
    const now = this.#clock.now()
    const planned = this.#planned
    // The clock was set forward: its timer knows nothing of that.
    const isLate = planned !== undefined && planned.at <= now - PAUSE_MS
    const moment = Math.max(isLate ? now : at, Math.min(this.#notBefore, now + PAUSE_MS))
    if (this.#stopped || (planned !== undefined && !isLate && planned.at <= moment)) return
    clearTimeout(planned?.timer)
    const ms = Math.min(Math.max(0, moment - now), LONGEST_MS)
    this.#planned = { at: moment, timer: setTimeout(() => this.#begin(), ms) }
  }

  stop(): Promise<void> | undefined {
    this.#stopped = true
    clearTimeout(this.#planned?.timer)
    return this.#underWay
  }

  #begin(): void {
    this.#planned = undefined
    const now = this.#clock.now()
    this.#notBefore = now + PAUSE_MS
    if (this.#underWay !== undefined) {
      this.wake(now + PAUSE_MS)
      return
    }
    this.#underWay = this.#sweep().then((next) => {
      this.#underWay = undefined
      if (next !== undefined) this.wake(next)
    })
  }
}
