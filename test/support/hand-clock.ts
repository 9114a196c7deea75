import { type Clock, systemClock } from '../../src/runtime/clock.ts'

/** A clock that moves only when a test moves it. */
export class HandClock implements Clock {
  #now: number
  #sleepers: { ms: number; until: number; wake: () => void }[] = []
  #watchers: (() => void)[] = []
  #hearers: ((now: number) => void)[] = []
  /** How long each wait so far was asked to be. */
  readonly waits: number[] = []
  #steady = 0
  every = systemClock.every
  /** What a test sets is what the clock of Redis shows. */
  follow = () => {}

  constructor(now = Date.parse('2026-11-21T10:00:00.000Z')) {
    this.#now = now
  }

  /** Says what it shows, now and whenever that changes. */
  tell(hear: (now: number) => void): void {
    this.#hearers.push(hear)
    hear(this.#now)
  }

  stopwatch(): () => number {
    const at = this.#steady
    return () => this.#steady - at
  }

  steady(): number {
    return this.#steady
  }

  now(): number {
    return this.#now
  }

  wait(ms: number, signal?: AbortSignal): Promise<void> {
    this.waits.push(ms)
    return new Promise((wake) => {
      const sleeper = { ms, until: this.#now + ms, wake }
      this.#sleepers.push(sleeper)
      const abort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper)
        wake()
      }
      signal?.addEventListener('abort', abort, { once: true })
      for (const watcher of this.#watchers.splice(0)) watcher()
    })
  }

  /** Resolves once somebody sleeps, `forMs` if that is given. */
  async sleeper(forMs?: number): Promise<void> {
    const isThere = () => this.#sleepers.some(({ ms }) => ms === (forMs ?? ms))
    while (!isThere()) await new Promise<void>((resolve) => this.#watchers.push(resolve))
  }

  /** Moves on, a wait of this length after the other, until the work is done. */
  async pass<T>(work: Promise<T>, ms = 200): Promise<T> {
    let isDone = false
    const done = () => {
      isDone = true
    }
    const ended = work.then(done, done)
    while (!isDone) {
      await Promise.race([ended, this.sleeper(ms)])
      await new Promise(setImmediate)
      if (!isDone) this.move(ms)
    }
    return work
  }

  /** Time passes; a time that is negative is a clock that is set back. */
  move(ms: number): void {
    this.#steady += Math.max(0, ms)
    this.set(ms)
  }

  /** As if somebody set it, or the machine slept. */
  set(ms: number): void {
    this.#now += ms
    for (const hear of this.#hearers) hear(this.#now)
    const due = this.#sleepers.filter(({ until }) => until <= this.#now)
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#now)
    for (const { wake } of due) wake()
  }
}
