/** What fails of several things to do keeps none of the others from being done: it is thrown once all were tried. */
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
