import { claimMark, freshChance } from '../redis/claim-mark.ts'
import type { Store } from '../redis/connect.ts'
import { type DueKind, type DueSet, hubIdsIn, type Keys } from '../redis/keys.ts'
import { chunksOf } from '../runtime/chunks-of.ts'

/** Work that is due for longer is not being done: a sweep comes every few seconds. */
export const OVERDUE_AFTER_MS = 60_000

/** Accounts that are read at a time: others have their turn then. */
const READ_AT_ONCE = 1_000

/** Accounts that fail, and are read for how many are overdue. */
const MOST_FAILING = 10_000

/** An account that is worked on by one worker alone. */
export interface Claimed {
  hubId: number
  /** The account's score: the moment at which it is due again, ms, with a random fraction that shows whose it is. */
  claim: number
}

/** A refresh is claimed with what it needs, see `TokenStore`. */
type ClaimedKind = Exclude<DueSet, 'refresh'>

export interface DueOutlook {
  count: number
  next: number | undefined
  first: number | undefined
}

/**
 * The one source of truth for "when next": a sorted set for each kind. Nothing else remembers what is due, so nothing can
 * disagree with it.
 */
export class DueSets {
  readonly #store: Store
  readonly #keys: Keys
  /** A fraction for a claim. */
  readonly mark: () => number

  /** `chance`: a number from 0 up to, and not including, 1. */
  constructor(store: Store, keys: Keys, chance = freshChance) {
    this.#store = store
    this.#keys = keys
    this.mark = () => claimMark(chance())
  }

  /** Claims up to `most` accounts that are due, for so long: then one that is not done is due again. */
  async claim(kind: ClaimedKind, most: number, ms: number): Promise<Claimed[]> {
    const { due, fleet } = this.#keys
    const [claim, ...hubIds] = await this.#store.claimAccounts(due[kind], fleet, most, ms, this.mark())
    return hubIdsIn(hubIds).map((hubId) => ({ hubId, claim: Number(claim) }))
  }

  /** Claims one account, whenever it is due; `before`: when it was. `gone`: it is not planned at all. */
  async claimOne(
    kind: ClaimedKind,
    hubId: number,
    ms: number,
  ): Promise<'gone' | 'held' | (Claimed & { before: number })> {
    const { due, fleet } = this.#keys
    const claimed = await this.#store.claimAccount(due[kind], fleet, hubId, Math.round(ms), this.mark())
    if (typeof claimed === 'string') return claimed
    return { hubId, claim: Number(claimed[0]), before: Math.floor(Number(claimed[1])) }
  }

  /** End of the first of the tokens that are kept alive, ms; undefined: there is none. */
  async nearestExpiry(): Promise<number | undefined> {
    return momentIn((await this.#store.zrange(this.#keys.expiry, 0, '0', 'WITHSCORES'))[1])
  }

  /** How many of the accounts that work have an access token that is over; `kept`: how many have a next refresh at all. */
  async countLate(now: number): Promise<{ late: number; kept: number }> {
    const late = this.#store.zcount(this.#keys.expiry, '-inf', now)
    return { late: await late, kept: await this.#store.zcard(this.#keys.due.refresh) }
  }

  /** Accounts that should be kept alive, and whose access token is over. */
  async expired(now: number): Promise<number[]> {
    return hubIdsIn(await this.#store.zrangebyscore(this.#keys.expiry, '-inf', now))
  }

  /** Plans a claimed account, unless another worker has claimed or planned it since. */
  async move(kind: DueSet, { hubId, claim }: Claimed, at: number): Promise<void> {
    await this.#store.moveClaim(this.#keys.due[kind], hubId, claim, Math.round(at))
  }

  /** Accounts that are due later than at a moment, some at a time. */
  async *laterThan(kind: DueKind, at: number): AsyncGenerator<number[]> {
    yield* chunksOf(hubIdsIn(await this.#store.zrangebyscore(this.#keys.due[kind], `(${at}`, '+inf')), READ_AT_ONCE)
  }

  /** Next due moment of the account, or null. */
  async when(kind: DueSet, hubId: number): Promise<number | null> {
    const score = await this.#store.zscore(this.#keys.due[kind], hubId)
    return score === null ? null : Math.floor(Number(score))
  }

  /** The earliest moment that anything is due, or at which a claim ends; undefined: there is none. */
  async next(kind: DueSet): Promise<number | undefined> {
    return momentIn((await this.#store.zrange(this.#keys.due[kind], 0, '0', 'WITHSCORES'))[1])
  }

  /** How many are due since `at` or longer. */
  countDue(kind: DueSet, at: number): Promise<number> {
    return this.#store.zcount(this.#keys.due[kind], '-inf', at)
  }

  /** Accounts that have been due since `at` or longer, so many of them. */
  async overdue(kind: DueKind, at: number, most: number): Promise<number[]> {
    return hubIdsIn(await this.#store.zrangebyscore(this.#keys.due[kind], '-inf', at, 'LIMIT', 0, most))
  }

  /** How many are due since `at` or longer; the earliest moment that anything is due, and whose that is, or undefined. */
  async outlook(kind: DueKind, at: number): Promise<DueOutlook> {
    const [count, [first, next]] = await Promise.all([
      this.countDue(kind, at),
      this.#store.zrange(this.#keys.due[kind], 0, '0', 'WITHSCORES'),
    ])
    return { count, next: momentIn(next), first: hubIdsIn(first === undefined ? [] : [first])[0] }
  }

  /** How many refreshes should have been done at `at`: not taken up, or failing with a token that was over by then. */
  async countOverdue(at: number): Promise<number> {
    const { due, state, own } = this.#keys
    let count = await this.countDue('refresh', at)
    const failing = hubIdsIn(await this.#store.zrange(state.failing, 0, String(MOST_FAILING - 1)))
    for (const some of chunksOf(failing, READ_AT_ONCE)) {
      const reading = this.#store.pipeline()
      for (const hubId of some)
        reading.zscore(due.refresh, String(hubId)).hmget(own(hubId), 'expiresAt', 'failingSince')
      const found = (await reading.exec()) ?? []
      count += some.filter((_, n) => {
        const [next, moments] = [found[2 * n]?.[1], found[2 * n + 1]?.[1]]
        // A record that can't be read is the trouble of its account alone. One that was imported has had no token yet.
        const [expiresAt = 0, since = 0] = Array.isArray(moments) ? moments.map((one) => Number(one) || 0) : []
        return Number(next) > at && (expiresAt || since) <= at
      }).length
    }
    return count
  }
}

/** Undefined for none. */
function momentIn(score: string | undefined): number | undefined {
  return score === undefined || score === '' ? undefined : Math.floor(Number(score))
}
