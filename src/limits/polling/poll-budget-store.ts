import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'

/** A bucket that nobody touched for so long is full again: nothing is lost with it. */
const KEPT_MS = 2 * 3_600_000

/** The fleet's call budget in Redis: read, and changed only if it still is as it was read. */
export class PollBudgetStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** '' = there is none yet. */
  async read(): Promise<string> {
    return (await this.#store.get(this.#keys.pollBudget)) ?? ''
  }

  /** Undefined when it was changed; else the budget that somebody else wrote meanwhile. */
  async change(before: string, after: string): Promise<string | undefined> {
    return (await this.#store.changePollBudget(this.#keys.pollBudget, before, after, KEPT_MS)) ?? undefined
  }
}
