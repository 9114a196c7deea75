const MOST_CHARACTERS = 64 * 1024 * 1024

/** The newest entries of an endless list, oldest first: with too many of them the older half goes. */
export class Newest<T> {
  readonly #most: number
  readonly #charactersOf: (entry: T) => number
  #entries: T[] = []
  #characters = 0

  constructor(most: number, charactersOf: (entry: T) => number = () => 0) {
    this.#most = most
    this.#charactersOf = charactersOf
  }

  add(entry: T): void {
    this.#entries.push(entry)
    this.#characters += this.#charactersOf(entry)
    if (this.#entries.length <= this.#most && this.#characters <= MOST_CHARACTERS) return
    this.#entries = this.#entries.slice(Math.floor(this.#entries.length / 2))
    this.#characters = this.#entries.reduce((sum, kept) => sum + this.#charactersOf(kept), 0)
  }

  clear(): void {
    this.#entries = []
    this.#characters = 0
  }

  all(): readonly T[] {
    return this.#entries
  }
}
