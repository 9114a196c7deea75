import { setTimeout as pause } from 'node:timers/promises'
import type { Figure } from './figure.ts'
import { openSteadyFleet, TICK_MS } from './steady-fleet.ts'

const WINDOW_MS = 10_000
/** The first to come were waited for, and the daemon had been quiet before. */
const SETTLING_MS = 5_000

/**
 * P9: how late tokens are refreshed against their due moments, as the provider saw it, while one daemon does 0.6 of what
 * it was able to do just before; against one tick, which is how often it looks who is due. Lives are as much shorter as it takes
 * for that: `npm run long-run -- hundred-thousand` is the same for minutes, with people looking at pages.
 */
export function lateness(accounts = 100_000): Figure {
  return {
    id: 'P9',
    rounds: 3,
    rows: [
      {
        what: `refresh of ${accounts.toLocaleString('en-US')} accounts at 0.6 of one daemon's capacity, p99 lateness; lower is better`,
        unit: 'ms, against one tick',
        goal: { of: 'ratio', atMost: 1.5 },
      },
      {
        what: 'tokens that ended before they were refreshed; must be 0',
        unit: 'tokens, against all refreshes',
        goal: { of: 'ours', atMost: 0 },
      },
    ],
    open: async () => {
      const fleet = await openSteadyFleet(accounts)
      await pause(SETTLING_MS)
      await fleet.seen()
      let refreshes = 0
      return {
        ours: async () => {
          await pause(WINDOW_MS)
          const seen = await fleet.seen()
          refreshes = seen.refreshes
          return [seen.p99, seen.expired + seen.ended]
        },
        reference: async () => [TICK_MS, refreshes],
        close: () => fleet.close(),
      }
    },
  }
}
