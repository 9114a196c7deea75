import type { Store } from './connect.ts'
import type { Argument } from './scripts.ts'

/** The steps on one account, or one due set, that are asked for many times at once. They travel together; see `Gathering`. */
export interface AccountSteps {
  beginRefresh(account: string, args: string): Promise<Buffer | [lines: Buffer, refresh: Buffer, previous?: Buffer]>
  storeTokens(account: string, ...args: Argument[]): Promise<'stored' | 'lost' | 'uninstalled' | 'unknown' | 'held'>
  /** All partitions in one call: a call for each of 64 was half of what an idle daemon costs. */
  claimDue(due: string, now: number, most: number, until: number): Promise<[claimed: string[], next: string]>
  dueTokens(due: string, ...args: Argument[]): Promise<string>
  /** All partitions in one call, too. */
  readEvents(
    account: string,
    stream: string,
    most: number,
    first: string,
    keptMs: number,
  ): Promise<[id: string, fields: string[]][]>
  readNews(account: string, most: number): Promise<string[]>
  recheck(account: string, now: number): Promise<number>
}

const OF_STORE = new WeakMap<Store, AccountSteps>()

/** One for each connection: its users share the calls. */
export function accountSteps(store: Store): AccountSteps {
  const before = OF_STORE.get(store)
  if (before !== undefined) return before
  const groupOf = store.isCluster ? hashTagOf : () => ''
  const gathered = <Answer>(send: Send): ((key: string, ...args: Argument[]) => Promise<Answer>) => {
    const gathering = new Gathering<Answer>(send, groupOf)
    return (key, ...args) => gathering.ask(key, args)
  }
  const steps: AccountSteps = {
    beginRefresh: gathered((...call) => store.beginRefreshBuffer(...call)),
    storeTokens: gathered((...call) => store.storeTokens(...call)),
    claimDue: gathered((...call) => store.claimDue(...call)),
    dueTokens: gathered((...call) => store.dueTokens(...call)),
    readEvents: gathered((...call) => store.readEvents(...call)),
    readNews: gathered((...call) => store.readNews(...call)),
    recheck: gathered((...call) => store.recheck(...call)),
  }
  OF_STORE.set(store, steps)
  return steps
}

/** One call may only touch one slot of a Cluster. */
function hashTagOf(key: string): string {
  return key.slice(key.indexOf('{') + 1, key.indexOf('}'))
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

interface Group<Answer> {
  waiting: PendingCall<Answer>[]
  bytes: number
  planned: boolean
  underWay: number
}

/**
 * One step, asked for by many lanes, each for its own account, as few calls. A call leaves when those who ask in the same
 * turn of the event loop have asked. While one is under way the next one gathers, unless it is full. A command of its own for each cost 25 us of this process, most
 * of it the pipelining: a third of a refresh.
 */
class Gathering<Answer> {
  readonly #send: Send
  readonly #groupOf: (key: string) => string
  readonly #groups = new Map<string, Group<Answer>>()

  constructor(send: Send, groupOf: (key: string) => string) {
    this.#send = send
    this.#groupOf = groupOf
  }

  ask(key: string, args: Argument[]): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const group = this.#group(this.#groupOf(key))
      const bytes = sizeOf(args)
      const [first] = group.waiting
      // The script cuts the arguments into parts of one length: with another one among them, all would get those of other accounts.
      if (first !== undefined && (group.bytes + bytes > MOST_BYTES || first.args.length !== args.length)) {
        this.#leave(group)
      }
      group.waiting.push({ key, args, resolve, reject })
      group.bytes += bytes
      if (group.waiting.length === MOST_ACCOUNTS) this.#leave(group)
      else if (group.underWay === 0) this.#plan(group)
    })
  }

  #group(name: string): Group<Answer> {
    const before = this.#groups.get(name)
    if (before !== undefined) return before
    const group = { waiting: [], bytes: 0, planned: false, underWay: 0 }
    this.#groups.set(name, group)
    return group
  }

  #plan(group: Group<Answer>): void {
    if (group.planned || group.waiting.length === 0) return
    group.planned = true
    setImmediate(() => {
      group.planned = false
      // Full ones have left meanwhile: the last of them to come back has the rest leave.
      if (group.underWay === 0) this.#leave(group)
    })
  }

  #leave(group: Group<Answer>): void {
    const asked = group.waiting
    if (asked.length === 0) return
    group.waiting = []
    group.bytes = 0
    group.underWay++
    void this.#call(asked).finally(() => {
      group.underWay--
      if (group.underWay === 0) this.#leave(group)
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
