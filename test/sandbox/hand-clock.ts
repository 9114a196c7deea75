import { type Clock, systemClock } from '../../src/runtime/clock.ts'

/** A clock that only moves when a test moves it. */
export class HandClock implements Clock {
  #now = Date.parse('2026-11-21T10:00:00.000Z')
  #sleepers: { until: number; wake: () => void }[] = []
  #watchers: (() => void)[] = []
  /** Nobody sets it back. */
  #passed = 0
  readonly every = systemClock.every
  readonly follow = () => {}

  steady(): number {
    return this.#passed
  }

  stopwatch(): () => number {
    const at = this.#passed
    return () => this.#passed - at
  }

  now(): number {
    return this.#now
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((wake) => {
      this.#sleepers.push({ until: this.#now + ms, wake })
      signal?.addEventListener('abort', () => wake(), { once: true })
      for (const watcher of this.#watchers.splice(0)) watcher()
    })
  }

  /** Resolves once somebody sleeps. */
  async sleeper(): Promise<void> {
    if (this.#sleepers.length === 0) await new Promise<void>((resolve) => this.#watchers.push(resolve))
  }

  move(ms: number): void {
    this.#now += ms
    this.#passed += Math.max(0, ms)
    const due = this.#sleepers.filter(({ until }) => until <= this.#now)
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#now)
    for (const { wake } of due) wake()
  }
}
