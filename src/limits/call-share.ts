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

  /** Waits until `calls` calls are within the share; false if `signal` ended the wait. */
  async take(hubId: number, calls: number, signal: AbortSignal): Promise<boolean> {
    const { requests, perMs } = this.#settings
    let left = calls
    for (;;) {
      const key = this.#keys.account(hubId).calls
      const [granted, wait] = await this.#store.takeCalls(key, this.#clock.now(), left, requests, perMs)
      left -= granted
      if (left === 0) return true
      await this.#clock.wait(wait, signal)
      if (signal.aborted) return false
    }
  }
}
