import type { Queues } from '../../jobs/queues.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** Receivers that wait for the claim of a dead daemon to end, or for their next attempt, wait seconds in place of minutes. */
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
    const { receiversDue } = this.#keys.delivery
    const found = await this.#store.zrange(receiversDue, 0, '-1', 'WITHSCORES')
    const waiting = new Map<string, { score: string; since: number }>()
    const late: string[] = []
    for (let n = 0; n + 1 < found.length; n += 2) {
      const [receiver = '', score = ''] = [found[n], found[n + 1]]
      const before = this.#waiting.get(receiver)
      const since = before?.score === score ? before.since : now
      waiting.set(receiver, { score, since })
      if (Number(score) > now && now - since > Impatience.LONGEST_MS) late.push(receiver)
    }
    this.#waiting = waiting
    if (late.length === 0) return
    // Whoever still has one finds that its claim is gone, and begins nothing more.
    for (const receiver of late) {
      await this.#store.hurryReceiver(receiversDue, receiver, now)
      await this.#store.zadd(receiversDue, 'XX', now, receiver)
    }
    await this.#queues.wake('alerts', now)
  }
}
