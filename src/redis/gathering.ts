import type { Argument } from './scripts.ts'

/** Accounts of one call: Redis does nothing else meanwhile, some 10 to 50 us for each. */
const MOST_ACCOUNTS = 50

type Send<Answer> = (numberOfKeys: number, ...args: Argument[]) => Promise<(Answer | Error)[]>

interface PendingCall<Answer> {
  key: string
  args: Argument[]
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * A step of many accounts, asked for by many, each for its own account, as few calls: those who ask in the same turn of the event loop share
 * one. A command of its own for each cost 25 us of this process, most of it the pipelining: a third of a refresh.
 */
export class Gathering<Answer> {
  readonly #send: Send<Answer>
  #waiting: PendingCall<Answer>[] = []

  constructor(send: Send<Answer>) {
    this.#send = send
  }

  ask(key: string, args: Argument[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.length === 0) setImmediate(() => this.#leave())
      this.#waiting.push({ key, args, resolve, reject })
      if (this.#waiting.length === MOST_ACCOUNTS) this.#leave()
    })
  }

  #leave(): void {
    const asked = this.#waiting
    this.#waiting = []
    if (asked.length > 0) void this.#call(asked)
  }

  async #call(asked: PendingCall<Answer>[]): Promise<void> {
    try {
      const keys = asked.map(({ key }) => key)
      const answers = await this.#send(asked.length, ...keys, ...asked.flatMap(({ args }) => args))
      for (const [number, { resolve, reject }] of asked.entries()) {
        const answer = answers[number]
        if (answer instanceof Error) reject(answer)
        else resolve(answer as Answer)
      }
    } catch (error) {
      for (const { reject } of asked) reject(error)
    }
  }
}
