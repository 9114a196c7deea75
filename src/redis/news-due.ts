import { accountSteps } from './account-steps.ts'
import type { Store } from './connect.ts'
import { everyPartition, type Keys } from './keys.ts'

/** When alerts that somebody may not know of are to be looked at, ms; null: there are none. */
export interface NewsDue {
  /** Since when something is new that nobody has looked at. */
  newSince: number | null
  /** When the first of the rest is looked at. */
  dueAt: number | null
}

export async function readNewsDue({ store, keys }: { store: Store; keys: Keys }): Promise<NewsDue> {
  // What can't be read of a partition is found by who reads its news: nobody waits for it here.
  const found = await everyPartition(keys, (_, number) =>
    accountSteps(store)
      .readNews(keys.own(number), 0)
      .catch(() => UNREAD),
  )
  const least = (place: 0 | 1) => {
    const moments = found.flatMap((due) => (due[place] === '' ? [] : Number(due[place])))
    return moments.length === 0 ? null : Math.min(...moments)
  }
  return { dueAt: least(0), newSince: least(1) }
}

const UNREAD = ['', '0']
