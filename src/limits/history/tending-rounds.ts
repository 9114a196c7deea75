import type { Store } from '../../redis/connect.ts'
import { type Keys, PARTITIONS } from '../../redis/keys.ts'

const DAY_MS = 86_400_000

/** One walk through all accounts of a partition. */
export interface Round {
  /** On which day of the partition it began. */
  day: number
  /** The account that was done last. */
  after: number
}

/** As it is kept. */
export interface LastRound {
  day: number
  after: number | 'over'
}

/** Days since 1970. Each partition's begin at a moment of its own, so that a day's work is spread over the day. */
export function dayOf(partition: number, now: number): number {
  return Math.floor(now / DAY_MS - partition / PARTITIONS)
}

/** The round that is to be gone on with, or begun: one a day. Undefined: the day's is over. */
export function dueRound(last: LastRound | undefined, partition: number, now: number): Round | undefined {
  if (last !== undefined && last.after !== 'over') return { day: last.day, after: last.after }
  const day = dayOf(partition, now)
  // Not `<`: a clock that was once far ahead must not stop all rounds until then.
  return last?.day === day ? undefined : { day, after: 0 }
}

/** How far the walk through each partition is, so that whoever takes over goes on where it was. */
export class TendingRounds {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Partitions with a round to begin or to go on with. */
  async due(now: number): Promise<number[]> {
    const partitions = Array.from({ length: PARTITIONS }, (_, partition) => partition)
    const rounds = await Promise.all(partitions.map((partition) => this.read(partition, now)))
    return partitions.filter((partition) => rounds[partition] !== undefined)
  }

  /** The round of a partition that is due, if one is. */
  async read(partition: number, now: number): Promise<Round | undefined> {
    const [day, after] = await this.#store.hmget(this.#keys.partition(partition).tended, 'day', 'after')
    return dueRound(readRound(day, after), partition, now)
  }

  /** Written twice, or over a newer one, it only has accounts done once more. */
  async write(partition: number, { day, after }: LastRound): Promise<void> {
    await this.#store.hset(this.#keys.partition(partition).tended, { day, after })
  }
}

function readRound(day: string | null | undefined, after: string | null | undefined): LastRound | undefined {
  if (!/^\d+$/.test(day ?? '')) return undefined
  return { day: Number(day), after: /^\d+$/.test(after ?? '') ? Number(after) : 'over' }
}
