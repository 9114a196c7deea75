import { accountRecords } from './account-records.ts'
import { accountsPage } from './accounts-page.ts'
import { cycleAtLatency, cycleParsed, cycleUnchanged } from './cycle.ts'
import { dueMoments } from './due-moments.ts'
import type { Figure } from './figure.ts'
import { growth } from './growth.ts'
import { historyRecords } from './history-records.ts'
import { idle } from './idle.ts'
import { lateness } from './lateness.ts'
import { refreshOnly } from './refresh-only.ts'

export interface Sizes {
  /** Accounts that live through a month: each costs a tenth of a second. */
  accounts: number
  /** Those that are listed on the page of accounts, and the largest fleet of P8 and P9. */
  fleet: number
  /** Those that go through a cycle in each round. */
  cycles: number
  /** Those that are refreshed in each round of P5. */
  refreshes: number
}

/** All that `npm run bench` measures. Another tree's are taken from its own file of this name: `against-tree.ts`. */
export function figuresFor({ accounts, fleet, cycles, refreshes }: Sizes): Figure[] {
  return [
    cycleParsed(cycles),
    cycleUnchanged(cycles),
    // Twice as many: the slack at either end of a round is none of the daemon's speed.
    cycleAtLatency(2 * cycles),
    refreshOnly(refreshes),
    dueMoments,
    accountRecords,
    historyRecords(accounts),
    accountsPage(fleet),
    growth(fleet),
    lateness(fleet),
    idle,
  ]
}
