import { whoseIs } from './whose-is.ts'

/** Who tries: whoever is connected, and whom they say they ask for, if they are a proxy. */
export interface Attempt {
  peer: string
  forwardedFor: string | undefined
}

const WINDOW_MS = 60_000
const MOST_FAILURES = 10
/** Through one proxy come many; and whoever makes up who they ask for gets no further than this. */
const MOST_THROUGH_ONE = 60
/** Remembered at most: a flood from many must not fill the memory. */
const MOST_COUNTED = 10_000

/**
 * Counts attempts to sign in that failed, a minute at a time. Behind a proxy all come from one address: who guesses there
 * must not lock everybody out, so those that the proxy tells apart are counted apart.
 *
 * Bearer tokens are not counted. A limit that holds up right ones too would let anybody who reaches the API cut the
 * vendor's services off from their access tokens, and one that lets them through would stop no guess.
 */
export class SignInAttempts {
  readonly #failures = new Map<string, { count: number; until: number }>()

  /** How long they have to wait before they may try again, ms; 0 = not at all. */
  waitMs(attempt: Attempt, now: number): number {
    return Math.max(...limitsOf(attempt).map(({ key, most }) => this.#waitOf(key, most, now)))
  }

  failed(attempt: Attempt, now: number): void {
    for (const { key } of limitsOf(attempt)) this.#count(key, now)
  }

  #waitOf(key: string, most: number, now: number): number {
    const failures = this.#failures.get(key)
    if (failures === undefined || failures.until <= now) return 0
    return failures.count >= most ? failures.until - now : 0
  }

  #count(key: string, now: number): void {
    const failures = this.#failures.get(key)
    if (failures !== undefined && failures.until > now) {
      failures.count++
      return
    }
    this.#failures.delete(key)
    const [oldest] = this.#failures.keys()
    if (this.#failures.size >= MOST_COUNTED && oldest !== undefined) this.#failures.delete(oldest)
    this.#failures.set(key, { count: 1, until: now + WINDOW_MS })
  }
}

function limitsOf({ peer, forwardedFor }: Attempt): { key: string; most: number }[] {
  const from = whoseIs(peer)
  if (forwardedFor === undefined) return [{ key: from, most: MOST_FAILURES }]
  return [
    { key: `${from} for ${whoseIs(forwardedFor)}`, most: MOST_FAILURES },
    { key: `${from} for all`, most: MOST_THROUGH_ONE },
  ]
}

/** What the nearest proxy added to the header X-Forwarded-For; what stands before that anybody can write. */
export function forwardedFor(header: string | readonly string[] | undefined): string | undefined {
  const last = [header ?? []].flat().join(',').split(',').at(-1)?.trim() ?? ''
  return last === '' ? undefined : last.slice(0, 64)
}
