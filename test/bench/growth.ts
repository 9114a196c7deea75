import type { Figure } from './figure.ts'
import { openOurs } from './ours.ts'
import { CPU_MICROS, type Lot, REDIS_MICROS, takeTurns } from './side.ts'

const FEW = 1_000

/**
 * P8: what an account costs in a large fleet against a small one. In each the same 1,000 accounts come due again and again:
 * the fleets differ in how many others there are.
 */
export function growth(fleet: number): Figure {
  const lot: Lot = { accounts: FEW, inFlight: 64, refreshShare: 1, polls: true, answers: { changed: 0.1 } }
  const large = fleet.toLocaleString('en-US')
  const what = `a full cycle with ${large} accounts, against one with ${FEW.toLocaleString('en-US')}; lower is better`
  return {
    rows: [
      { id: 'P8', what, unit: 'client CPU us per account', value: CPU_MICROS, against: 'few accounts' },
      { id: 'P8', what, unit: 'Redis CPU us per account', value: REDIS_MICROS, against: 'few accounts' },
    ],
    open: async () =>
      takeTurns(() => openOurs(lot, Math.max(0, fleet - FEW)), {
        'few accounts': () => openOurs(lot),
      }),
  }
}
