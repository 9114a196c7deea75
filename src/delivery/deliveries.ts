import type { Message } from '../alerts/alert.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'

/** One message on its way to one receiver. */
export interface Delivery {
  id: string
  receiver: string
  message: Message
  createdAt: number
  /** Attempts that failed so far. */
  attempts: number
}

/** An attempt as the log keeps it. */
export interface LoggedAttempt {
  at: number
  id: string
  receiver: string
  type: string
  attempt: number
  outcome: string
  reason: string
}

export interface AttemptRecord {
  outcome: 'delivered' | 'retry' | 'dead'
  /** Null unless there is a next one. */
  nextAt: number | null
  reason: string
}

/** Longer than the longest attempt, so that a delivery is not tried twice at once. */
const CLAIM_MS = 60_000
/** A dead delivery can be looked at, and sent again, for this long. */
const DEAD_KEPT_MS = 30 * 24 * 3_600_000

export class Deliveries {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  /** Ids of deliveries whose next attempt is due, and when the earliest of the rest is. */
  async claim(now: number, limit: number): Promise<{ ids: string[]; next: number | undefined }> {
    const { deliveriesDue } = this.#keys.delivery
    const [ids, next] = await this.#store.claimDue(deliveriesDue, now, limit, CLAIM_MS, CLAIM_MS, '')
    return { ids, next: next === '' ? undefined : Number(next) }
  }

  async get(id: string): Promise<Delivery | undefined> {
    const hash = await this.#store.hgetall(this.#keys.delivery.delivery(id))
    if (hash.message === undefined || hash.receiver === undefined || hash.state === 'dead') return undefined
    return {
      id,
      receiver: hash.receiver,
      message: JSON.parse(hash.message) as Message,
      createdAt: Number(hash.createdAt),
      attempts: Number(hash.attempts),
    }
  }

  async record(delivery: Delivery, record: AttemptRecord, now: number): Promise<void> {
    const keys = this.#keys.delivery
    await this.#store.recordAttempt(
      ...[keys.delivery(delivery.id), keys.deliveriesDue, keys.log],
      ...[delivery.id, now, record.outcome, record.nextAt === null ? '' : Math.round(record.nextAt), record.reason],
      ...[delivery.receiver, delivery.message.type, DEAD_KEPT_MS],
    )
  }

  /** For a claimed id of which nothing is left to send. */
  async drop(id: string): Promise<void> {
    await this.#store.zrem(this.#keys.delivery.deliveriesDue, id)
  }

  /** Claimed but not tried: due again at `at`. */
  async handBack({ id }: Delivery, at: number): Promise<void> {
    await this.#store.zadd(this.#keys.delivery.deliveriesDue, 'XX', at, id)
  }

  /** Waiting for their first or next attempt. */
  countPending(): Promise<number> {
    return this.#store.zcard(this.#keys.delivery.deliveriesDue)
  }

  /** The newest attempts, newest first. */
  async log(count: number): Promise<LoggedAttempt[]> {
    const entries = await this.#store.xrevrange(this.#keys.delivery.log, '+', '-', 'COUNT', count)
    return entries.map(([, fields]) => {
      const entry = new Map<string, string>()
      for (let n = 0; n + 1 < fields.length; n += 2) entry.set(fields[n] ?? '', fields[n + 1] ?? '')
      const text = (name: string) => entry.get(name) ?? ''
      return {
        at: Number(text('at')),
        id: text('id'),
        receiver: text('receiver'),
        type: text('type'),
        attempt: Number(text('attempt')),
        outcome: text('outcome'),
        reason: text('reason'),
      }
    })
  }

  async disable(receiver: string, reason: string): Promise<void> {
    await this.#store.hset(this.#keys.delivery.disabled, receiver, reason)
  }

  /** Gives every receiver another chance. */
  async enableAll(): Promise<void> {
    await this.#store.del(this.#keys.delivery.disabled)
  }

  /** Receivers that want nothing more, each with why. */
  disabled(): Promise<Record<string, string>> {
    return this.#store.hgetall(this.#keys.delivery.disabled)
  }
}
