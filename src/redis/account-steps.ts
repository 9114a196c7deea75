import type { Store } from './connect.ts'
import type { Argument } from './scripts.ts'

/** The steps on one account that are asked for many times at once. They travel together; see `Gathering`. */
export interface AccountSteps {
  beginRefresh(account: string, args: string): Promise<Buffer | [lines: Buffer, refresh: Buffer, ...previous: Buffer[]]>
  storeTokens(
    account: string,
    ...args: [line: string, access: Argument, refresh: Argument, writes: string]
  ): Promise<'stored' | 'lost' | 'uninstalled' | 'unknown' | 'held'>
}

const OF_STORE = new WeakMap<Store, AccountSteps>()

/** One for each connection: its users share the calls. */
export function accountSteps(store: Store): AccountSteps {
  const before = OF_STORE.get(store)
  if (before !== undefined) return before
  const gathered = <Answer>(send: Send): ((key: string, ...args: Argument[]) => Promise<Answer>) => {
    const gathering = new Gathering<Answer>(send)
    return (key, ...args) => gathering.ask(key, args)
  }
  const steps: AccountSteps = {
    beginRefresh: gathered((...call) => store.beginRefreshBuffer(...call)),
    storeTokens: gathered((...call) => store.storeTokens(...call)),
  }
  OF_STORE.set(store, steps)
  return steps
}

/** Accounts of one call: Redis does nothing else meanwhile, some 10 to 50 us for each. */
const MOST_ACCOUNTS = 50

type Send = (numberOfKeys: number, ...args: Argument[]) => Promise<unknown[]>

interface PendingCall<Answer> {
  key: string
  args: Argument[]
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * One step, asked for by many lanes, each for its own account, as few calls: those who ask in the same turn of the event loop share
 * one. A command of its own for each cost 25 us of this process, most of it the pipelining: a third of a refresh.
 */
class Gathering<Answer> {
  readonly #send: Send
  #waiting: PendingCall<Answer>[] = []

  constructor(send: Send) {
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
