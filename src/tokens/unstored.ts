import { setMaxListeners } from 'node:events'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { Secret } from '../runtime/secret.ts'
import type { NewTokens, TokenStore } from './token-store.ts'
import type { Vault } from './vault.ts'

/** What the provider answered to a refresh, in clear: it is encrypted by the key that is in force when it is written. */
export interface Answer extends Omit<NewTokens, 'access' | 'refresh'> {
  hubId: number
  /** Who has the account's lease. */
  owner: string
  access: Secret
  /** Absent: the one that is stored stays. */
  refresh: Secret | undefined
}

/** After some ten seconds a replica has it, and the disk; until a replica takes over, as long again or longer may pass. */
const DURABLE_MS = 60_000
/** How often the end looks whether all has come and is stored. */
const LOOK_EVERY_MS = 20

/**
 * Accounts whose refresh token is with the provider, and what it has answered until Redis takes it: those tokens are
 * nowhere else, and the old ones may be dead. Nobody else of this process redeems a token of these accounts; a lease does
 * not tell, because a Redis that refuses writes refuses to renew it as well. What Redis has taken is kept until it can't be
 * lost there any more.
 */
export class Unstored {
  readonly #accounts = new Map<number, Answer | undefined>()
  /** Redis has taken them, and may lose them still. The oldest first. */
  readonly #young: { answer: Answer; age: () => number }[] = []
  readonly #seal: (answers: readonly Answer[]) => void
  readonly #ending = new AbortController()

  /** `seal` puts answers where the next start finds them. */
  constructor(seal: (answers: readonly Answer[]) => void) {
    this.#seal = seal
    setMaxListeners(0, this.#ending.signal) // One per answer that is tried again.
  }

  has(hubId: number): boolean {
    return this.#accounts.has(hubId)
  }

  /** The account is in hand for as long as this work is under way. */
  async hold<T>(hubId: number, work: () => Promise<T>): Promise<T> {
    this.#accounts.set(hubId, undefined)
    try {
      return await work()
    } finally {
      this.#accounts.delete(hubId)
    }
  }

  keep(answer: Answer): void {
    this.#accounts.set(answer.hubId, answer)
  }

  /** Redis has taken it. While Redis is away nothing comes in, and nothing goes. */
  keepYoung(answer: Answer, clock: Clock): void {
    const firstYoung = this.#young.findIndex(({ age }) => age() <= DURABLE_MS)
    this.#young.splice(0, firstYoung === -1 ? this.#young.length : firstYoung)
    this.#young.push({ answer, age: clock.stopwatch() })
  }

  get young(): Answer[] {
    return this.#young.map(({ answer }) => answer)
  }

  /** Aborted: the process ends, and what Redis refuses from now on is sealed in place of being tried again. */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  end(): void {
    this.#ending.abort()
  }

  /** The account's answer, unless it is sealed already. */
  seal(hubId: number): void {
    const answer = this.#accounts.get(hubId)
    if (answer === undefined) return
    this.#seal([answer])
    this.#accounts.set(hubId, undefined)
  }

  /** Waits a while for what is under way. What has come by then is sealed; what comes later is as well, as it comes. */
  async close(clock: Clock, patienceMs: number): Promise<void> {
    this.end()
    const until = clock.now() + patienceMs
    while (this.#accounts.size > 0 && clock.now() < until) await clock.wait(LOOK_EVERY_MS)
    const left = [...this.#accounts.values()].filter((answer) => answer !== undefined)
    if (left.length > 0) this.#seal(left)
    for (const { hubId } of left) this.#accounts.set(hubId, undefined)
  }
}

export interface StoreAnswerDeps {
  tokens: TokenStore
  vault: Vault
  unstored: Unstored
  clock: Clock
  log: Logger
}

/** A refused write is tried again four times a second: sooner than the next sweep comes by. */
const STORE_AGAIN_MS = 250
/** Said once a minute. */
const SAID_EVERY = 240

/**
 * For as long as the process lives. A connection that is lost is waited for by the store itself; a Redis that refuses
 * writes (out of memory, read-only, no replicas) is asked again, loudly. `again`: it was stored before, and may be lost.
 * `left`: the process ended first, or Redis knows no such account.
 */
export async function storeAnswer(
  deps: StoreAnswerDeps,
  answer: Answer,
  again = false,
): Promise<'stored' | 'lost' | 'uninstalled' | 'left'> {
  const { hubId, owner } = answer
  for (let attempt = 1; ; attempt++) {
    try {
      const is = await deps.tokens.storeTokens(hubId, owner, encrypted(deps.vault, answer), again)
      if (is === 'stored' && !again) deps.unstored.keepYoung(answer, deps.clock)
      if (is === 'unknown') return leaveForNow(deps, hubId, attempt)
      if (is !== 'held') return is
    } catch (error) {
      if (attempt % SAID_EVERY === 1 && !deps.unstored.ending.aborted) {
        deps.log.error({ code: 'token.not-stored', hubId, attempt, err: error }, 'new tokens could not be stored yet')
      }
    }
    if (deps.unstored.ending.aborted) {
      deps.unstored.seal(hubId)
      return 'left'
    }
    await deps.clock.wait(STORE_AGAIN_MS, deps.unstored.ending)
  }
}

function leaveForNow(deps: StoreAnswerDeps, hubId: number, attempt: number): 'left' {
  deps.unstored.seal(hubId)
  deps.log.error(
    { code: 'token.not-stored', hubId, attempt },
    'Redis knows no such account: it was emptied, or is another one. The new tokens wait for it in the data folder',
  )
  return 'left'
}

/**
 * A Redis that took over, or was started again, may have lost what it had taken last. What has come in since wins: where
 * nothing was lost, this does nothing.
 */
export async function storeYoungAgain(deps: StoreAnswerDeps): Promise<void> {
  const { unstored } = deps
  const storeAgain = (answer: Answer) => {
    if (unstored.has(answer.hubId)) return storeAnswer(deps, answer, true)
    return unstored.hold(answer.hubId, () => {
      unstored.keep(answer)
      return storeAnswer(deps, answer, true)
    })
  }
  await Promise.all(unstored.young.map(storeAgain))
}

function encrypted(vault: Vault, { hubId, owner: _, access, refresh, ...rest }: Answer): NewTokens {
  return {
    ...rest,
    access: vault.seal(access, hubId, 'access'),
    refresh: refresh && vault.seal(refresh, hubId, 'refresh'),
  }
}
