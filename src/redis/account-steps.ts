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
const MOST_BYTES = 256 * 1024

type Send = (numberOfKeys: number, ...args: Argument[]) => Promise<unknown[]>

interface PendingCall<Answer> {
  key: string
  args: Argument[]
  resolve: (answer: Answer) => void
  reject: (error: unknown) => void
}

/**
 * One step, asked for by many lanes, each for its own account, as few calls. A call leaves when those who ask in the same
 * turn of the event loop have asked. While one is under way the next one gathers, unless it is full. A command of its own for each cost 25 us of this process, most
 * of it the pipelining: a third of a refresh.
 */
class Gathering<Answer> {
  readonly #send: Send
  #waiting: PendingCall<Answer>[] = []
  #bytes = 0
  #isPlanned = false
  #underWay = 0

  constructor(send: Send) {
    this.#send = send
  }

  ask(key: string, args: Argument[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const bytes = sizeOf(args)
      if (this.#bytes + bytes > MOST_BYTES) this.#leave()
      this.#waiting.push({ key, args, resolve, reject })
      this.#bytes += bytes
      if (this.#waiting.length === MOST_ACCOUNTS) this.#leave()
      else if (this.#underWay === 0) this.#plan()
    })
  }

  #plan(): void {
    if (this.#isPlanned || this.#waiting.length === 0) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      // Full ones have left meanwhile: the last of them to come back has the rest leave.
      if (this.#underWay === 0) this.#leave()
    })
  }

  #leave(): void {
    const asked = this.#waiting
    if (asked.length === 0) return
    this.#waiting = []
    this.#bytes = 0
    this.#underWay++
    void this.#call(asked).finally(() => {
      this.#underWay--
      if (this.#underWay === 0) this.#leave()
    })
  }

  async #call(asked: PendingCall<Answer>[]): Promise<void> {
    const call: Argument[] = []
    for (const { key } of asked) call.push(key)
    for (const { args } of asked) call.push(...args)
    try {
      const answers = await this.#send(asked.length, ...call)
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

function sizeOf(args: readonly Argument[]): number {
  let bytes = 0
  for (const arg of args) bytes += typeof arg === 'number' ? 8 : arg.length
  return bytes
}
