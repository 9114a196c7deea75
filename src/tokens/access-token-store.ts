import type { Store } from '../redis/connect.ts'
import { refusesWrites } from '../redis/connect.ts'
import type { AccountState, Keys } from '../redis/keys.ts'
import { accountStepKeys } from '../redis/steps.ts'

/** What is stored of an account's access token. Times are ms. */
export interface StoredToken {
  state: AccountState
  generation: string
  obtainedAt: number
  expiresAt: number
  /** When the next refresh is planned after a failed one, or null. */
  retryAt: number | null
  /** Encrypted; null where there is none. */
  accessToken: Buffer | null
  scopes: string[]
  /** Whether nobody has asked the provider yet whose token it is: the account was imported. */
  metadataDue: boolean
  /** Whether somebody holds the right to refresh the account. */
  isHeld: boolean
}

/** The side of the store that hands access tokens out. */
export class AccessTokenStore {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  async read(hubId: number): Promise<StoredToken | undefined> {
    const { account, tokens } = this.#keys.account(hubId)
    // The generation first: if it is still the same when the token is handed out, the token read here belongs to it.
    const [fields, accessToken, scopes, [seconds]] = await Promise.all([
      this.#store.hmget(
        account,
        'state',
        'generation',
        'obtainedAt',
        'expiresAt',
        'retryAt',
        'metadataDue',
        'refreshing',
      ),
      this.#store.hgetBuffer(tokens, 'access'),
      this.#store.hget(tokens, 'scopes'),
      this.#store.time(),
    ])
    const [state, generation, obtainedAt, expiresAt, retryAt, metadataDue, lease] = fields
    if (state === null || state === undefined) return undefined
    return {
      state: state as AccountState,
      generation: generation ?? '',
      obtainedAt: Number(obtainedAt ?? 0),
      expiresAt: Number(expiresAt ?? 0),
      retryAt: retryAt === null || retryAt === undefined ? null : Number(retryAt),
      accessToken,
      scopes: scopes === null || scopes === '' ? [] : scopes.split(' '),
      metadataDue: metadataDue === '1',
      isHeld: Number(lease?.split(' ')[2] ?? 0) > Number(seconds) * 1_000,
    }
  }

  /**
   * Notes who gets the token of a generation; `stale` if that is not the account's any more. A Redis that takes no write has
   * looked before it refused: the token is handed out all the same, and the log alone says to whom. Those who ask have
   * customers waiting, and their tokens work.
   */
  async noteServed(hubId: number, generation: string, now: number, to: string): Promise<'noted' | 'stale'> {
    try {
      return await this.#store.noteTokenServed(...accountStepKeys(this.#keys, hubId), generation, now, to)
    } catch (error) {
      if (refusesWrites(error)) return 'noted'
      throw error
    }
  }
}
