import type { Queues } from '../../jobs/queues.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** Deliveries that wait for the claim of a dead daemon to end, or for their next attempt, wait seconds in place of minutes. */
export class Impatience {
  static readonly LONGEST_MS = 2_000
  readonly #store: Store
  readonly #keys: Keys
  readonly #queues: Queues
  #waiting = new Map<string, { score: string; since: number }>()

  constructor(store: Store, keys: Keys, queues: Queues) {
    this.#store = store
    this.#keys = keys
    this.#queues = queues
  }

  async look(now: number): Promise<void> {
    const { deliveriesDue } = this.#keys.delivery
    const found = await this.#store.zrange(deliveriesDue, 0, '-1', 'WITHSCORES')
    const waiting = new Map<string, { score: string; since: number }>()
    const late: string[] = []
    for (let n = 0; n + 1 < found.length; n += 2) {
      const [id = '', score = ''] = [found[n], found[n + 1]]
      const before = this.#waiting.get(id)
      const since = before?.score === score ? before.since : now
      waiting.set(id, { score, since })
      if (Number(score) > now && now - since > Impatience.LONGEST_MS) late.push(id)
    }
    this.#waiting = waiting
    if (late.length === 0) return
    const passing = this.#store.pipeline()
    for (const id of late)
      passing.hdel(this.#keys.delivery.delivery(id), 'heldUntil').zadd(deliveriesDue, 'XX', now, id)
    await passing.exec()
    await this.#queues.wake('alerts', now)
  }
}
