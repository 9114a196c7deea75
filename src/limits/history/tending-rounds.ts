import type { Store } from '../../redis/connect.ts'
import { everyPartition, type Keys, PARTITIONS } from '../../redis/keys.ts'

const DAY_MS = 86_400_000

/** One walk through all accounts of a partition. */
export interface Round {
  /** On which day of the partition it began. */
  day: number
  /** The account that was done last. */
  after: number
}

/** Days since 1970. Each partition's begin at a moment of its own, so that a day's work is spread over the day. */
export function dayOfPartition(partition: number, now: number): number {
  return Math.floor(now / DAY_MS - partition / PARTITIONS)
}

/** How far the walk through each partition is, one a day, so that another daemon can go on from there. */
export class TendingRounds {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Partitions with a round to begin or to go on with. */
  async due(now: number): Promise<number[]> {
    const rounds = await everyPartition(this.#keys, (_, partition) => this.read(partition, now))
    return [...rounds.keys()].filter((partition) => rounds[partition] !== undefined)
  }

  /** The round of a partition that is to be gone on with, or begun. Undefined: the day's is over. */
  async read(partition: number, now: number): Promise<Round | undefined> {
    const [day, after] = await this.#store.hmget(this.#keys.partition(partition).tended, 'day', 'after')
    const today = dayOfPartition(partition, now)
    if (/^\d+ \d+$/.test(`${day} ${after}`)) return { day: Number(day), after: Number(after) }
    return day === String(today) ? undefined : { day: today, after: 0 }
  }

  /** Written twice, or over a newer one, it only has accounts done once more. */
  async write(partition: number, day: number, after: number | 'over'): Promise<void> {
    await this.#store.hset(this.#keys.partition(partition).tended, { day, after })
  }
}
