import { setMaxListeners } from 'node:events'
import { isRedisAway } from '../redis/away.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { AnswerToStore, Grant, TokenStore, TokensToStore } from './token-store.ts'
import type { Vault } from './vault.ts'

/** Sooner than the next sweep comes by. */
const RETRY_MS = 250
/** So many tries are a minute. */
const TRIES_PER_LOG = 240
const SEALED_AFTER_MS = 5_000
/** After some ten seconds a replica has them, and the disk; until a replica takes over, as long again or longer may pass. */
const KEPT_MS = 60_000
const CLOSE_CHECK_MS = 20
/** A Redis that was emptied may get its data back for so long; an account that was forgotten is known to it as long. */
export const UNKNOWN_KEPT_MS = 30 * 86_400_000
/** A worker has a grant to itself for so long: longer than all calls of a callback take, and over by the second sweep after it. */
export const GRANT_CLAIM_MS = 59_000

/** A hub id, or the id of a grant whose account is not known yet. */
export type Holder = number | string

export function holderOf(tokens: TokensToStore): Holder {
  return isGrant(tokens) ? tokens.id : tokens.hubId
}

function isGrant(tokens: TokensToStore): tokens is Grant {
  return tokens.hubId === NO_ACCOUNT
}

/** For logs. */
export function holderFacts(holder: Holder): { hubId: number } | { grant: string } {
  return typeof holder === 'number' ? { hubId: holder } : { grant: holder }
}

/** Newer tokens of a grant take the place of those before. */
function nameOf(tokens: TokensToStore): string {
  return isGrant(tokens) ? tokens.id : `${tokens.hubId} ${tokens.claim}`
}

/** Parts that most work on tokens needs. */
export interface TokenDeps {
  tokens: TokenStore
  vault: Vault
  pending: PendingTokens
  clock: Clock
  log: Logger
}

/** A file of the data folder. */
export interface PendingFile {
  readonly path: string
  /** In place of those that it had. Throws where that can't be. */
  write(all: readonly TokensToStore[]): void
}

type PendingDeps = Omit<TokenDeps, 'pending'> & { file: PendingFile }

/** Puts aside the unreadable values of an account. */
export type PutAside = (hubId: number) => Promise<void>

type StoredAnswer = 'stored' | 'lost' | 'uninstalled'
type Outcome = StoredAnswer | 'parked' | 'gone'

interface Entry {
  tokens: TokensToStore
  /** Since they came. */
  age: () => number
  /** Redis had them before, and may have lost them. */
  isAgain: boolean
  /** The process tries until Redis takes them. */
  isTried: boolean
  isSealed: boolean
}

/**
 * Tokens that the provider has given and Redis has not taken: they are nowhere else, and the refresh tokens before them may be
 * dead. They are tried for as long as the process lives, and are in its file if that takes long, or once it ends. New refresh
 * tokens are kept for a minute after they were stored: a failover may lose them.
 */
export class PendingTokens {
  readonly #deps: PendingDeps
  /** Their refresh tokens are with the provider, or a job works on them. */
  readonly #atWork = new Set<Holder>()
  readonly #pending = new Map<string, Entry>()
  /** The oldest first, with their ages since then. */
  readonly #stored = new Map<string, { tokens: TokensToStore; age: () => number }>()
  readonly #ending = new AbortController()
  #hasFile = false

  constructor(deps: PendingDeps) {
    this.#deps = deps
    setMaxListeners(0, this.#ending.signal) // One for all tokens that are tried again.
  }

  /**
   * A job of this process works on it, or its tokens are not stored. Its refresh token must not be redeemed: its claim may have
   * ended meanwhile.
   */
  has(holder: Holder): boolean {
    if (this.#atWork.has(holder)) return true
    for (const { tokens, isTried } of this.#pending.values()) if (isTried && holderOf(tokens) === holder) return true
    return false
  }

  /** `has` is true meanwhile; the caller has made sure that it was not before. */
  async hold<T>(holder: Holder, work: () => Promise<T>): Promise<T> {
    this.#atWork.add(holder)
    try {
      return await work()
    } finally {
      this.#atWork.delete(holder)
    }
  }

  /** The latest tokens of a grant that Redis has not taken, and that no job works on. */
  idleGrant(id: string): Grant | undefined {
    const tokens = this.#pending.get(id)?.tokens
    return tokens !== undefined && isGrant(tokens) && !this.#atWork.has(id) ? tokens : undefined
  }

  /**
   * Resolves once Redis has them, or newer ones. The store itself waits for a lost connection, without a word; a Redis that
   * refuses writes (out of memory, read-only, no replicas) is asked again, loudly. `left`: the process ends first, or Redis
   * knows no such account.
   */
  store(answer: AnswerToStore, putAside?: PutAside): Promise<StoredAnswer | 'left'> {
    return this.#untilStored(this.#add(answer), true, putAside) as Promise<StoredAnswer | 'left'>
  }

  /**
   * `gone`: newer tokens of it are there, or its account is stored. Throws where Redis does not take it; then it is tried until Redis
   * does. `nextAt`: when its sweep may try it, ms.
   */
  async park(grant: Grant, nextAt: number): Promise<'parked' | 'gone'> {
    const entry = this.#add(grant)
    try {
      return (await this.#try(entry, nextAt)) as 'parked' | 'gone'
    } catch (error) {
      void this.#tryAll()
      throw error
    }
  }

  /** Redis has it, with its account. */
  stored(grant: Grant): void {
    this.#pending.delete(grant.id)
    this.#keep(grant)
  }

  /**
   * Called when a connection has come about: a Redis that took over, or was started again, may have lost its last writes. Newer
   * writes win: where nothing was lost, this changes nothing.
   */
  storeAgain(): Promise<void> {
    for (const { tokens } of [...this.#stored.values()]) this.#add(tokens).isAgain = true
    return this.#tryAll()
  }

  /** Tokens in the file of an earlier process: once this resolves they are stored, or in the file of this one. */
  async takeOver(sealed: readonly TokensToStore[]): Promise<void> {
    for (const tokens of sealed) {
      if (!this.#pending.has(nameOf(tokens))) this.#add(tokens).age = () => Number.POSITIVE_INFINITY
    }
    await this.#tryAll()
    this.seal()
  }

  /**
   * Called every few seconds: a process that is killed while Redis is away, or refuses, loses only the tokens that have just
   * come. Throws where the file can't be written.
   */
  seal(): void {
    const all = [...this.#pending.values()]
    const waiting = all.filter(({ age }) => this.#ending.signal.aborted || age() >= SEALED_AFTER_MS)
    if (waiting.length === 0 && !this.#hasFile) return
    const { log, file } = this.#deps
    const added = waiting.filter(({ isSealed }) => !isSealed)
    const hubIds = added.map(({ tokens }) => tokens.hubId).filter((hubId) => hubId !== NO_ACCOUNT)
    const facts = { hubIds, grants: added.length - hubIds.length, file: file.path }
    try {
      file.write(waiting.map(({ tokens }) => tokens))
    } catch (err) {
      const message = 'new tokens that Redis did not take could not be kept on disk either: a stop loses them'
      log.error({ code: 'token.not-sealed', ...facts, err }, message)
      throw err
    }
    this.#hasFile = waiting.length > 0
    for (const entry of added) entry.isSealed = true
    const message = `new tokens that Redis did not take are kept in ${file.path}: the next start stores them`
    if (added.length > 0) log.warn({ code: 'token.sealed', ...facts }, message)
  }

  /** The process ends: what Redis refuses from now on is sealed in place of being tried again. */
  end(): void {
    this.#ending.abort()
  }

  /** Waits a while for work under way, and seals what is pending then. Tokens that come later are sealed as they are refused. */
  async close(atMostMs: number): Promise<void> {
    this.end()
    const { clock } = this.#deps
    const sinceEnd = clock.stopwatch()
    const isBusy = () => this.#atWork.size > 0 || [...this.#pending.values()].some(({ isTried }) => isTried)
    while (isBusy() && sinceEnd() < atMostMs) await clock.wait(CLOSE_CHECK_MS)
    this.seal()
  }

  #add(tokens: TokensToStore): Entry {
    const entry = { tokens, age: this.#deps.clock.stopwatch(), isAgain: false, isTried: false, isSealed: false }
    this.#stored.delete(nameOf(tokens))
    this.#pending.set(nameOf(tokens), entry)
    return entry
  }

  #keep(tokens: TokensToStore): void {
    this.#stored.delete(nameOf(tokens))
    this.#stored.set(nameOf(tokens), { tokens, age: this.#deps.clock.stopwatch() })
  }

  /** Never throws: `seal` logs it. */
  async #tryAll(): Promise<void> {
    const idle = [...this.#pending.values()].filter(({ isTried }) => !isTried)
    await Promise.allSettled(idle.map((entry) => this.#untilStored(entry)))
  }

  async #untilStored(entry: Entry, isOwn = false, putAside?: PutAside): Promise<Outcome | 'left'> {
    const { clock, log } = this.#deps
    const { tokens, isAgain } = entry
    const facts = { code: 'token.not-stored', ...holderFacts(holderOf(tokens)) } as const
    entry.isTried = true
    try {
      for (let tries = 0; ; tries++) {
        // A grant that a second visit stored meanwhile would come as one that is later than all that was asked for since.
        if (this.#pending.get(nameOf(tokens)) !== entry) return 'gone'
        const nextAt = clock.now() + (isAgain ? GRANT_CLAIM_MS : 0)
        // A job that works on the account or grant may bring newer tokens.
        const isFree = isOwn || !this.#atWork.has(holderOf(tokens))
        const is = isFree ? await this.#try(entry, nextAt).catch((err: unknown) => ({ err })) : 'held'
        if (is === 'unknown') {
          const isOver = clock.now() - tokens.times.obtainedAt > UNKNOWN_KEPT_MS
          if (isOver) this.#pending.delete(nameOf(tokens))
          const what = isOver ? 'Its old tokens are dropped' : 'The new tokens wait for it'
          log.error(facts, `Redis knows no such account: it was emptied, or is another one. ${what}`)
          return 'left'
        }
        if (typeof is === 'string' && is !== 'held') return is
        if (this.#ending.signal.aborted) {
          if (!entry.isSealed) this.seal()
          return 'left'
        }
        if (typeof is === 'object' && tries % TRIES_PER_LOG === 0) {
          log.error({ ...facts, err: is.err }, 'new tokens could not be stored yet')
          // The step may have failed at the account's stored data: no refresh comes to find that out.
          if (!isRedisAway(is.err)) await putAside?.(tokens.hubId).catch(() => undefined)
        }
        await clock.wait(RETRY_MS, this.#ending.signal)
      }
    } finally {
      entry.isTried = false
    }
  }

  async #try(entry: Entry, nextAt: number): Promise<Outcome | 'held' | 'unknown'> {
    const { tokens: store, vault, log } = this.#deps
    const { tokens, isAgain, age } = entry
    const name = nameOf(tokens)
    const is = await (isGrant(tokens)
      ? store.parkGrant(tokens, vault, nextAt)
      : store.storeTokens(tokens, vault, isAgain))
    if (is === 'held' || is === 'unknown' || this.#pending.get(name) !== entry) return is
    this.#pending.delete(name)
    const facts = { code: 'token.unsealed', ...holderFacts(holderOf(tokens)), is } as const
    if (age() >= SEALED_AFTER_MS) log.info(facts, 'new tokens that waited in a file')
    // Without a new refresh token, a failover loses an access token alone.
    const isLasting = (is === 'stored' || is === 'parked' || isAgain) && tokens.refresh !== undefined
    if (isLasting) this.#keep(tokens)
    // Here alone: while Redis is away, nothing that it may lose is forgotten.
    for (const [oldest, stored] of this.#stored) {
      if (stored.age() <= KEPT_MS) break
      this.#stored.delete(oldest)
    }
    return is
  }
}
