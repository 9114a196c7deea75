import { type AccountMatch, type AccountName, matchesAccount } from '../../accounts/match-account.ts'
import type { Pair } from '../readings.ts'

/** The settings of polling, as it is for all accounts and for some. */
export interface PollSettings {
  /** Longest period between two polls of an account, ms. */
  every: number
  /** Shortest period, ms; where `every` is shorter, it counts. */
  soonest: number
  associations: readonly Pair[] | 'auto'
  /** With `auto`: the most pairs of one poll. */
  pairsPerPoll: number
  accounts: readonly PollOverride[]
}

export interface PollOverride {
  match: AccountMatch
  every?: number
  soonest?: number
  associations?: readonly Pair[] | 'auto'
}

/** What holds for one account. */
export interface AccountPollSettings {
  everyMs: number
  /** Never more than `everyMs`. */
  soonestMs: number
  pairs: readonly Pair[] | 'auto'
  pairsPerPoll: number
}

/** The first override that matches decides; what it leaves out is as for all. */
export function pollSettingsOf(settings: PollSettings, account: AccountName): AccountPollSettings {
  const override = settings.accounts.find(({ match }) => matchesAccount(match, account))
  const everyMs = override?.every ?? settings.every
  return {
    everyMs,
    soonestMs: Math.min(override?.soonest ?? settings.soonest, everyMs),
    pairs: override?.associations ?? settings.associations,
    pairsPerPoll: settings.pairsPerPoll,
  }
}
