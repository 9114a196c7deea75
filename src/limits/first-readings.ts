import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'

/** How far a fleet that was imported has been read: so many of all that came with it. */
export interface NewFleet {
  read: number
  total: number
}

/**
 * The accounts that were imported and wait for their first reading. Those that have it are kept beside them until all
 * have, so that it can be told how far it is. One that must be connected again, or is uninstalled, is no longer waited for.
 */
export class FirstReadings {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Undefined: nobody waits. */
  async read(): Promise<NewFleet | undefined> {
    const counts = await this.#everyPartition((key) =>
      Promise.all([this.#store.zcount(key, '-inf', READ), this.#store.zcard(key)]),
    )
    const read = counts.reduce((sum, [count]) => sum + count, 0)
    const total = counts.reduce((sum, [, count]) => sum + count, 0)
    return read === total ? undefined : { read, total }
  }

  /** The next fleet is counted by itself. One that came a moment ago waits still, and stays. */
  async forgetRead(): Promise<void> {
    await this.#everyPartition((key) => this.#store.zremrangebyscore(key, '-inf', READ))
  }

  #everyPartition<T>(ask: (key: string) => Promise<T>): Promise<T[]> {
    const numbers = Array.from({ length: PARTITIONS }, (_, number) => number)
    return Promise.all(numbers.map((number) => ask(this.#keys.partition(number).firstReadings)))
  }
}

/** As the steps on an account write it. */
const READ = 0
