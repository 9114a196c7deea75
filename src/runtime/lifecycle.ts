/**
 * Teardown, registered beside construction and run backwards. Every step runs, whatever the others do; what failed is
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
    this.#closing.catch(() => undefined) // Whoever closes is told; nobody may be left to.
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
