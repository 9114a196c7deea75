import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'

/**
 * Plimsoll's own share of an account's bucket at the provider, counted over all workers: the vendor's product lives off
 * the same bucket.
 */
export interface ShareSettings {
  requests: number
  perMs: number
}

export class CallShare {
  readonly #store: Store
  readonly #keys: Keys
  readonly #settings: ShareSettings
  readonly #clock: Clock

  constructor(store: Store, keys: Keys, settings: ShareSettings, clock: Clock) {
    this.#store = store
    this.#keys = keys
    this.#settings = settings
    this.#clock = clock
  }

  /** How many of `calls` may be made now: at least one, waiting for it if need be. 0 if `signal` ended the wait. */
  async take(hubId: number, calls: number, signal: AbortSignal): Promise<number> {
    const { requests, perMs } = this.#settings
    const key = this.#keys.account(hubId).calls
    while (!signal.aborted) {
      const [granted, wait] = await this.#store.takeCalls(key, this.#clock.now(), calls, requests, perMs)
      if (granted > 0) return granted
      await this.#clock.wait(wait, signal)
    }
    return 0
  }
}
