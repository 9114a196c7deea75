import { LIVE_STATES } from '../accounts/export-accounts.ts'
import type { Store } from '../redis/connect.ts'
import { type Keys, PARTITIONS } from '../redis/keys.ts'

/** hubIds of all live accounts, partition by partition. */
export async function* liveHubIds({ store, keys }: { store: Store; keys: Keys }): AsyncGenerator<number[]> {
  for (let partition = 0; partition < PARTITIONS; partition++) {
    const { state } = keys.partition(partition)
    const lists = await Promise.all(LIVE_STATES.map((live) => store.zrange(state[live], '0', '-1')))
    // A set, because an account may change its state while the lists are read.
    yield [...new Set(lists.flat().map(Number))]
  }
}

/** The same in lists of one size: what is read of a whole fleet must not be in memory together. */
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
