import { metadata } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import type { SeededAccount } from '../support/accounts.ts'
import { reads } from '../support/fake-provider.ts'
import { HUB, type WorldOptions, worldOfFile } from '../support/world.ts'

export const MINUTE = 60_000
export const HOUR = 60 * MINUTE
export const DAY = 24 * HOUR
/** Between the polls of an account, where a test sets nothing else. */
export const EVERY_MS = 15 * MINUTE
export const PAIR = { from: '0-1', to: '0-2' }

/** `account`: its tokens outlive the test unless that says otherwise. */
type Given = Omit<WorldOptions, 'settings'> & {
  settings?: Record<string, object>
  rules?: readonly object[]
  hubIds?: readonly number[]
  account?: Partial<SeededAccount>
}

/** Accounts that are polled by no rule, and a provider that says what a test says from now on; to be called at the top of a file. */
export function pollsOfFile() {
  const world = worldOfFile()
  return async ({ settings = {}, rules = [], hubIds = [HUB], account = {}, provider, ...more }: Given = {}) => {
    const w = await world({
      ...more,
      provider: {
        metadata: async () => metadata(),
        customProperties: reads(properties(10)),
        associations: reads(associations(100)),
        ...provider,
      },
      settings: {
        ...settings,
        limits: { every: '15m', soonest: '15m', ...settings.limits },
        thresholds: rules,
        alerts: { firstRun: 'alert', ...settings.alerts },
      },
    })
    for (const hubId of hubIds) await w.account({ hubId, lifeMs: 365 * DAY, ...account })
    return { ...w, ...w.of(HUB) }
  }
}
