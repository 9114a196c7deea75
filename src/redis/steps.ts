import { Packr } from 'msgpackr/pack'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/** No account has this id: what concerns all accounts is kept under it, alerts too. */
export const NO_ACCOUNT = 0

/** The identity of one call of a step: where it is sent again after a reconnect, it is known by it. */
export function newOperation(): string {
  return freshBytes(12).toString('base64url')
}

/**
 * Writes of an atomic step about alerts beside its own business: states, each guarded by the state that was read, and
 * the entries of the outbox about it. Rooms that don't know alerts pass them on unchanged.
 */
export interface AlertWrites {
  /** [field, state as it was read ('' = none), state from now on ('' = none)] */
  changes: [field: string, before: string, after: string][]
  /** For the outbox, as JSON. */
  entries: string[]
}

const packr = new Packr({ useRecords: false, encodeUndefinedAsNil: true, int64AsType: 'number' })

/** An object without bytes as an argument of an atomic step, which unpacks it; what is undefined is not there. */
export function table(value: object): Buffer {
  return packr.pack(value)
}

/** JSON as an argument of an atomic step. Lua's JSON refuses half a surrogate pair, and with it the whole step. */
export function stepJson(value: unknown): string {
  const json = JSON.stringify(value)
  if (!/\\ud[89a-f]/i.test(json)) return json
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'string' ? part.toWellFormed() : part))
}

/** The writes of two that change different alerts. */
export function bothWrites(one: AlertWrites, other: AlertWrites): AlertWrites {
  return { changes: [...one.changes, ...other.changes], entries: [...one.entries, ...other.entries] }
}

export const NO_ALERT_WRITES: AlertWrites = { changes: [], entries: [] }

/** Each failed try is the write of another process: more of them in a row are a fault. */
const MOST_TRIES = 1_000

/** Repeats a change of what another process may have changed since it was read. Throws where that never ends. */
export async function untilWritten<Result>(what: string, attempt: () => Promise<Result | 'stale'>): Promise<Result> {
  for (let tries = 0; tries < MOST_TRIES; tries++) {
    const result = await attempt()
    if (result !== 'stale') return result
  }
  throw new Error(`${what} could not be written: each of ${MOST_TRIES} times it was not as it had just been read`)
}

interface Decided<Result> {
  after: string
  alerts?: AlertWrites
  result: Result
}

/**
 * The state of the token endpoint: one text that all daemons decide on, with the alerts about all accounts that follow. It is written
 * only as long as it is as it was read.
 */
export class EndpointText {
  readonly #store: Store
  readonly #keys: Keys
  /** The text as this daemon last saw it: nearly always it is unchanged. */
  #known: string | undefined

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  async read(): Promise<string> {
    return (await this.#store.hget(this.#keys.fleet, 'endpoint')) ?? ''
  }

  /** `decide` is asked again as often as another daemon was faster. */
  async change<Result>(decide: (stored: string) => Decided<Result> | Promise<Decided<Result>>): Promise<Result> {
    let stored = this.#known ?? (await this.read())
    const written = await untilWritten('the state of the token endpoint', async () => {
      const { after, alerts = NO_ALERT_WRITES, result } = await decide(stored)
      const written = ['endpoint', stored, after, stepJson(alerts)] as const
      const found = await this.#store.replaceField(this.#keys.fleet, ...written)
      if (found === null) return { after, result }
      stored = found
      return 'stale'
    })
    this.#known = written.after
    return written.result
  }
}
