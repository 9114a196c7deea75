import type { Store } from '../redis/connect.ts'
import { type DueKind, type Keys, PARTITIONS } from '../redis/keys.ts'

/** How long a claim lasts before what was claimed is due again. */
export interface ClaimLimits {
  shortestMs: number
  longestMs: number
  /** `life`: a tenth of the account's token life, within the limits; `fixed`: always the longest. */
  follows: 'life' | 'fixed'
}

export const CLAIMS: Record<DueKind, ClaimLimits> = {
  refresh: { shortestMs: 2_000, longestMs: 60_000, follows: 'life' },
  poll: { shortestMs: 60_000, longestMs: 60_000, follows: 'fixed' },
  uninstall: { shortestMs: 30_000, longestMs: 30_000, follows: 'fixed' },
}

export interface Claimed {
  hubIds: number[]
  /** The earliest moment that is left, or undefined if nothing is planned at all. */
  next: number | undefined
}

/**
 * The one source of truth for "when next": a sorted set per kind and partition. Nothing else remembers what is due, so
 * nothing can disagree with it.
 */
export class DueSets {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Claims up to `limit` of what is due by `now`, an even part from each partition. */
  async claim(kind: DueKind, now: number, limit: number): Promise<Claimed> {
    const { shortestMs, longestMs, follows } = CLAIMS[kind]
    const perPartition = Math.max(1, Math.ceil(limit / PARTITIONS))
    const parts = await Promise.all(
      Array.from({ length: PARTITIONS }, (_, number) =>
        this.#store.claimDue(
          this.#keys.partition(number).due[kind],
          ...[now, perPartition, shortestMs, longestMs],
          follows === 'life' ? this.#keys.partition(number).accountPrefix : '',
        ),
      ),
    )
    const moments = parts.map(([, next]) => next).filter((next) => next !== '')
    return {
      hubIds: parts.flatMap(([hubIds]) => hubIds.map(Number)),
      next: moments.length === 0 ? undefined : Math.min(...moments.map(Number)),
    }
  }

  /** Moves those that are planned at all: an account that was uninstalled meanwhile stays out. */
  async plan(kind: DueKind, hubIds: readonly number[], at: number): Promise<void> {
    await Promise.all(
      hubIds.map((hubId) => this.#store.zadd(this.#partition(hubId).due[kind], 'XX', Math.round(at), hubId)),
    )
  }

  /** When the account is due next, or null. */
  async when(kind: DueKind, hubId: number): Promise<number | null> {
    const score = await this.#store.zscore(this.#partition(hubId).due[kind], hubId)
    return score === null ? null : Number(score)
  }

  /** How many are due since `at` or longer. */
  async countDue(kind: DueKind, at: number): Promise<number> {
    const counts = await Promise.all(
      Array.from({ length: PARTITIONS }, (_, number) =>
        this.#store.zcount(this.#keys.partition(number).due[kind], '-inf', at),
      ),
    )
    return counts.reduce((sum, count) => sum + count, 0)
  }

  #partition(hubId: number) {
    return this.#keys.partition(this.#keys.partitionOf(hubId))
  }
}
