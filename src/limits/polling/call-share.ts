import { accountSteps } from '../../redis/account-steps.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Clock } from '../../runtime/clock.ts'

/**
 * Plimsoll's own share of an account's bucket at the provider, counted over all workers: the vendor's product lives off
 * the same bucket.
 */
export interface ShareSettings {
  requests: number
  perMs: number
}

export interface Taken {
  /** 0: none before the pause ends, or the wait was ended by its signal. */
  granted: number
  /** When, ms since 1970. */
  at: number
  /** No call for the account before this moment, ms since 1970. */
  pausedUntil?: number
}

export type AskedCalls = readonly [now: number, calls: number, allowed: number, perMs: number]

/** What a step that takes calls has answered; undefined: there were none, to be waited for. */
export function takenNow(granted: number, pausedUntil: number, at: number): Taken | undefined {
  if (pausedUntil > 0) return { granted: 0, at, pausedUntil }
  return granted > 0 ? { granted, at } : undefined
}

/** A waiting poll renews its claim as often: what keeps others from the account meanwhile may last no longer than a minute. */
const LONGEST_WAIT_MS = 20_000

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

  /**
   * How many of `calls` may be made now: at least one, waiting for it if need be. A pause is not waited for, it may last
   * for hours. `onWait` is called before each wait, and again while it lasts.
   */
  async take(
    hubId: number,
    calls: number,
    signal: AbortSignal,
    onWait: () => Promise<void> = async () => {},
  ): Promise<Taken> {
    const key = this.#keys.account(hubId).calls
    while (!signal.aborted) {
      const asking = this.asking(calls)
      const [granted, wait, pausedUntil] = await accountSteps(this.#store).takeCalls(key, ...asking)
      const taken = takenNow(granted, pausedUntil, asking[0])
      if (taken !== undefined) return taken
      await onWait()
      await this.#clock.wait(Math.min(wait, LONGEST_WAIT_MS), signal)
    }
    return { granted: 0, at: this.#clock.now() }
  }

  /** What a step is given that takes so many calls: the moment, how many, how many are allowed within how long (ms). */
  asking(calls: number): AskedCalls {
    return [this.#clock.now(), calls, this.#settings.requests, this.#settings.perMs]
  }

  /** Whether calls that were taken now still count after so long. */
  outlasts(ms: number): boolean {
    return ms <= this.#settings.perMs
  }

  /**
   * Calls that were taken have all been answered. The provider counted each between the two moments: from the
   * later one on they are sure to count at both sides, however long this process, or the way there, kept them.
   */
  async settle(hubId: number, { granted, at }: Taken): Promise<void> {
    const now = this.#clock.now()
    if (granted === 0 || now <= at) return
    await this.#store.settleCalls(this.#keys.account(hubId).calls, at, granted, now, this.#settings.perMs)
  }

  /** No worker calls for this account, and for no other, before `until` (ms since 1970); never shorter than it is. */
  async pause(hubId: number, until: number): Promise<void> {
    await this.#store.pauseCalls(this.#keys.account(hubId).paused, this.#clock.now(), Math.ceil(until))
  }
}
