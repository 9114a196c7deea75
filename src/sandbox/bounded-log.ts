/** How much a log may hold before its oldest entries go: a sandbox may run for weeks beside a daemon under test. */
interface LogBounds<T> {
  entries: number
  /** With `weigh`: the most that the entries kept may weigh together, in its unit. The newest entry always stays. */
  weight?: number
  weigh?: (entry: T) => number
}

/** The newest entries of an endless list, oldest first. */
export class BoundedLog<T> {
  readonly #bounds: LogBounds<T>
  readonly #entries = new Queue<T>()
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

  #weigh(entry: T): number {
    return this.#bounds.weigh?.(entry) ?? 0
  }

  #isOverfull(): boolean {
    return this.size > this.#bounds.entries || this.#weight > (this.#bounds.weight ?? Number.POSITIVE_INFINITY)
  }
}

/**
 * First in, first out, cheap at both ends however long it gets. A Map or Set emptied from its front is not: it walks over
 * the places of all that were deleted before, each time.
 */
export class Queue<T> {
  #items: (T | undefined)[] = []
  #first = 0

  get size(): number {
    return this.#items.length - this.#first
  }

  get oldest(): T | undefined {
    return this.#items[this.#first]
  }

  add(item: T): void {
    this.#items.push(item)
  }

  takeOldest(): T | undefined {
    if (this.size === 0) return undefined
    const oldest = this.#items[this.#first]
    this.#items[this.#first++] = undefined
    // Cutting the array at every turn would copy it every time; cutting it seldom costs nothing on average.
    if (this.#first > 1_000 && this.#first > this.#items.length / 2) {
      this.#items = this.#items.slice(this.#first)
      this.#first = 0
    }
    return oldest
  }

  /** Oldest first. */
  all(): readonly T[] {
    return this.#items.slice(this.#first) as T[]
  }
}
