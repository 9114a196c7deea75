import type { Store } from '../redis/connect.ts'
import { type DueKind, type DueSet, hubIdsIn, type Keys } from '../redis/keys.ts'
import { chunksOf } from '../runtime/chunks-of.ts'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import type { DueToken } from './choose-due.ts'

/** Work that is due for longer is not being done: a sweep comes every few seconds. */
export const OVERDUE_AFTER_MS = 60_000

/**
 * A claim on a token lasts a tenth of the token's life, because for a life of 20 seconds another worker must get its turn
 * before the token expires; one that has no life yet is waited for longest.
 */
const TOKEN_CLAIM = { shortestMs: 1_000, longestMs: 60_000 }

/** Steps of the fraction that a moment of this size has room for: a claim has a fraction. */
const FRACTIONS = 4096
const freshChance = () => freshBytes(2).readUInt16BE() / 65_536

/**
 * Due accounts that are compared to find the nearest to expiry. Of more, half are those that are due longest and half those that
 * came last: thousands that were imported at once must not hide accounts that came due after them.
 */
const MOST_COMPARED = 20_000
/** So many accounts take Redis a few ms; then others have their turn. */
const READ_AT_ONCE = 1_000

/**
 * A backlog of more than so many is read anew a second later: a sweep comes many times a second while it is worked off, and what was
 * read for each of them cost the more the longer it was.
 */
const LONG_BACKLOG = 2_000
const BACKLOG_KEPT_MS = 1_000

/** Accounts that are read for the first expiry; as failing. */
const MOST_WALKED = 128_000
const MOST_FAILING = 10_000

/**
 * A result that took more than so many accounts is cached, because every request for
 * metrics or status needs it, some every few seconds: of 100,000 with tokens of 30 minutes it reads a third.
 */
const LONG_WALK = 5_000
const REMEMBERED_MS = 5_000

/** The longest wait of an account that the token endpoint turned away with 429. */
const LONGEST_WAIT_MS = 300_000

/** An account that is worked on by one worker alone. */
export interface Claimed {
  hubId: number
  /** The account's score: the moment at which it is due again, ms, with a random fraction that shows whose it is. */
  claim: number
}

interface DueTokens {
  due: DueToken[]
  /** The earliest moment that is still to come, or undefined. */
  next: number | undefined
  /** How many accounts have a next refresh at all. */
  fleet: number
}

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
  readonly #chance: () => number
  #longWalk: { at: number; nearest: number | undefined } | undefined
  /** Rest of a long backlog, nearest to expiry first. */
  #backlog: ({ at: number } & DueTokens) | undefined

  /** `chance`: a number from 0 up to, and not including, 1. */
  constructor(store: Store, keys: Keys, chance = freshChance) {
    this.#store = store
    this.#keys = keys
    this.#chance = chance
  }

  /** Claims up to `most` accounts that are due, for so long: then one that is not done is due again. */
  async claim(kind: DueSet, most: number, ms: number): Promise<Claimed[]> {
    const [claim, ...hubIds] = await this.#store.claimAccounts(this.#keys.due[kind], most, ms, this.#mark())
    return hubIdsIn(hubIds).map((hubId) => ({ hubId, claim: Number(claim) }))
  }

  /** Claims one account, whenever it is due; `before`: when it was. `gone`: it is not planned at all. */
  async claimOne(kind: DueSet, hubId: number, ms: number): Promise<'gone' | 'held' | (Claimed & { before: number })> {
    const claimed = await this.#store.claimAccount(this.#keys.due[kind], hubId, Math.round(ms), this.#mark())
    if (typeof claimed === 'string') return claimed
    return { hubId, claim: Number(claimed[0]), before: Math.floor(Number(claimed[1])) }
  }

  /** No plan, and hardly another claim, has this fraction at the same moment. */
  #mark(): number {
    return (1 + Math.floor(this.#chance() * (FRACTIONS - 1))) / FRACTIONS
  }

  /**
   * Accounts whose tokens are due by `now`. For a long backlog, those that were not chosen since it was read, a moment
   * ago.
   */
  async dueTokens(now: number): Promise<DueTokens> {
    const known = this.#backlog
    const isRecent = known !== undefined && now >= known.at && now - known.at < BACKLOG_KEPT_MS
    if (isRecent && known.due.length > LONG_BACKLOG) {
      // A newer plan is found when the backlog is read anew.
      return { ...known, next: Math.min(known.next ?? Number.POSITIVE_INFINITY, known.at + BACKLOG_KEPT_MS) }
    }
    const { refresh } = this.#keys.due
    const [due, [, next], fleet] = await Promise.all([
      this.#readDue(now),
      this.#store.zrangebyscore(refresh, `(${now}`, '+inf', 'WITHSCORES', 'LIMIT', 0, 1),
      this.#store.zcard(refresh),
    ])
    const isLong = due.length > LONG_BACKLOG
    // Sorting a sorted list takes hardly any time.
    if (isLong) due.sort((a, b) => a.expiresAt - b.expiresAt)
    const found = { due, next: momentIn(next), fleet }
    this.#backlog = isLong ? { at: now, ...found } : undefined
    return found
  }

  /**
   * End of the first of the tokens that are kept alive, ms; undefined: there is none. Accounts are read in the order of
   * their due moments, which come before the ends of their tokens: those that are due after one has ended need no read.
   * For a large fleet it may be some seconds old.
   */
  async nearestExpiry(now: number): Promise<number | undefined> {
    const last = this.#longWalk
    if (last !== undefined && Math.abs(now - last.at) < REMEMBERED_MS) return last.nearest
    const { accountPrefix, due } = this.#keys
    let [nearest, looked, is] = ['', 0, '']
    for (let first = 0; first < MOST_WALKED && is !== 'over'; first += READ_AT_ONCE) {
      const end = first + READ_AT_ONCE - 1
      const found = await this.#store.nearestExpiry(due.refresh, now, first, end, nearest, accountPrefix)
      ;[nearest, , is] = found
      looked += found[1]
      if (found[1] < READ_AT_ONCE) break
    }
    const moment = momentIn(nearest)
    this.#longWalk = looked > LONG_WALK ? { at: now, nearest: moment } : undefined
    return moment
  }

  /**
   * How many of the accounts that work otherwise have an access token that is over and wait for their refresh; `kept`: how many
   * have a next refresh at all.
   */
  async countLate(now: number): Promise<{ late: number; kept: number }> {
    const late = (await this.#waiting(now)).filter(({ lane }) => lane === 'healthy')
    return { late: late.length, kept: await this.#store.zcard(this.#keys.due.refresh) }
  }

  /** Accounts whose access token is over, and that wait for their refresh. Nothing is read as long as no token is over. */
  async expired(now: number): Promise<number[]> {
    const nearest = await this.nearestExpiry(now)
    if (nearest === undefined || nearest > now) return []
    return (await this.#waiting(now)).map(({ hubId }) => hubId)
  }

  /** Tokens that are over, and due or waiting for their next attempt. */
  async #waiting(now: number): Promise<DueToken[]> {
    return (await this.#readDue(now + LONGEST_WAIT_MS)).filter(({ expiresAt }) => expiresAt <= now)
  }

  async #readDue(now: number): Promise<DueToken[]> {
    const { accountPrefix, due } = this.#keys
    const count = await this.#store.zcount(due.refresh, '-inf', now)
    const half = MOST_COMPARED / 2
    const pages = count <= MOST_COMPARED ? pagesOf(0, count) : [...pagesOf(0, half), ...pagesOf(count - half, count)]
    const texts = await Promise.all(
      pages.map(([first, last]) => this.#store.dueTokens(due.refresh, first, last, accountPrefix)),
    )
    // By hubId: one that moved on between two steps is seen twice.
    const found = new Map<number, DueToken>()
    for (const text of texts) {
      const fields = text.split(',')
      for (let at = 0; at + 5 < fields.length; at += 6) {
        const token = readDueToken(fields, at)
        found.set(token.hubId, token)
      }
    }
    return [...found.values()]
  }

  /** Claims those of the chosen that are still due, and returns them in the order given. */
  async claimTokens(tokens: readonly DueToken[], now: number): Promise<number[]> {
    const chosen = tokens.map((token) => ({ hubId: token.hubId, until: now + claimMs(token) }))
    if (this.#backlog !== undefined) {
      const asked = new Set(tokens.map(({ hubId }) => hubId))
      this.#backlog.due = this.#backlog.due.filter(({ hubId }) => !asked.has(hubId))
    }
    if (chosen.length === 0) return []
    const asked = chosen.flatMap(({ hubId, until }) => [hubId, until])
    const ours = new Set((await this.#store.claimTokens(this.#keys.due.refresh, now, ...asked)).map(Number))
    return chosen.map(({ hubId }) => hubId).filter((hubId) => ours.has(hubId))
  }

  /** Plans a claimed account, unless another worker has claimed or planned it since. */
  async move(kind: DueSet, { hubId, claim }: Claimed, at: number): Promise<void> {
    await this.#store.moveClaim(this.#keys.due[kind], hubId, claim, Math.round(at))
  }

  /** Moves those that are planned at all: an account that was uninstalled meanwhile stays out. */
  async plan(kind: DueSet, hubIds: readonly number[], at: number): Promise<void> {
    if (hubIds.length === 0) return
    const moments = hubIds.flatMap((hubId) => [Math.round(at), hubId])
    await this.#store.zadd(this.#keys.due[kind], 'XX', ...moments)
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
  countOverdue(at: number): Promise<number> {
    const { due, state, accountPrefix } = this.#keys
    return this.#store.countOverdue(due.refresh, state.failing, at, MOST_FAILING, accountPrefix)
  }
}

function claimMs({ obtainedAt, expiresAt }: DueToken): number {
  const { shortestMs, longestMs } = TOKEN_CLAIM
  const life = expiresAt - obtainedAt
  return life <= 0 ? longestMs : Math.round(Math.min(Math.max(life / 10, shortestMs), longestMs))
}

/** The one whose fields begin at `at`: an array of its own for each takes twice as long, of a fleet that came due at once. */
function readDueToken(fields: readonly string[], at: number): DueToken {
  const [failures, refreshedAt, state] = [fields[at + 3], fields[at + 4], fields[at + 5]]
  const isHealthy = (failures === '' || failures === '0') && state === 'active'
  return {
    hubId: Number(fields[at]),
    obtainedAt: Number(fields[at + 1]),
    expiresAt: Number(fields[at + 2]),
    lane: !isHealthy ? 'failing' : refreshedAt === '' ? 'new' : 'healthy',
  }
}

/** Places from `first` up to, and not including, `end`, as pages of a sorted set. */
function pagesOf(first: number, end: number): [first: number, last: number][] {
  return Array.from({ length: Math.ceil((end - first) / READ_AT_ONCE) }, (_, n) => {
    const from = first + n * READ_AT_ONCE
    return [from, Math.min(from + READ_AT_ONCE, end) - 1]
  })
}

/** Undefined for none. */
function momentIn(score: string | undefined): number | undefined {
  return score === undefined || score === '' ? undefined : Math.floor(Number(score))
}
