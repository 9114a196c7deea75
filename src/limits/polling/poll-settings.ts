import { type AccountMatch, type AccountName, matchesAccount } from '../../accounts/match-account.ts'
import type { Pair } from '../pair.ts'
import { namedReports } from '../reports/all-reports.ts'
import type { Report } from '../reports/report.ts'

/** The settings of polling, as it is for all accounts and for some. */
export interface PollSettings {
  /** Longest period between two polls of an account, ms. */
  every: number
  /** Shortest period, ms; where `every` is shorter, it counts. */
  soonest: number
  /** Which of the provider's reports are asked for. */
  reports: readonly string[]
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

/** Settings of one account's polls. */
export interface AccountPollSettings {
  everyMs: number
  /** Never more than `everyMs`. */
  soonestMs: number
  /** Without those of pairs where there is no pair. */
  reports: readonly Report[]
  /** Pairs of the reports that are asked for once a pair. */
  pairs: readonly Pair[] | 'auto'
  pairsPerPoll: number
}

/** The first override that matches decides; what it leaves out is as for all. */
export function pollSettingsOf(settings: PollSettings, account: AccountName): AccountPollSettings {
  const override = settings.accounts.find(({ match }) => matchesAccount(match, account))
  const everyMs = override?.every ?? settings.every
  const pairs = override?.associations ?? settings.associations
  const isAsked = ({ perPair }: Report) => perPair === undefined || pairs.length > 0
  const reports = namedReports(settings.reports).filter(isAsked)
  return {
    everyMs,
    soonestMs: Math.min(override?.soonest ?? settings.soonest, everyMs),
    reports,
    pairs: reports.some(({ perPair }) => perPair !== undefined) ? pairs : [],
    pairsPerPoll: settings.pairsPerPoll,
  }
}
