import { type CheckLevel, type JudgedAccount, worstOf } from './judge-account.ts'

/** What a check found, over all accounts. */
export interface CheckCounts {
  accounts: number
  /** Accounts that are not ok, whichever way. */
  notOk: number
  /** Series that a rule watches. */
  series: number
  /** Series at this level. */
  critical: number
  warning: number
  /** Accounts of which not all is known: no fresh reading. */
  unknown: number
  /** Series that can't be judged because their limit is not known. */
  withoutLimit: number
}

export function noCounts(): CheckCounts {
  return { accounts: 0, notOk: 0, series: 0, critical: 0, warning: 0, unknown: 0, withoutLimit: 0 }
}

export function addAccount(counts: CheckCounts, { level, reason, series }: JudgedAccount): void {
  counts.accounts++
  if (level !== 'ok') counts.notOk++
  if (reason !== null) counts.unknown++
  counts.series += series.length
  for (const one of series) {
    if (one.level === 'critical' || one.level === 'warning') counts[one.level]++
    if (one.level === 'unknown' && reason === null) counts.withoutLimit++
  }
}

/** The worst there is. Of no accounts at all nothing is known: more likely it was looked in the wrong place. */
export function statusOf(counts: CheckCounts): CheckLevel {
  return worstOf([
    counts.critical > 0 ? 'critical' : 'ok',
    counts.warning > 0 ? 'warning' : 'ok',
    counts.unknown > 0 || counts.accounts === 0 ? 'unknown' : 'ok',
  ])
}

/** As monitoring systems know them. */
export const EXIT_CODES: Readonly<Record<CheckLevel, number>> = { ok: 0, warning: 1, critical: 2, unknown: 3 }
