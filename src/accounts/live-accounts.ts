import type { Store } from '../redis/connect.ts'
import { ACCOUNT_STATES, type AccountState, type Keys, PARTITIONS } from '../redis/keys.ts'
import { readAccount } from './account.ts'

const GONE: readonly AccountState[] = ['uninstalling', 'uninstalled']
/** States in which there is a refresh token worth taking along. */
export const LIVE_STATES = ACCOUNT_STATES.filter((state) => !GONE.includes(state))

/** hubIds of all live accounts, partition by partition. */
export async function* liveHubIds({ store, keys }: { store: Store; keys: Keys }): AsyncGenerator<number[]> {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { state } = keys.partition(partition)
    const lists = await Promise.all(LIVE_STATES.map((live) => store.zrange(state[live], '0', '-1')))
    // A set, because an account may change its state while the lists are read.
    yield [...new Set(lists.flat().map(Number))]
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
  /** ISO 8601. */
  connectedAt: string
  /** base64 */
  sealedRefreshToken: string
}

/** Every live account of the fleet, some hundreds in memory at a time, in no order that means anything. */
export async function* exportAccounts(store: Store, keys: Keys): AsyncGenerator<ExportedAccount[]> {
  for await (const hubIds of inBatches(liveHubIds({ store, keys }), 500)) {
    const read = await Promise.all(hubIds.map((hubId) => exportOne(store, keys, hubId)))
    yield read.filter((account) => account !== undefined)
  }
}

async function exportOne(store: Store, keys: Keys, hubId: number): Promise<ExportedAccount | undefined> {
  const { account, tokens } = keys.account(hubId)
  const [hash, sealed] = await Promise.all([store.hgetall(account), store.hgetBuffer(tokens, 'refresh')])
  // A token that turned out to be another account's is not carried on under the wrong name.
  if (hash.state === undefined || hash.tokenOf !== undefined || sealed === null) return undefined
  const { state, hubDomain, user, connectedAt } = readAccount(hubId, hash)
  if (GONE.includes(state)) return undefined
  return {
    ...{ hubId, hubDomain, state, user: user ?? '' },
    connectedAt: new Date(connectedAt).toISOString(),
    sealedRefreshToken: sealed.toString('base64'),
  }
}
