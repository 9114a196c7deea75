import { loadPollState } from '../limits/poll-state-text.ts'
import { resultsOf } from '../redis/answers.ts'
import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, type AccountState, hubIdsIn, type Keys } from '../redis/keys.ts'
import { type Account, readAccount } from './account.ts'

/** The installed accounts: reading only. Changes are atomic steps of the room that decides them. */
export class Registry {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  async get(hubId: number): Promise<Account | undefined> {
    const [hash, polls] = await Promise.all([
      this.#store.hgetall(this.#keys.account(hubId).account),
      loadPollState(this.#store, this.#keys, hubId),
    ])
    const known = ACCOUNT_STATES.find((state) => state === hash.state)
    const state = known ?? (await this.listedIn(hubId))
    return state === undefined ? undefined : readAccount(hubId, { ...hash, state }, polls)
  }

  /** The state in whose list the account is: its own record may be unreadable. */
  async listedIn(hubId: number): Promise<AccountState | undefined> {
    const { state } = this.#keys
    const scores = await Promise.all(ACCOUNT_STATES.map((one) => this.#store.zscore(state[one], hubId)))
    return ACCOUNT_STATES.find((_, n) => scores[n] !== null)
  }

  async getMany(hubIds: readonly number[]): Promise<Account[]> {
    const found = await Promise.all(hubIds.map((hubId) => this.get(hubId)))
    return found.filter((account) => account !== undefined)
  }

  async grantedScopes(hubId: number): Promise<string[]> {
    const scopes = await this.#store.hget(this.#keys.account(hubId).tokens, 'scopes')
    return scopes === null || scopes === '' ? [] : scopes.split(' ')
  }

  /** One page of accounts, by hubId from just after `after`. */
  async page(limit: number, after = 0, states: readonly AccountState[] = ACCOUNT_STATES): Promise<Account[]> {
    return this.getMany(await this.hubIds(limit, after, states))
  }

  /**
   * The first hubIds after one, or the last before it, the other way round. At one moment: an account that goes from one state to another
   * is in one of them.
   */
  async hubIds(
    limit: number,
    from?: number,
    states: readonly AccountState[] = ACCOUNT_STATES,
    isReversed = false,
  ): Promise<number[]> {
    const reading = this.#store.multi()
    for (const state of states) {
      const key = this.#keys.state[state]
      if (isReversed) reading.zrevrangebyscore(key, `(${from ?? '+inf'}`, '-inf', 'LIMIT', 0, limit)
      else reading.zrangebyscore(key, `(${from ?? 0}`, '+inf', 'LIMIT', 0, limit)
    }
    const hubIds = hubIdsIn(resultsOf<string[]>(await reading.exec()).flat())
    return hubIds.sort((a, b) => (isReversed ? b - a : a - b)).slice(0, limit)
  }

  async countByState(): Promise<Record<AccountState, number>> {
    const reading = this.#store.multi()
    for (const state of ACCOUNT_STATES) reading.zcard(this.#keys.state[state])
    const counts = resultsOf<number>(await reading.exec())
    return Object.fromEntries(ACCOUNT_STATES.map((state, n) => [state, counts[n] ?? 0])) as Record<AccountState, number>
  }

  /** Accounts of these that are in the state. */
  async among(state: AccountState, hubIds: readonly number[]): Promise<Set<number>> {
    if (hubIds.length === 0) return new Set()
    const scores = await this.#store.zmscore(this.#keys.state[state], ...hubIds)
    return new Set(hubIds.filter((_, n) => scores[n] !== null))
  }

  /** hubIds with an alert open or pending. */
  async alerting(): Promise<number[]> {
    return hubIdsIn(await this.#store.smembers(this.#keys.alerting)).sort((a, b) => a - b)
  }
}

const GONE: readonly AccountState[] = ['uninstalling', 'uninstalled']
/** States in which there is a refresh token worth taking along. */
export const LIVE_STATES = ACCOUNT_STATES.filter((state) => !GONE.includes(state))

/** hubIds of all live accounts in order, some at a time: what is read of all accounts must not be in memory together. */
export async function* liveHubIds(
  { store, keys }: { store: Store; keys: Keys },
  size: number,
): AsyncGenerator<number[]> {
  const registry = new Registry(store, keys)
  for (let hubIds: number[] | undefined; hubIds === undefined || hubIds.length === size; ) {
    hubIds = await registry.hubIds(size, hubIds?.at(-1) ?? 0, LIVE_STATES)
    if (hubIds.length > 0) yield hubIds
  }
}

/** An account as it leaves: its refresh token is what is stored, and opens only with the key that sealed it. */
export interface ExportedAccount {
  hubId: number
  hubDomain: string
  state: AccountState
  user: string
  contact: string
  /** ISO 8601. */
  connectedAt: string
  /** base64 */
  sealedRefreshToken: string
}

/** Every live account of the fleet by hubId, some hundreds in memory at a time. */
export async function* readForExport(store: Store, keys: Keys): AsyncGenerator<ExportedAccount[]> {
  for await (const hubIds of liveHubIds({ store, keys }, 500)) {
    const read = await Promise.all(hubIds.map((hubId) => exportOne(store, keys, hubId)))
    yield read.filter((account) => account !== undefined)
  }
}

async function exportOne(store: Store, keys: Keys, hubId: number): Promise<ExportedAccount | undefined> {
  const { account, tokens } = keys.account(hubId)
  const [found, tokenOf, sealed] = await Promise.all([
    new Registry(store, keys).get(hubId),
    store.hget(account, 'tokenOf'),
    store.hgetBuffer(tokens, 'refresh'),
  ])
  // A token that turned out to be another account's is not carried on under the wrong name.
  if (found === undefined || tokenOf !== null || sealed === null) return undefined
  const { state, hubDomain, user, contact, connectedAt } = found
  if (GONE.includes(state)) return undefined
  return {
    hubId,
    hubDomain,
    state,
    user: user ?? '',
    contact: contact ?? '',
    connectedAt: new Date(connectedAt || 0).toISOString(),
    sealedRefreshToken: sealed.toString('base64'),
  }
}
