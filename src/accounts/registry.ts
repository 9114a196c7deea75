import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, type AccountState, everyPartition, type Keys } from '../redis/keys.ts'
import { type Account, readAccount } from './account.ts'

/** Who is installed: reading only. What changes an account is an atomic step of the room that decides it. */
export class Registry {
  readonly #store: Store
  readonly #keys: Keys

  constructor(store: Store, keys: Keys) {
    this.#store = store
    this.#keys = keys
  }

  async get(hubId: number): Promise<Account | undefined> {
    const hash = await this.#store.hgetall(this.#keys.account(hubId).account)
    return hash.state === undefined ? undefined : readAccount(hubId, hash)
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
    const parts = await everyPartition(this.#keys, (_, number) => this.inPartition(number, limit, after, states))
    const hubIds = parts.flat()
    return this.getMany(hubIds.sort((a, b) => a - b).slice(0, limit))
  }

  /** hubIds of one partition, from just after `after`. */
  async inPartition(
    partition: number,
    limit: number,
    after: number,
    states: readonly AccountState[] = ACCOUNT_STATES,
  ): Promise<number[]> {
    const { state } = this.#keys.partition(partition)
    const lists = await Promise.all(
      states.map((one) => this.#store.zrangebyscore(state[one], `(${after}`, '+inf', 'LIMIT', 0, limit)),
    )
    // A set, because an account may change its state while the lists are read.
    const hubIds = new Set(lists.flat().map(Number))
    return [...hubIds].sort((a, b) => a - b).slice(0, limit)
  }

  async countByState(): Promise<Record<AccountState, number>> {
    const counts = ACCOUNT_STATES.map(async (state) => {
      const sizes = await everyPartition(this.#keys, (partition) => this.#store.zcard(partition.state[state]))
      return [state, sizes.reduce((sum, size) => sum + size, 0)] as const
    })
    return Object.fromEntries(await Promise.all(counts)) as Record<AccountState, number>
  }

  /** hubIds with an alert open or pending. */
  async alerting(): Promise<number[]> {
    const members = await everyPartition(this.#keys, (partition) => this.#store.smembers(partition.alerting))
    return members
      .flat()
      .map(Number)
      .sort((a, b) => a - b)
  }
}
