import { createHash } from 'node:crypto'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { SESSION_MS } from './session.ts'

/** The sessions that were signed out, for as long as they would have lasted. */
export class EndedSessions {
  readonly #store: Store
  readonly #key: string

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#key = keys.endedSessions
  }

  async list(): Promise<ReadonlySet<string>> {
    return new Set(await this.#store.zrange(this.#key, 0, '-1'))
  }

  async add(session: string, now: number): Promise<void> {
    // First, so that what is added is in force however the rest ends.
    await this.#store.zadd(this.#key, now + SESSION_MS, endedAs(session))
    await this.#store.zremrangebyscore(this.#key, '-inf', now)
    await this.#store.pexpire(this.#key, SESSION_MS)
  }
}

/** How a session is named once it is over: who reads Redis must learn none from it. */
export function endedAs(session: string): string {
  return createHash('sha256').update(session).digest('base64url')
}
