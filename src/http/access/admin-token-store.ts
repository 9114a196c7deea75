import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Secret } from '../../runtime/secret.ts'
import type { Vault } from '../../tokens/vault.ts'
import {
  decodeToken,
  encodeToken,
  hashOf,
  makeToken,
  type NamedToken,
  SCOPES,
  type Scope,
  sealOf,
} from './admin-token.ts'

/**
 * The named admin tokens in Redis: their hashes, never the tokens. Each record is sealed with a key of the vault, so that
 * who only writes to Redis lets nobody in.
 */
export class AdminTokenStore {
  readonly #store: Store
  readonly #key: string
  readonly #vault: Pick<Vault, 'deriveEach'>

  constructor(store: Store, keys: Keys, vault: Pick<Vault, 'deriveEach'>) {
    this.#store = store
    this.#key = keys.adminTokens
    this.#vault = vault
  }

  /** By name; those too that are not ours. */
  async list(): Promise<NamedToken[]> {
    const sealKeys = this.#sealKeys()
    const stored = Object.entries(await this.#store.hgetall(this.#key))
    return stored.map(([name, text]) => decodeToken(name, text, sealKeys)).sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The one moment at which the token itself is there. */
  async add(name: string, scopes: readonly Scope[], now: number): Promise<Secret | 'taken'> {
    const token = makeToken()
    // In the order in which they are read.
    const inOrder = SCOPES.filter((scope) => scopes.includes(scope))
    const facts = { name, hash: hashOf(token.reveal()), scopes: inOrder, createdAt: now }
    const record = encodeToken({ ...facts, lastUsedAt: null, seal: sealOf(facts, this.#sealKeys()[0]) })
    return (await this.#store.hsetnx(this.#key, name, record)) === 1 ? token : 'taken'
  }

  async remove(name: string): Promise<'removed' | 'unknown'> {
    return (await this.#store.hdel(this.#key, name)) === 1 ? 'removed' : 'unknown'
  }

  async noteUsed(token: NamedToken, now: number): Promise<void> {
    await this.#replace(token, { ...token, lastUsedAt: now })
  }

  /** With the first key, before the others are taken away. */
  async sealAnew(): Promise<void> {
    const [first] = this.#sealKeys()
    for (const token of await this.list()) {
      const seal = sealOf(token, first)
      if (!token.isOurs || token.seal === seal) continue
      // Its use was noted meanwhile: the rest is as it was.
      if ((await this.#replace(token, { ...token, seal })) === 'stale') return this.sealAnew()
    }
  }

  #replace(before: NamedToken, after: NamedToken): Promise<'replaced' | 'stale'> {
    return this.#store.replaceAdminToken(this.#key, before.name, encodeToken(before), encodeToken(after))
  }

  #sealKeys(): [Buffer, ...Buffer[]] {
    return this.#vault.deriveEach('admin-tokens')
  }
}
