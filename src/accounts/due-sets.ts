import { accountSteps } from '../redis/account-steps.ts'
import type { Store } from '../redis/connect.ts'
import { type DueKind, everyPartition, hubIdsIn, type Keys, PARTITIONS } from '../redis/keys.ts'
import { freshBytes } from '../runtime/fresh-bytes.ts'
import type { DueToken } from './choose-due.ts'

/** Work that is due for longer is not being done: a sweep comes every few seconds. */
export const OVERDUE_AFTER_MS = 60_000

/** How long a claim lasts, ms: then what was claimed and not finished is due again. */
export const ACCOUNT_CLAIM_MS: Record<Exclude<DueKind, 'refresh'>, number> = { poll: 60_000, uninstall: 30_000 }

/**
 * A claim on a token lasts a tenth of the token's life, because for a life of 20 seconds another worker must get its turn
 * before the token expires; one that has no life yet is waited for longest.
 */
const TOKEN_CLAIM = { shortestMs: 1_000, longestMs: 60_000 }

/** Steps of the fraction that a moment of this size has room for: a claim has a fraction. */
const FRACTIONS = 4096
const freshChance = () => freshBytes(2).readUInt16BE() / 65_536

/** Due accounts of a partition that are compared to find the nearest to expiry: half of them came due last. */
const MOST_COMPARED = 1_000

/**
 * A backlog of more than so many is read anew a second later: a sweep comes many times a second while it is worked off, and what was
 * read for each of them cost the more the longer it was.
 */
const LONG_BACKLOG = 2_000
const BACKLOG_KEPT_MS = 1_000

/** Accounts of a partition that are read for the first expiry, or as failing: the fleet would be one of 128,000. */
const MOST_WALKED = 2_000

/**
 * A result that took more than so many accounts is cached, because every request for
 * metrics or status needs it, some every few seconds: of 100,000 with tokens of 30 minutes it reads a third.
 */
const LONG_WALK = 5_000
const REMEMBERED_MS = 5_000

/** The longest wait of an account that the token endpoint turned away with 429. */
const LONGEST_WAIT_MS = 300_000

interface Claimed {
  hubIds: number[]
  /** The end of the claims, ms, see `claimEnd`: it shows their owner. */
  until: number
  /** The earliest moment that is left, or undefined if nothing is planned at all. */
  next: number | undefined
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
 * The one source of truth for "when next": a sorted set per kind and partition. Nothing else remembers what is due, so
 * nothing can disagree with it.
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

  /** The end of claims that begin, or are renewed, at `now`, ms: no plan, and hardly another claim, is at that very moment. */
  claimEnd(kind: Exclude<DueKind, 'refresh'>, now: number): number {
    const mark = 1 + Math.floor(this.#chance() * (FRACTIONS - 1))
    return Math.round(now) + ACCOUNT_CLAIM_MS[kind] + mark / FRACTIONS
  }

  /** Claims up to `limit` of what is due by `now`, an even part from each partition. */
  async claim(kind: Exclude<DueKind, 'refresh'>, now: number, limit: number): Promise<Claimed> {
    const perPartition = Math.max(1, Math.ceil(limit / PARTITIONS))
    const until = this.claimEnd(kind, now)
    const parts = await everyPartition(this.#keys, (partition) =>
      accountSteps(this.#store).claimDue(partition.due[kind], now, perPartition, until),
    )
    const hubIds = parts.flatMap(([claimed]) => hubIdsIn(claimed))
    return { hubIds, until, next: earliest(parts.map(([, next]) => next)) }
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
    const parts = await everyPartition(this.#keys, (partition) =>
      accountSteps(this.#store).dueTokens(partition.due.refresh, now, MOST_COMPARED, partition.accountPrefix),
    )
    const due: DueToken[] = []
    const ends = parts.map((text) => {
      const fields = text.split(',')
      for (let at = 0; at + 6 < fields.length; at += 6) due.push(readDueToken(fields, at))
      return fields.slice(-2)
    })
    const isLong = due.length > LONG_BACKLOG
    // Sorting a sorted list takes hardly any time.
    if (isLong) due.sort((a, b) => a.expiresAt - b.expiresAt)
    const found = {
      due,
      next: earliest(ends.map(([next]) => next)),
      fleet: sum(ends.map(([, count]) => Number(count))),
    }
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
    const parts = await everyPartition(this.#keys, (partition) =>
      this.#store.nearestExpiry(partition.due.refresh, now, MOST_WALKED, partition.accountPrefix),
    )
    const found = parts.map((part) => part.split(','))
    const nearest = earliest(found.map(([moment]) => moment))
    const looked = sum(found.map(([, count]) => Number(count)))
    this.#longWalk = looked > LONG_WALK ? { at: now, nearest } : undefined
    return nearest
  }

  /**
   * How many of the accounts that work otherwise have an access token that is over and wait for their refresh; `kept`: how many
   * have a next refresh at all.
   */
  async countLate(now: number): Promise<{ late: number; kept: number }> {
    const parts = await this.#waiting(now)
    const late = parts.flatMap(({ tokens }) => tokens).filter(({ lane }) => lane === 'healthy')
    return { late: late.length, kept: sum(parts.map(({ kept }) => kept)) }
  }

  /** Accounts whose access token is over, and that wait for their refresh. Nothing is read as long as no token is over. */
  async expired(now: number): Promise<number[]> {
    const nearest = await this.nearestExpiry(now)
    if (nearest === undefined || nearest > now) return []
    return (await this.#waiting(now)).flatMap(({ tokens }) => tokens.map(({ hubId }) => hubId))
  }

  /** Tokens that are over, and due or waiting for their next attempt, by partition; `kept`: how many there are at all. */
  async #waiting(now: number): Promise<{ tokens: DueToken[]; kept: number }[]> {
    return everyPartition(this.#keys, async ({ due, accountPrefix }) => {
      const until = now + LONGEST_WAIT_MS
      const text = await accountSteps(this.#store).dueTokens(due.refresh, until, MOST_COMPARED, accountPrefix)
      const fields = text.split(',')
      const tokens: DueToken[] = []
      for (let at = 0; at + 6 < fields.length; at += 6) tokens.push(readDueToken(fields, at))
      return { tokens: tokens.filter(({ expiresAt }) => expiresAt <= now), kept: Number(fields.at(-1)) }
    })
  }

  /** Makes due all that is due later: the clock by which it was planned was set back. */
  async bringForward(now: number): Promise<void> {
    const kinds = ['refresh', 'poll', 'uninstall'] as const
    await everyPartition(this.#keys, ({ due }) =>
      Promise.all(kinds.map((kind) => this.#store.bringForward(due[kind], now))),
    )
  }

  /** Claims those of the chosen that are still due, and returns them in the order given. */
  async claimTokens(tokens: readonly DueToken[], now: number): Promise<number[]> {
    const chosen = tokens.map((token) => ({ hubId: token.hubId, until: now + claimMs(token) }))
    if (this.#backlog !== undefined) {
      const asked = new Set(tokens.map(({ hubId }) => hubId))
      this.#backlog.due = this.#backlog.due.filter(({ hubId }) => !asked.has(hubId))
    }
    return this.#claimChosen('refresh', chosen, now)
  }

  /** Claims those that are still due, each until its moment, and returns them in the order given. */
  async #claimChosen(kind: DueKind, chosen: { hubId: number; until: number }[], now: number): Promise<number[]> {
    const byPartition = Map.groupBy(chosen, ({ hubId }) => this.#keys.partitionOf(hubId))
    const claimed = await Promise.all(
      [...byPartition].map(([partition, some]) => {
        const asked = some.flatMap(({ hubId, until }) => [hubId, until])
        return this.#store.claimTokens(this.#keys.partition(partition).due[kind], now, ...asked)
      }),
    )
    const ours = new Set(claimed.flat().map(Number))
    return chosen.map(({ hubId }) => hubId).filter((hubId) => ours.has(hubId))
  }

  /** Claims one account until `until`, whenever it is due; returns its moment before, or undefined where it is not planned at all. */
  async takeClaim(kind: DueKind, hubId: number, until: number): Promise<number | undefined> {
    const before = await this.#store.takeClaim(this.#partition(hubId).due[kind], hubId, until)
    return before === '' ? undefined : Number(before)
  }

  /** Gives claims that end at `before` another end; returns whose they still are: others are left as they are. */
  async moveClaims(kind: DueKind, hubIds: readonly number[], before: number, after: number): Promise<Set<number>> {
    const byPartition = Map.groupBy(hubIds, (hubId) => this.#keys.partitionOf(hubId))
    const ours = await Promise.all(
      [...byPartition].map(([partition, some]) =>
        this.#store.moveClaims(this.#keys.partition(partition).due[kind], before, after, ...some),
      ),
    )
    return new Set(ours.flat().map(Number))
  }

  /** Moves those that are planned at all: an account that was uninstalled meanwhile stays out. */
  async plan(kind: DueKind, hubIds: readonly number[], at: number): Promise<void> {
    await Promise.all(
      hubIds.map((hubId) => this.#store.zadd(this.#partition(hubId).due[kind], 'XX', Math.round(at), hubId)),
    )
  }

  /** Accounts that are due later than at a moment, a partition at a time. */
  async *laterThan(kind: DueKind, at: number): AsyncGenerator<number[]> {
    for (let number = 0; number < PARTITIONS; number++) {
      const hubIds = await this.#store.zrangebyscore(this.#keys.partition(number).due[kind], `(${at}`, '+inf')
      yield hubIdsIn(hubIds)
    }
  }

  /** Next due moment of the account, or null. */
  async when(kind: DueKind, hubId: number): Promise<number | null> {
    const score = await this.#store.zscore(this.#partition(hubId).due[kind], hubId)
    return score === null ? null : Math.floor(Number(score))
  }

  /** How many are due since `at` or longer. */
  async countDue(kind: DueKind, at: number): Promise<number> {
    const counts = await everyPartition(this.#keys, (partition) => this.#store.zcount(partition.due[kind], '-inf', at))
    return sum(counts)
  }

  /** Accounts that have been due since `at` or longer: so many of each partition. */
  async overdue(kind: DueKind, at: number, most: number): Promise<number[]> {
    const parts = await everyPartition(this.#keys, ({ due }) =>
      this.#store.zrangebyscore(due[kind], '-inf', at, 'LIMIT', 0, most),
    )
    return hubIdsIn(parts.flat())
  }

  /** How many are due since `at` or longer; the earliest moment that anything is due, and whose that is, or undefined. */
  async outlook(kind: DueKind, at: number): Promise<DueOutlook> {
    const parts = await everyPartition(this.#keys, ({ due }) => this.#store.dueOutlook(due[kind], at))
    const next = earliest(parts.map(([, moment]) => moment))
    const first = parts.find(([, moment]) => moment !== '' && Math.floor(Number(moment)) === next)
    return { count: sum(parts.map(([count]) => count)), next, first: hubIdsIn(first?.slice(2).map(String) ?? [])[0] }
  }

  /** How many refreshes should have been done at `at`: not taken up, or failing with a token that was over by then. */
  async countOverdue(at: number): Promise<number> {
    const counts = await everyPartition(this.#keys, ({ due, state, accountPrefix }) =>
      this.#store.countOverdue(due.refresh, state.failing, at, MOST_WALKED, accountPrefix),
    )
    return sum(counts)
  }

  #partition(hubId: number) {
    return this.#keys.partition(this.#keys.partitionOf(hubId))
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

/** The earliest of stored moments, of which some may be none. */
function earliest(moments: readonly (string | undefined)[]): number | undefined {
  const there = moments.flatMap((moment) => (moment ? [Math.floor(Number(moment))] : []))
  return there.length === 0 ? undefined : Math.min(...there)
}

function sum(counts: readonly number[]): number {
  return counts.reduce((total, count) => total + count, 0)
}
