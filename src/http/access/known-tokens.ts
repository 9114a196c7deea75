import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/logger.ts'
import type { AdminToken, AdminTokenStore, NamedToken } from './admin-tokens.ts'
import type { EndedSessions } from './session.ts'

/** Tokens that need no Redis. */
export interface OwnTokens {
  /** Undefined: there are named ones only. */
  main: AdminToken | undefined
  local: AdminToken | undefined
}

export interface KnownList {
  tokens: readonly AdminToken[]
  /** Sessions that were signed out. */
  ended: ReadonlySet<string>
  /** False while these and the named tokens could not be read even once. */
  complete: boolean
}

/** How old the list may be: a token that was removed opens nothing any more. */
const FRESH_MS = 1_000
/** How old it may be before a token counts as unknown: one that was made just now should work. Guesses cost no more reads. */
const JUST_MADE_MS = 100
/** How long a request waits for the list. */
const WAIT_MS = 500
/** A moment of last use need not be more exact, and a write for every request would be for nothing. */
const NOTE_USE_EVERY_MS = 60_000

const IGNORED = 'stored admin tokens that are not ours do not work; see plimsoll admin-tokens list'

/**
 * The admin tokens as this process knows them, and the sessions that are over: its own tokens, which need no Redis, and the
 * list that was read last. While Redis can't be read that list holds.
 */
export class KnownTokens {
  readonly main: AdminToken | undefined
  /** The token of commands on this machine. */
  readonly local: AdminToken | undefined
  readonly #store: AdminTokenStore
  readonly #endedSessions: EndedSessions
  readonly #clock: Clock
  readonly #log: Logger
  #read: { named: readonly NamedToken[]; ended: ReadonlySet<string>; ignored: number } | undefined
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> = Promise.resolve()
  readonly #notedAt = new Map<string, number>()

  constructor(
    { main, local }: OwnTokens,
    stores: { named: AdminTokenStore; ended: EndedSessions },
    { clock, log }: { clock: Clock; log: Logger },
  ) {
    this.main = main
    this.local = local
    this.#store = stores.named
    this.#endedSessions = stores.ended
    this.#clock = clock
    this.#log = log
  }

  current(): Promise<KnownList> {
    return this.#noOlderThan(FRESH_MS)
  }

  /** For a token that is not in the current list. */
  newest(): Promise<KnownList> {
    return this.#noOlderThan(JUST_MADE_MS)
  }

  async #noOlderThan(ageMs: number): Promise<KnownList> {
    const now = this.#clock.steady()
    if (now - this.#readAt >= ageMs) {
      this.#readAt = now
      this.#reading = this.#readAll()
    }
    await this.#readSoon()
    const { named = [], ended = new Set<string>() } = this.#read ?? {}
    return { tokens: [this.main ?? [], this.local ?? [], named].flat(), ended, complete: this.#read !== undefined }
  }

  /** A token was shown that is right. */
  used({ name }: AdminToken): void {
    const now = this.#clock.now()
    const named = this.#read?.named.find((token) => token.name === name)
    const last = Math.max(named?.lastUsedAt ?? 0, this.#notedAt.get(name) ?? 0)
    if (named === undefined || now - last < NOTE_USE_EVERY_MS) return
    this.#notedAt.set(name, now)
    this.#store.noteUsed(named, now).catch(() => undefined) // The request must not wait for it, nor fail with it.
  }

  /** Here at once, at other daemons when they read again. */
  async endSession(session: string): Promise<void> {
    await this.#endedSessions.add(session, this.#clock.now())
    this.readAnew()
  }

  /** The list has changed: the next request reads it again. */
  readAnew(): void {
    this.#readAt = Number.NEGATIVE_INFINITY
  }

  /** A Redis that hangs holds up no token that is known already. */
  async #readSoon(): Promise<void> {
    const read = new AbortController()
    const waited = this.#clock.wait(WAIT_MS, read.signal)
    await Promise.race([this.#reading, waited])
    read.abort()
  }

  async #readAll(): Promise<void> {
    try {
      const [stored, ended] = await Promise.all([this.#store.list(), this.#endedSessions.list()])
      const named = stored.filter(({ isOurs }) => isOurs)
      const ignored = stored.length - named.length
      if (ignored > (this.#read?.ignored ?? 0)) this.#log.warn({ code: 'http.token-ignored', ignored }, IGNORED)
      this.#read = { named, ended, ignored }
    } catch {
      // The last list holds; while there is none, the next request may find Redis there.
      if (this.#read === undefined) this.#readAt = Number.NEGATIVE_INFINITY
    }
  }
}
