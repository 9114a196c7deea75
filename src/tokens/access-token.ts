import { setMaxListeners } from 'node:events'
import type { Clock } from '../runtime/clock.ts'
import type { Secret } from '../runtime/secret.ts'
import { LONGEST_PAUSE_MS, type TokenTimes } from './plan-refresh.ts'
import type { RefreshOutcome } from './refresh-account.ts'
import type { StoredToken, TokenStore } from './token-store.ts'
import { openToken, type Vault } from './vault.ts'

/** Good for as long as calls may take, which for a life of seconds is a tenth of it. */
export function hasTimeForACall({ obtainedAt, expiresAt }: TokenTimes, now: number): boolean {
  return expiresAt - now > Math.min(10_000, (expiresAt - obtainedAt) / 10)
}

export type Judgement =
  | { is: 'good'; token: StoredToken & { accessToken: Buffer } }
  | { is: 'refresh'; version: string }
  /** There is a token of unknown owner: a line of the imported file may hold another account's. */
  | { is: 'unidentified' }
  | NoToken

/** Why there is no token. With `at`: ask again at that moment, ms. */
export type NoToken =
  | { is: 'unknown' | 'gone' | 'reauthorize' }
  | { is: 'later' | 'unidentified'; at: number }
  /** `why` names the key that is missing. */
  | { is: 'unopened'; at: number; why: string }

/** For as long as nothing better is known. */
const ASK_AGAIN_MS = 2_000

/**
 * The answer to a request for an account's access token. `triedUntil`: a refresh was tried, and the next one is no use before that
 * moment, ms; a token that is still valid is served then, whether the refresh worked or not.
 */
export function judgeToken(token: StoredToken | undefined, now: number, triedUntil?: number): Judgement {
  if (token === undefined) return { is: 'unknown' }
  if (token.state === 'uninstalling' || token.state === 'uninstalled') return { is: 'gone' }
  const waits = token.state === 'reauthorize' || (token.retryAt !== null && token.retryAt > now)
  // While no refresh may be tried, a token is served to its end: a refused refresh token ends no access token.
  const isServedToItsEnd = waits || triedUntil !== undefined
  if (hasToken(token) && (isServedToItsEnd ? token.expiresAt > now : hasTimeForACall(token, now))) {
    return token.metadataDue ? { is: 'unidentified' } : { is: 'good', token }
  }
  if (token.state === 'reauthorize') return { is: 'reauthorize' }
  if (waits) return { is: 'later', at: Math.min(token.retryAt ?? now, now + LONGEST_PAUSE_MS) }
  if (triedUntil !== undefined) return { is: 'later', at: Math.max(now + ASK_AGAIN_MS, triedUntil) }
  return { is: 'refresh', version: token.version }
}

function hasToken(token: StoredToken): token is StoredToken & { accessToken: Buffer } {
  return token.accessToken !== null
}

export interface AccessTokenDeps {
  tokens: Pick<TokenStore, 'read' | 'noteServed'>
  vault: Vault
  /** Refreshes the account if its tokens are still of this version. */
  refresh: (hubId: number, version: string) => Promise<RefreshOutcome>
  /**
   * Asks the provider for the token's account, unless it is known by now; `later`: the provider can't be asked at the moment.
   */
  identify: (hubId: number) => Promise<'asked' | 'later'>
  clock: Clock
}

export type AccessTokenAnswer = { is: 'served'; token: Secret; expiresAt: number; scopes: string[] } | NoToken

/** How long a request waits for a refresh, and how often it checks another worker's. */
const LONGEST_WAIT_MS = 12_000
const LOOK_EVERY_MS = 100
/** A token may be replaced between reading it and handing it out, hardly ever twice. */
const ATTEMPTS = 3

/** Hands out access tokens that are valid, refreshed where needed: one refresh for all callers at the same time. */
export class AccessTokens {
  readonly #deps: AccessTokenDeps
  readonly #underWay = new Map<number, Promise<RefreshOutcome>>()
  readonly #asking = new Map<number, Promise<'asked' | 'later'>>()
  readonly #stopping = new AbortController()

  constructor(deps: AccessTokenDeps) {
    this.#deps = deps
    setMaxListeners(0, this.#stopping.signal) // One per account that is waited for.
  }

  /** `to`: the name of the caller; it is noted before the token leaves. */
  async serve(hubId: number, to: string): Promise<AccessTokenAnswer> {
    const { tokens, vault, clock } = this.#deps
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const judged = await this.#validToken(hubId)
      if (judged.is === 'unidentified') {
        if ((await this.#identified(hubId)) === 'asked') continue
        return { is: 'unidentified', at: clock.now() + ASK_AGAIN_MS }
      }
      if (judged.is === 'refresh') break // Never: one was tried.
      if (judged.is !== 'good') return judged
      const { version, accessToken, expiresAt, scopes, retryAt } = judged.token
      const opened = openToken(vault, accessToken, hubId, 'access')
      if (!opened.ok) {
        // One that can be opened may come of a refresh, unless that has just failed.
        const askAt = Math.max(retryAt ?? 0, clock.now() + ASK_AGAIN_MS)
        if (retryAt !== null || attempt > 1) return { is: 'unopened', at: askAt, why: opened.failure.message }
        await this.#refreshed(hubId, version)
        continue
      }
      const noted = await tokens.noteServed(hubId, version, clock.now(), to)
      if (noted === 'noted') return { is: 'served', token: opened.value, expiresAt, scopes }
    }
    return { is: 'later', at: clock.now() + ASK_AGAIN_MS }
  }

  /** Begins no more refreshes and lets those under way be stored, for up to `atMostMs`. */
  async stop(atMostMs: number): Promise<void> {
    this.#stopping.abort()
    const stored = new AbortController()
    const waited = this.#deps.clock.wait(atMostMs, stored.signal)
    await Promise.race([Promise.allSettled([...this.#underWay.values(), ...this.#asking.values()]), waited])
    stored.abort()
  }

  async #validToken(hubId: number) {
    const { tokens, clock } = this.#deps
    const judged = judgeToken(await tokens.read(hubId), clock.now())
    if (judged.is !== 'refresh') return judged
    let failed: unknown
    const outcome = await this.#refreshed(hubId, judged.version).catch((error: unknown) => {
      failed = error
      return undefined
    })
    const triedUntil = outcome?.is === 'waiting' ? outcome.until : 0
    const after = judgeToken(await tokens.read(hubId), clock.now(), triedUntil)
    if (after.is === 'later' && failed !== undefined) throw failed
    return after
  }

  #refreshed(hubId: number, version: string): Promise<RefreshOutcome | undefined> {
    return this.#shared(this.#underWay, hubId, () => this.#refreshOrAwait(hubId, version))
  }

  async #identified(hubId: number): Promise<'asked' | 'later' | undefined> {
    if (this.#stopping.signal.aborted) return 'later'
    return this.#shared(this.#asking, hubId, () => this.#deps.identify(hubId))
  }

  /** Runs `begin` once for all callers at the same time. Undefined: it takes longer than a request should wait, and goes on. */
  async #shared<T>(running: Map<number, Promise<T>>, hubId: number, begin: () => Promise<T>): Promise<T | undefined> {
    const work = running.get(hubId) ?? begin().finally(() => running.delete(hubId))
    running.set(hubId, work)
    const ended = new AbortController()
    const tooLong = this.#deps.clock.wait(LONGEST_WAIT_MS, ended.signal).then(() => undefined)
    try {
      return await Promise.race([work, tooLong])
    } finally {
      ended.abort()
    }
  }

  /** Refreshes, or waits for the worker that has it; refreshes after all if that worker stored nothing. */
  async #refreshOrAwait(hubId: number, version: string): Promise<RefreshOutcome> {
    const { tokens, refresh, clock } = this.#deps
    const until = clock.now() + LONGEST_WAIT_MS
    let outcome: RefreshOutcome = { is: 'held' }
    while (!this.#stopping.signal.aborted) {
      outcome = await refresh(hubId, version)
      if (outcome.is !== 'held') return outcome
      for (let isHeld = true; isHeld; ) {
        if (clock.now() >= until || this.#stopping.signal.aborted) return outcome
        await clock.wait(LOOK_EVERY_MS, this.#stopping.signal)
        const token = await tokens.read(hubId)
        if (judgeToken(token, clock.now()).is !== 'refresh') return outcome
        isHeld = token?.isHeld === true
      }
    }
    return outcome
  }
}
