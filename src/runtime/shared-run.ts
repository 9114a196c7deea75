import type { Clock } from './clock.ts'

export interface SharedRunDeps {
  work: () => Promise<void>
  /** After each run, in the very moment in which the next one may begin: for those who asked too late for this one. */
  done: () => void
  clock: Clock
  /** No run begins by itself once it has come. */
  signal?: AbortSignal
}

/** Work that all who ask for it in one moment share. */
export class SharedRun {
  readonly #deps: SharedRunDeps
  #underWay: Promise<void> | undefined
  #plannedAt = Number.POSITIVE_INFINITY

  constructor(deps: SharedRunDeps) {
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
    const at = clock.now() + ms
    if (this.#plannedAt <= at) return
    this.#plannedAt = at
    void clock.wait(ms, signal).then(() => {
      this.#plannedAt = Number.POSITIVE_INFINITY
      if (signal?.aborted !== true) void this.now()
    })
  }
}
