import { accountSteps } from './account-steps.ts'
import type { Store } from './connect.ts'
import { everyPartition, type Keys } from './keys.ts'

/** Moments of the next checks of alerts that some receiver may not have been sent, ms; null: there are none. */
export interface NewsDue {
  /** Moment since which there is news that no daemon has read. */
  newSince: number | null
  /** The first check of the rest. */
  dueAt: number | null
}

export async function readNewsDue({ store, keys }: { store: Store; keys: Keys }): Promise<NewsDue> {
  // Unreadable news of a partition is found when it is read: nothing waits for it here.
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
