import type { Clock } from '../../runtime/clock.ts'
import type { Secret } from '../../runtime/secret.ts'
import { type AdminToken, hashOf, type NamedToken, OF_CONFIG, SCOPES } from './admin-token.ts'
import type { AdminTokenStore } from './admin-token-store.ts'

export interface KnownList {
  tokens: readonly AdminToken[]
  /** Whether requests need a token. */
  guarded: boolean
  /** False while the named ones could not be read even once. */
  complete: boolean
}

/** How old the list may be: a token that was removed opens nothing any more. */
const FRESH_MS = 1_000
/** How old it may be before a token counts as unknown: one that was made just now should work. Guesses cost no more reads. */
const JUST_MADE_MS = 100
/** How long a request waits for the list. */
const PATIENCE_MS = 500
/** A moment of last use need not be more exact, and a write for every request would be for nothing. */
const NOTE_USE_EVERY_MS = 60_000

/**
 * The admin tokens as this process knows them: the config's, and the named ones as last read. While Redis can't be read
 * the last list holds; as long as there is none, the server is guarded, because there may be tokens.
 */
export class KnownTokens {
  readonly #ofConfig: readonly AdminToken[]
  readonly #store: AdminTokenStore
  readonly #clock: Clock
  #named: readonly NamedToken[] | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> = Promise.resolve()
  readonly #notedAt = new Map<string, number>()

  constructor(adminToken: Secret | undefined, store: AdminTokenStore, clock: Clock) {
    this.#ofConfig =
      adminToken === undefined ? [] : [{ name: OF_CONFIG, hash: hashOf(adminToken.reveal()), scopes: SCOPES }]
    this.#store = store
    this.#clock = clock
  }

  current(): Promise<KnownList> {
    return this.#noOlderThan(FRESH_MS)
  }

  /** For whoever showed a token that is not in the current list. */
  newest(): Promise<KnownList> {
    return this.#noOlderThan(JUST_MADE_MS)
  }

  async #noOlderThan(ageMs: number): Promise<KnownList> {
    const now = this.#clock.now()
    // A clock that was set back must not make an old list last.
    if (Math.abs(now - this.#readAt) >= ageMs) {
      this.#readAt = now
      this.#reading = this.#read()
    }
    await this.#readSoon()
    const tokens = [...this.#ofConfig, ...(this.#named ?? [])]
    const complete = this.#named !== undefined
    return { tokens, guarded: tokens.length > 0 || !complete, complete }
  }

  /** A token was shown that is right. */
  used({ name }: AdminToken): void {
    const now = this.#clock.now()
    const named = this.#named?.find((token) => token.name === name)
    const last = Math.max(named?.lastUsedAt ?? 0, this.#notedAt.get(name) ?? 0)
    if (named === undefined || now - last < NOTE_USE_EVERY_MS) return
    this.#notedAt.set(name, now)
    this.#store.noteUsed(named, now).catch(() => undefined) // Whoever asks must not wait for it, nor fail with it.
  }

  /** A Redis that hangs holds nobody up who is known already. */
  async #readSoon(): Promise<void> {
    const read = new AbortController()
    const patience = this.#clock.wait(PATIENCE_MS, read.signal)
    await Promise.race([this.#reading, patience])
    read.abort()
  }

  async #read(): Promise<void> {
    try {
      this.#named = await this.#store.list()
    } catch {
      // The last list holds.
    }
  }
}
