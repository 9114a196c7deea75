import { readWatch } from '../limits/watch/read-watch.ts'
import { unreadableFields } from '../redis/account-record.ts'
import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, type AccountState, everyPartition, hubIdsIn, type Keys, PARTITIONS } from '../redis/keys.ts'
import { unlessOfOtherType } from '../redis/other-type.ts'
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
    const [hash, kept] = await Promise.all([
      unlessOfOtherType(this.#store.hgetall(this.#keys.account(hubId).account), undefined),
      readWatch(this.#store, this.#keys, hubId),
    ])
    if (hash !== undefined && hash.state === undefined) return undefined
    const watch = kept === 'unreadable' ? kept : kept?.watch
    if (hash !== undefined && unreadableFields(hash).length === 0) return readAccount(hubId, hash, watch)
    const listedIn = await this.listedIn(hubId)
    return listedIn === undefined ? undefined : readAccount(hubId, hash, watch, listedIn)
  }

  /** The state in whose list the account is: its own record may be unreadable. */
  async listedIn(hubId: number): Promise<AccountState | undefined> {
    const { state } = this.#keys.partition(this.#keys.partitionOf(hubId))
    const scores = await Promise.all(ACCOUNT_STATES.map((one) => this.#store.zscore(state[one], hubId)))
    return ACCOUNT_STATES.find((_, n) => scores[n] !== null)
  }

  async getMany(hubIds: readonly number[]): Promise<Account[]> {
    const found = await Promise.all(hubIds.map((hubId) => this.get(hubId)))
    return found.filter((account) => account !== undefined)
  }

  async grantedScopes(hubId: number): Promise<string[]> {
    const scopes = await unlessOfOtherType(this.#store.hget(this.#keys.account(hubId).tokens, 'scopes'), null)
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
    const hubIds = new Set(hubIdsIn(lists.flat()))
    return [...hubIds].sort((a, b) => a - b).slice(0, limit)
  }

  async countByState(): Promise<Record<AccountState, number>> {
    const parts = await everyPartition(this.#keys, ({ state }) =>
      this.#store.countStates(state.active, ...ACCOUNT_STATES),
    )
    const counts = ACCOUNT_STATES.map((state, n) => [state, parts.reduce((sum, part) => sum + (part[n] ?? 0), 0)])
    return Object.fromEntries(counts) as Record<AccountState, number>
  }

  /** Accounts of these that are in the state. */
  async among(state: AccountState, hubIds: readonly number[]): Promise<Set<number>> {
    const parts = await everyPartition(this.#keys, async (partition, number) => {
      const own = hubIds.filter((hubId) => this.#keys.partitionOf(hubId) === number)
      if (own.length === 0) return []
      const scores = await this.#store.zmscore(partition.state[state], ...own)
      return own.filter((_, n) => scores[n] !== null)
    })
    return new Set(parts.flat())
  }

  /** hubIds with an alert open or pending. */
  async alerting(): Promise<number[]> {
    const members = await everyPartition(this.#keys, (partition) => this.#store.smembers(partition.alerting))
    return hubIdsIn(members.flat()).sort((a, b) => a - b)
  }
}

const GONE: readonly AccountState[] = ['uninstalling', 'uninstalled']
/** States in which there is a refresh token worth taking along. */
export const LIVE_STATES = ACCOUNT_STATES.filter((state) => !GONE.includes(state))

/** hubIds of all live accounts, partition by partition. */
export async function* liveHubIds({ store, keys }: { store: Store; keys: Keys }): AsyncGenerator<number[]> {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { state } = keys.partition(partition)
    const lists = await Promise.all(LIVE_STATES.map((live) => store.zrange(state[live], '0', '-1')))
    // A set, because an account may change its state while the lists are read.
    yield [...new Set(hubIdsIn(lists.flat()))]
  }
}

/** The same in lists of one size: what is read of all accounts must not be in memory together. */
export async function* inBatches(
  lists: AsyncIterable<number[]> | Iterable<number[]>,
  size: number,
): AsyncGenerator<number[]> {
  let waiting: number[] = []
  for await (const list of lists) {
    waiting = [...waiting, ...list]
    while (waiting.length >= size) yield waiting.splice(0, size)
  }
  if (waiting.length > 0) yield waiting
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

/** Every live account of the fleet, some hundreds in memory at a time, in no order that means anything. */
export async function* readForExport(store: Store, keys: Keys): AsyncGenerator<ExportedAccount[]> {
  for await (const hubIds of inBatches(liveHubIds({ store, keys }), 500)) {
    const read = await Promise.all(hubIds.map((hubId) => exportOne(store, keys, hubId)))
    yield read.filter((account) => account !== undefined)
  }
}

async function exportOne(store: Store, keys: Keys, hubId: number): Promise<ExportedAccount | undefined> {
  const { account, tokens } = keys.account(hubId)
  const [found, tokenOf, sealed] = await Promise.all([
    new Registry(store, keys).get(hubId),
    unlessOfOtherType(store.hget(account, 'tokenOf'), null),
    unlessOfOtherType(store.hgetBuffer(tokens, 'refresh'), null),
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
