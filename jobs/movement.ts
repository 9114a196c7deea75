import type { Clock } from '../src/runtime/clock.ts'

/**
 * Whether this process's jobs move: a worker that is stuck looks busy to everybody else. Noted per queue: when a job last
 * ended, and when those under way began.
 */
export class Movement {
  readonly #clock: Clock
  readonly #queues = new Map<string, { endedAt: number; begun: Set<{ at: number }> }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async watch(queue: string, work: () => Promise<void>): Promise<void> {
    const noted = this.#queues.get(queue) ?? { endedAt: 0, begun: new Set() }
    this.#queues.set(queue, noted)
    const job = { at: this.#clock.now() }
    noted.begun.add(job)
    try {
      await work()
    } finally {
      noted.begun.delete(job)
      noted.endedAt = this.#clock.now()
    }
  }

  /**
   * For how long jobs of a queue have waited while none was under way here, ms by queue: a worker whose connection went
   * without a word looks idle.
   */
  untaken(
    waiting: readonly { queue: string; oldestWaitingAt: number | null }[],
    since: number,
  ): Record<string, number> {
    const now = this.#clock.now()
    const untaken = waiting.map(({ queue, oldestWaitingAt }) => {
      const { endedAt, begun } = this.#queues.get(queue) ?? { endedAt: 0, begun: new Set() }
      const idle = oldestWaitingAt !== null && begun.size === 0
      return [queue, idle ? Math.max(0, now - Math.max(oldestWaitingAt, endedAt, since)) : 0] as const
    })
    return Object.fromEntries(untaken)
  }

  /** For how long no job of a queue has ended although some are under way, ms by queue. */
  standstills(): Record<string, number> {
    const now = this.#clock.now()
    const standstills = [...this.#queues].map(([queue, { endedAt, begun }]) => {
      const oldest = Math.min(now, ...[...begun].map(({ at }) => at))
      return [queue, begun.size === 0 ? 0 : now - Math.max(endedAt, oldest)] as const
    })
    return Object.fromEntries(standstills)
  }
}
