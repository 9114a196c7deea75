/** One piece of work in progress, with its neighbors. */
export interface OneUnderWay<T> {
  before: T | undefined
  after: T | undefined
}

/**
 * Work in progress, in the order in which it began. A Set rebuilds its table after as many entries have come and gone
 * as it has room for, and each table before it, until the next full collection of garbage, keeps its old entries from
 * being collected: a third of all that a refresh or a poll leaves behind.
 */
export class UnderWay<T extends OneUnderWay<T>> implements Iterable<T> {
  #first: T | undefined
  #last: T | undefined
  #size = 0

  get size(): number {
    return this.#size
  }

  get first(): T | undefined {
    return this.#first
  }

  add(one: T): void {
    one.before = this.#last
    if (this.#last === undefined) this.#first = one
    else this.#last.after = one
    this.#last = one
    this.#size++
  }

  /** One that is not there is left as it is. */
  delete(one: T): void {
    if (one.before === undefined && this.#first !== one) return
    if (one.before === undefined) this.#first = one.after
    else one.before.after = one.after
    if (one.after === undefined) this.#last = one.before
    else one.after.before = one.before
    one.before = undefined
    one.after = undefined
    this.#size--
  }

  /** The one that is looked at may be taken out meanwhile. */
  *[Symbol.iterator](): Generator<T> {
    let one = this.#first
    while (one !== undefined) {
      const { after } = one
      yield one
      one = after
    }
  }
}
