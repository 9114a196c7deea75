import { type Clock, systemClock } from '../../src/runtime/clock.ts'

/** A clock that moves only when a test moves it. */
export class HandClock implements Clock {
  #now: number
  #sleepers: { until: number; wake: () => void }[] = []
  #watchers: (() => void)[] = []
  /** How long each wait so far was asked to be. */
  readonly waits: number[] = []
  /** Nobody sets it back. */
  #passed = 0
  readonly every = systemClock.every

  constructor(now = Date.parse('2026-11-21T10:00:00.000Z')) {
    this.#now = now
  }

  stopwatch(): () => number {
    const at = this.#passed
    return () => this.#passed - at
  }

  now(): number {
    return this.#now
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    this.waits.push(ms)
    return new Promise((wake) => {
      this.#sleepers.push({ until: this.#now + ms, wake })
      signal?.addEventListener('abort', () => wake(), { once: true })
      for (const watcher of this.#watchers.splice(0)) watcher()
    })
  }

  /** Resolves once somebody sleeps. */
  async sleeper(): Promise<void> {
    while (this.#sleepers.length === 0) await new Promise<void>((resolve) => this.#watchers.push(resolve))
  }

  move(ms: number): void {
    this.#now += ms
    this.#passed += Math.max(0, ms)
    const due = this.#sleepers.filter(({ until }) => until <= this.#now)
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#now)
    for (const { wake } of due) wake()
  }
}
