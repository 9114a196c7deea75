import { randomBytes } from 'node:crypto'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { Secret } from '../../runtime/secret.ts'
import { decodeToken, encodeToken, hashOf, type NamedToken, type Scope } from './admin-token.ts'

/** The named admin tokens in Redis: their hashes, never the tokens. */
export class AdminTokenStore {
  readonly #store: Store
  readonly #key: string

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#key = keys.adminTokens
  }

  /** By name. */
  async list(): Promise<NamedToken[]> {
    const stored = Object.entries(await this.#store.hgetall(this.#key))
    return stored.map(([name, text]) => decodeToken(name, text)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The one moment at which the token itself is there. */
  async add(name: string, scopes: readonly Scope[], now: number): Promise<Secret | 'taken'> {
    // The prefix is for people, and for what searches code for tokens that were left there.
    const token = new Secret(`plm_${randomBytes(32).toString('base64url')}`)
    const record = { name, hash: hashOf(token.reveal()), scopes, createdAt: now, lastUsedAt: null }
    return (await this.#store.hsetnx(this.#key, name, encodeToken(record))) === 1 ? token : 'taken'
  }

  async remove(name: string): Promise<'removed' | 'unknown'> {
    return (await this.#store.hdel(this.#key, name)) === 1 ? 'removed' : 'unknown'
  }

  async noteUsed(token: NamedToken, now: number): Promise<void> {
    const used = encodeToken({ ...token, lastUsedAt: now })
    await this.#store.replaceAdminToken(this.#key, token.name, encodeToken(token), used)
  }
}
