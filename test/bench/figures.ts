import { cycleAtLatency, cycleParsed, cycleUnchanged, refreshOnly } from './cycle.ts'
import type { Figure } from './figure.ts'
import { growth } from './growth.ts'
import { idle } from './idle.ts'
import { memory } from './memory.ts'

export interface Sizes {
  /** Accounts that go through a cycle in each round. */
  cycles: number
  /** Accounts that are refreshed in each round of P5. */
  refreshes: number
  /** The large fleet of P8. */
  fleet: number
}

/** All that `npm run bench` measures. Another tree's are taken from its own file of this name. */
export function figuresFor({ cycles, refreshes, fleet }: Sizes): Figure[] {
  return [
    cycleParsed(cycles),
    cycleUnchanged(cycles),
    cycleAtLatency(cycles),
    refreshOnly(refreshes),
    memory,
    growth(fleet),
    idle,
  ]
}
