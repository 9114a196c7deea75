import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

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
]
