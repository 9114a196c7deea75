import type { Client } from '../../access/client.ts'
import { networkOf } from '../../access/client.ts'

const WINDOW_MS = 60_000
const MOST_REFUSED = 10
/** Remembered at most: a flood from many must not fill the memory. */
const MOST_COUNTED = 10_000

/**
 * Counts the codes that the provider refused, by client address, a minute at a time. Whoever makes up an address gets
 * another count, and is held up by the share of the token endpoint that all codes have.
 */
export class RefusedCodes {
  readonly #counts = new Map<string, { count: number; until: number }>()

  /** How long they have to wait before they may send another one, ms; 0: not at all. */
  waitMs(client: Client, now: number): number {
    const found = this.#counts.get(keyOf(client))
    return found === undefined || found.count < MOST_REFUSED ? 0 : leftOf(found, now)
  }

  add(client: Client, now: number): void {
    const key = keyOf(client)
    const found = this.#counts.get(key)
    if (found !== undefined && leftOf(found, now) > 0) {
      found.count++
      return
    }
    this.#counts.delete(key)
    const [oldest] = this.#counts.keys()
    if (this.#counts.size >= MOST_COUNTED && oldest !== undefined) this.#counts.delete(oldest)
    this.#counts.set(key, { count: 1, until: now + WINDOW_MS })
  }
}

/** A clock that was set back must not keep customers out. */
function leftOf({ until }: { until: number }, now: number): number {
  return until - now > WINDOW_MS ? 0 : Math.max(0, until - now)
}

/** With the peer: a direct client must not use up the share of one behind the proxy. */
function keyOf({ peer, forwardedFor }: Client): string {
  return `${networkOf(peer)} for ${forwardedFor === undefined ? '' : networkOf(forwardedFor)}`
}
