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

/** From the format of the first release on, each upgrade of a release stays as it is. */
export const UPGRADES: readonly Upgrade[] = []
