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
