import type { Clock } from './clock.ts'

/**
 * A process-wide bound on calls under way, shared by all running chunks: without it each chunk would bring its own
 * connections, and many small reads cost more CPU than they win. A part of the places is kept for urgent work, and it is
 * let in ahead of the rest: polls that hang never hold up a token.
 */
export class InFlight {
  /** Places. */
  readonly limit: number
  readonly #normalLimit: number
  #running = 0
  readonly #urgent: (() => void)[] = []
  readonly #normal: (() => void)[] = []

  /** `kept`: how many of the places normal work may not take. */
  constructor(limit: number, kept = 0) {
    this.limit = limit
    this.#normalLimit = limit - kept
  }

  async run<T>(urgency: 'urgent' | 'normal', work: () => Promise<T>): Promise<T> {
    await this.enter(urgency)
    try {
      return await work()
    } finally {
      this.leave()
    }
  }

  /** Takes a place, at once where one is free. It is given back by `leave`. */
  enter(urgency: 'urgent' | 'normal'): Promise<void> | undefined {
    if (this.#running >= (urgency === 'urgent' ? this.limit : this.#normalLimit)) {
      return new Promise((enter) => (urgency === 'urgent' ? this.#urgent : this.#normal).push(enter))
    }
    this.#running++
    return undefined
  }

  /** The place is handed over as it is: freeing and taking it again would let a newcomer in between. */
  leave(): void {
    const next = this.#urgent.shift() ?? (this.#running <= this.#normalLimit ? this.#normal.shift() : undefined)
    if (next === undefined) this.#running--
    else next()
  }
}

/**
 * Work that is asked for, once at a time. However often it is asked for while it is under way, it is done once more after
 * that: what it reads then is what counts. It must not throw.
 */
export function inTurn(work: () => Promise<void>): () => void {
  let isUnderWay = false
  let isAskedAgain = false
  const run = async () => {
    isUnderWay = true
    do {
      isAskedAgain = false
      await work()
    } while (isAskedAgain)
    isUnderWay = false
  }
  return () => {
    if (isUnderWay) isAskedAgain = true
    else void run()
  }
}

/** Repeats it at an interval, never twice at once, until the returned function is called. A failure is tried again at the next one. */
export function atInterval(work: () => Promise<void>, everyMs: number): () => void {
  let isUnderWay = false
  const timer = setInterval(async () => {
    if (isUnderWay) return
    isUnderWay = true
    await work().catch(() => undefined)
    isUnderWay = false
  }, everyMs)
  return () => clearInterval(timer)
}

interface SharedWork {
  work: () => Promise<void>
  /** After each run, in the very moment in which the next one may begin: for those who asked too late for this one. */
  done: () => void
  clock: Clock
  /** No run begins by itself once it has come. */
  signal?: AbortSignal
}

/** Work that all who ask for it in one moment share. */
export class SharedRun {
  readonly #deps: SharedWork
  #underWay: Promise<void> | undefined
  #plannedAt = Number.POSITIVE_INFINITY

  constructor(deps: SharedWork) {
    this.#deps = deps
  }

  /** The run that is under way, or one that begins when all have asked who ask in this moment. */
  now(): Promise<void> {
    this.#underWay ??= Promise.resolve()
      .then(this.#deps.work)
      .finally(() => {
        this.#underWay = undefined
        this.#deps.done()
      })
    return this.#underWay
  }

  /** One that begins from now on: what is under way may have left without what is known now. */
  async fromNow(): Promise<void> {
    await this.#underWay
    await this.now()
  }

  within(ms: number): void {
    const { clock, signal } = this.#deps
    const at = clock.steady() + ms
    if (this.#plannedAt <= at) return
    this.#plannedAt = at
    void clock.wait(ms, signal).then(() => {
      this.#plannedAt = Number.POSITIVE_INFINITY
      if (signal?.aborted !== true) void this.now()
    })
  }
}

interface Version<T> {
  value: T
  users: number
  retire: (() => void) | undefined
}

/**
 * The value in force now. Work that has begun goes on with the value of its begin, to its end: never with a mixture.
 */
export class InForce<T> {
  #now: Version<T>

  constructor(value: T) {
    this.#now = { value, users: 0, retire: undefined }
  }

  get value(): T {
    return this.#now.value
  }

  async run<R>(work: (value: T) => Promise<R>): Promise<R> {
    const version = this.#now
    version.users++
    try {
      return await work(version.value)
    } finally {
      version.users--
      if (version.users === 0) version.retire?.()
    }
  }

  /** Resolves once no job works with what was in force before. */
  replace(value: T): Promise<void> {
    const before = this.#now
    this.#now = { value, users: 0, retire: undefined }
    if (before.users === 0) return Promise.resolve()
    return new Promise((resolve) => {
      before.retire = resolve
    })
  }
}

/** Collects the failures of several steps, so that all are tried; the first is thrown afterwards. */
export class Failures {
  readonly #found: unknown[] = []

  async of<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work()
    } catch (error) {
      this.#found.push(error)
      return undefined
    }
  }

  throwFirst(): void {
    if (this.#found.length > 0) throw this.#found[0]
  }
}
