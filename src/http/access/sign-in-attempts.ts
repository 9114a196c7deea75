const WINDOW_MS = 60_000
const MOST_FAILURES = 10
/** Addresses remembered at most: a flood from many must not fill the memory. */
const MOST_ADDRESSES = 10_000

/** Counts attempts to sign in that failed, by remote address, a minute at a time. */
export class SignInAttempts {
  readonly #failures = new Map<string, { count: number; until: number }>()

  /** How long the address has to wait before it may try again, ms; 0 = not at all. */
  waitMs(address: string, now: number): number {
    const failures = this.#failures.get(address)
    if (failures === undefined || failures.until <= now) return 0
    return failures.count >= MOST_FAILURES ? failures.until - now : 0
  }

  failed(address: string, now: number): void {
    const failures = this.#failures.get(address)
    if (failures !== undefined && failures.until > now) {
      failures.count++
      return
    }
    this.#failures.delete(address)
    if (this.#failures.size >= MOST_ADDRESSES) this.#forgetOldest()
    this.#failures.set(address, { count: 1, until: now + WINDOW_MS })
  }

  #forgetOldest(): void {
    const [oldest] = this.#failures.keys()
    if (oldest !== undefined) this.#failures.delete(oldest)
  }
}
