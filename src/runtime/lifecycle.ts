/**
 * Teardown, registered beside construction and run backwards. Every step runs, even if others fail; what failed is
 * reported together at the end. Closing twice is closing once.
 */
export class Lifecycle {
  readonly #steps: { name: string; close: () => Promise<void> | void }[] = []
  #closing: Promise<void> | undefined
  #isClosed = false

  /** What is registered while others are closed comes next; what comes after all were closed is closed at once. */
  onClose(name: string, close: () => Promise<void> | void): void {
    this.#steps.push({ name, close })
    if (!this.#isClosed) return
    this.#closing = Promise.all([this.#closing, this.#runBackwards()]).then(() => undefined)
    this.#closing.catch(() => undefined) // The caller of close gets the error; there may be none.
  }

  close(): Promise<void> {
    this.#closing ??= this.#runBackwards()
    return this.#closing
  }

  async #runBackwards(): Promise<void> {
    const failures: Error[] = []
    for (let step = this.#steps.pop(); step !== undefined; step = this.#steps.pop()) {
      try {
        await step.close()
      } catch (cause) {
        failures.push(new Error(`could not close ${step.name}`, { cause }))
      }
    }
    this.#isClosed = true
    if (failures.length > 0) throw new AggregateError(failures, failures.map((failure) => failure.message).join('; '))
  }
}
