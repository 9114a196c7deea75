import { keepAlertsByState } from './alerts-by-state.ts'
import type { Store } from './connect.ts'
import { hubIdsIn, type Keys, PARTITIONS } from './keys.ts'
import { unlessOfOtherType } from './other-type.ts'

/**
 * From one format of the data to the next. It may be stopped at any command and done again from its beginning, also on data
 * that it has been through: it changes only what is still in the old form.
 */
export interface Upgrade {
  /** For the log: what it changes. */
  what: string
  run(store: Store, keys: Keys): Promise<void>
}

/** The first one takes over the data of 0.1.0. A released one stays as it is: `test/versions/` has the data of each release. */
export const UPGRADES: readonly Upgrade[] = [
  {
    what: 'readings and records are kept by report',
    // Each poll writes those of its account anew, and what is not polled again is read as it is: but an older daemon could not
    // read what this one writes.
    run: async () => {},
  },
  {
    what: 'access tokens have a key of their own',
    run: (store, keys) => eachAccount(store, keys, (account) => store.moveAccess(account)),
  },
  {
    what: 'the state of polls is one value for each account',
    // The same data, under one key: each poll writes that of its account in the new form.
    run: (store, keys) => eachAccount(store, keys, (account) => store.moveWatch(account)),
  },
  { what: 'alerts are kept as news, and as the state of each receiver', run: keepAlertsByState },
]

/** Accounts whose commands travel together. */
const CHUNK = 200

/** Partition by partition. What is of another type is passed over: the account's own work finds it. */
async function eachAccount(store: Store, keys: Keys, move: (account: string) => Promise<unknown>): Promise<void> {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const lists = await Promise.all(
      Object.values(keys.partition(partition).state).map((list) =>
        unlessOfOtherType(store.zrange(list, '0', '-1'), []),
      ),
    )
    const hubIds = hubIdsIn(lists.flat())
    for (let from = 0; from < hubIds.length; from += CHUNK) {
      // Each by itself: on a Cluster a step that is guarded goes past the pipeline that it is put into.
      const moves = hubIds.slice(from, from + CHUNK).map((hubId) => unlessOfOtherType(move(keys.own(hubId)), undefined))
      await Promise.all(moves)
    }
  }
}
