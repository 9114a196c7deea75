import { setMaxListeners } from 'node:events'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import type { GrantToStore, TokensToStore } from './token-store.ts'
import { DURABLE_MS, YoungAnswers } from './young-answers.ts'

const SEALED_AFTER_MS = 5_000
const MINUTE_MS = 60_000
/** How often the stop checks whether all has come and is stored. */
const LOOK_EVERY_MS = 20

/** A hub id, or the id of a grant whose account is not known yet. */
export type Holder = number | string

export function holderOf(tokens: TokensToStore): Holder {
  return isGrant(tokens) ? tokens.id : tokens.hubId
}

export function isGrant(tokens: TokensToStore): tokens is GrantToStore {
  return tokens.hubId === NO_ACCOUNT
}

/** Young answers are read from bytes: of one answer there may be several objects, of a grant there is one. */
function nameOf(tokens: TokensToStore): GrantToStore | string {
  return isGrant(tokens) ? tokens : tokens.owner
}

/** For logs. */
export function holderFacts(holder: Holder): { hubId: number } | { grant: string } {
  return typeof holder === 'number' ? { hubId: holder } : { grant: holder }
}

/** Puts answers where the next start finds them. Returns a function that removes them there, once they are stored. */
export type Seal = (answers: readonly TokensToStore[]) => (() => void) | undefined

/** Answers in one file of the data folder, which goes once all of them are stored. */
interface SealedTogether {
  left: number
  takeAway: (() => void) | undefined
}

/**
 * Accounts whose refresh token is with the provider, and its answers until Redis takes them: those tokens are nowhere else, and
 * the old ones may be dead. No other job of this process redeems a token of these accounts; a lease does not protect them,
 * because a Redis that refuses writes refuses to renew it as well. Answers that Redis has taken are kept until they can't be
 * lost there any more. The same for the grants of installs.
 */
export class Unstored {
  /** How many are at work on each. */
  readonly #inHand = new Map<Holder, number>()
  /** Neither stored nor sealed, and for how long. The oldest first. */
  readonly #kept = new Map<TokensToStore, () => number>()
  /** The latest tokens of each grant that is not stored, sealed or not. */
  readonly #grants = new Map<string, GrantToStore>()
  readonly #sealed = new Map<TokensToStore, SealedTogether>()
  /** Redis has taken them, and may lose them still; of grants, how long ago. */
  readonly #young = new YoungAnswers()
  readonly #youngGrants = new Map<GrantToStore, () => number>()
  /** Young ones that are to be stored again, and those that a job works on: grants, and answers by the refresh that they are of. */
  readonly #asked = new Set<GrantToStore | string>()
  readonly #running = new Set<GrantToStore | string>()
  readonly #seal: Seal
  readonly #ending = new AbortController()
  /** How long ago the data folder last took nothing. */
  #sinceRefused: (() => number) | undefined

  constructor(seal: Seal) {
    this.#seal = seal
    setMaxListeners(0, this.#ending.signal) // One per answer that is tried again.
  }

  has(holder: Holder): boolean {
    return this.#inHand.has(holder)
  }

  /** Counts the account or grant as busy for as long as this work is under way. */
  async hold<T>(holder: Holder, work: () => Promise<T>): Promise<T> {
    this.take(holder)
    try {
      return await work()
    } finally {
      this.giveBack(holder)
    }
  }

  take(holder: Holder): void {
    this.#inHand.set(holder, (this.#inHand.get(holder) ?? 0) + 1)
  }

  giveBack(holder: Holder): void {
    const others = (this.#inHand.get(holder) ?? 1) - 1
    if (others > 0) this.#inHand.set(holder, others)
    else this.#inHand.delete(holder)
  }

  /** Newer tokens of a grant take the place of those before. */
  keep(answer: TokensToStore, clock: Clock): void {
    if (isGrant(answer)) {
      this.#forgetGrant(answer.id)
      this.#grants.set(answer.id, answer)
    }
    this.#kept.set(answer, clock.stopwatch())
  }

  /** The latest tokens of a grant that Redis has not taken. */
  grant(id: string): GrantToStore | undefined {
    return this.#grants.get(id)
  }

  get grants(): GrantToStore[] {
    return [...this.#grants.values()]
  }

  /** Notes the account of a grant that Redis may still lose. */
  noteGrant(id: string, account: number | ''): void {
    for (const one of this.#youngGrants.keys()) if (one.id === id) one.account = account
  }

  #forgetGrant(id: string): void {
    for (const its of [this.#kept, this.#youngGrants, this.#sealed]) {
      for (const one of its.keys()) if (isGrant(one) && one.id === id) this.#drop(one)
    }
    this.#grants.delete(id)
  }

  #drop(answer: TokensToStore): void {
    this.#kept.delete(answer)
    if (isGrant(answer)) this.#youngGrants.delete(answer)
    const file = this.#sealed.get(answer)
    if (file === undefined) return
    this.#sealed.delete(answer)
    file.left--
    if (file.left === 0) file.takeAway?.()
  }

  /**
   * Redis has it, or newer tokens. Answers that it took a minute before that go: while Redis is away nothing is settled, and
   * nothing goes.
   */
  settle(answer: TokensToStore, isStored: boolean, clock: Clock): void {
    if (isGrant(answer)) this.#forgetGrant(answer.id)
    this.#drop(answer)
    if (!isStored) this.#young.forgetOld()
    else if (isGrant(answer)) this.#youngGrants.set(answer, clock.stopwatch())
    else this.#young.add(answer, clock)
    for (const [oldest, age] of this.#youngGrants) {
      if (age() <= DURABLE_MS) return
      this.#youngGrants.delete(oldest)
    }
  }

  get young(): TokensToStore[] {
    return [...this.#young.all(), ...this.#youngGrants.keys()]
  }

  /** Never twice at once for an answer: asked for while it is under way, it is done once more after that. */
  async withYoung(work: (answer: TokensToStore) => Promise<void>): Promise<void> {
    const run = async (answer: TokensToStore) => {
      const name = nameOf(answer)
      this.#asked.add(name)
      if (this.#running.has(name)) return
      this.#running.add(name)
      while (this.#asked.delete(name)) await this.hold(holderOf(answer), () => work(answer))
      this.#running.delete(name)
    }
    await Promise.all(this.young.map(run))
  }

  /** Aborted: the process ends, and answers that Redis refuses from now on are sealed in place of being tried again. */
  get ending(): AbortSignal {
    return this.#ending.signal
  }

  end(): void {
    this.#ending.abort()
  }

  /** Unless it is sealed already. It is the next start's from then on. */
  seal(...answers: TokensToStore[]): void {
    const own = answers.filter((answer) => this.#kept.has(answer))
    if (own.length === 0) return
    const file = { left: own.length, takeAway: this.#seal(own) }
    for (const answer of own) {
      this.#kept.delete(answer)
      if (isGrant(answer)) this.#youngGrants.delete(answer)
      else this.#young.remove(answer)
      this.#asked.delete(nameOf(answer))
      this.#sealed.set(answer, file)
    }
  }

  couldSeal(...answers: TokensToStore[]): boolean {
    try {
      this.seal(...answers)
      return true
    } catch {
      return false
    }
  }

  /**
   * Called once a second: a process that is killed while Redis is away, or refuses, loses only the answers that have just come.
   * A data folder that takes no files either is tried once a minute: it logs that itself.
   */
  sealOverdue({ clock, log }: { clock: Clock; log: Logger }): void {
    if (this.#sinceRefused !== undefined && this.#sinceRefused() < MINUTE_MS) return
    const overdue = [...this.#kept].filter(([, age]) => age() >= SEALED_AFTER_MS).map(([answer]) => answer)
    if (overdue.length === 0) return
    for (const answer of overdue) {
      log.error(
        { code: 'token.not-stored', ...holderFacts(holderOf(answer)) },
        'Redis has not taken new tokens for five seconds',
      )
    }
    this.#sinceRefused = this.couldSeal(...overdue) ? undefined : clock.stopwatch()
  }

  /** Waits a while for work under way. Answers that have come by then are sealed; later ones are sealed as they come. */
  async close(clock: Clock, atMostMs: number): Promise<void> {
    this.end()
    const until = clock.now() + atMostMs
    while (this.#inHand.size > 0 && clock.now() < until) await clock.wait(LOOK_EVERY_MS)
    this.seal(...this.#kept.keys())
  }
}
