import { AT_ONCE } from './account-calls.ts'
import type { PollSettings } from './poll-settings.ts'

/**
 * Calls that a poll of any account makes at once, so that they can be taken from the account's share when the poll
 * begins; 0 where settings differ by account: that step is the one that reads which account it is.
 */
export function firstCalls({ associations, accounts }: Pick<PollSettings, 'associations' | 'accounts'>): number {
  if (accounts.some((override) => override.associations !== undefined)) return 0
  return associations === 'auto' ? 1 : Math.min(AT_ONCE, 1 + associations.length)
}
