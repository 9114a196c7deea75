import { Queue } from './queue.ts'

/** How much a log may hold before its oldest entries go: a sandbox may run for weeks beside a daemon under test. */
export interface LogBounds<T> {
  entries: number
  /** With `weigh`: the most that the entries kept may weigh together, in its unit. The newest entry always stays. */
  weight?: number
  weigh?: (entry: T) => number
}

/** The newest entries of an endless list, oldest first. */
export class BoundedLog<T> {
  readonly #bounds: LogBounds<T>
  #entries = new Queue<T>()
  #weight = 0

  constructor(bounds: LogBounds<T>) {
    this.#bounds = bounds
  }

  get size(): number {
    return this.#entries.size
  }

  add(entry: T): void {
    this.#entries.add(entry)
    this.#weight += this.#weigh(entry)
    while (this.size > 1 && this.#isOverfull()) {
      const oldest = this.#entries.takeOldest()
      if (oldest !== undefined) this.#weight -= this.#weigh(oldest)
    }
  }

  all(): readonly T[] {
    return this.#entries.all()
  }

  clear(): void {
    this.#entries = new Queue()
    this.#weight = 0
  }

  #weigh(entry: T): number {
    return this.#bounds.weigh?.(entry) ?? 0
  }

  #isOverfull(): boolean {
    return this.size > this.#bounds.entries || this.#weight > (this.#bounds.weight ?? Number.POSITIVE_INFINITY)
  }
}
