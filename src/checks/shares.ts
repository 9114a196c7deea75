import { countOf, formatCount, formatPercent, formatSpan } from '../text/format-number.ts'
import { areTokensOver, isLow } from '../views/fleet-health.ts'
import { type Check, critical, type Trouble, type TroubleOf, warning } from './check.ts'
import { OVERDUE_REFRESH_MS, TOKENS_OBJECTIVE } from './facts.ts'
import { isFailing } from './token-endpoint.ts'

/** One account, or two, have alerts of their own; unless that is all there are. */
const LEAST_ACCOUNTS = 3

/** In whole accounts above a share: compared as counts, since 1 - 0.95 is not quite 0.05. */
function areTooMany(accounts: number, all: number, objective: number): boolean {
  return accounts > all * (1 - objective) + 1e-9 && (accounts >= LEAST_ACCOUNTS || accounts >= all)
}

/** The checks of accounts name them, also those within the bounds. */
function outOfBounds(verb: string, says: string, of: TroubleOf, fix: string): Trouble {
  return { ...warning(verb, says, of), fix, outside: true, heartbeatOnly: true }
}

/** Enough tokens are refreshed in time. */
export const refreshes: Check = {
  name: 'refreshes',
  of: 'fleet',
  judge({ refreshes: { kept, overdue }, byState: { failing } }) {
    const of = (accounts: number) => `token refreshes of ${formatCount(accounts)} of ${countOf(kept, 'account')}`
    const late = `${of(overdue)} have been overdue for ${formatSpan(OVERDUE_REFRESH_MS)} or longer`
    const log = "See plimsoll status for the token endpoint, and the daemon's log."
    const list = 'plimsoll accounts list --state failing names them.'
    return [
      ...(areTooMany(overdue, kept, TOKENS_OBJECTIVE)
        ? [outOfBounds('Check refreshes', late, { is: 'accounts', group: 'refresh' }, log)]
        : []),
      ...(areTooMany(failing, kept, TOKENS_OBJECTIVE)
        ? [outOfBounds('Check refreshes', `${of(failing)} fail`, { is: 'accounts', group: 'failing' }, list)]
        : []),
    ]
  },
}

/** No token of an active account is over, whatever the sets of due work say. */
export const expiredTokens: Check = {
  name: 'expired-tokens',
  of: 'fleet',
  judge({ now, nearestExpiryAt, tokenEndpoint }) {
    if (nearestExpiryAt === null || nearestExpiryAt > now) return []
    const isOver = areTokensOver(nearestExpiryAt, now)
    // An endpoint that fails for all is a trouble of its own.
    if (!isOver && isFailing({ tokenEndpoint })) return []
    const says = `the access token of an active account expired ${formatSpan(now - nearestExpiryAt)} ago`
    const fix = "See the daemon's log."
    return [
      {
        ...critical('Check refreshes', says, { is: 'accounts', group: 'refresh' }),
        fix,
        ...(isOver && { outside: true }),
      },
    ]
  },
}

/** Enough accounts have a fresh reading. */
export const readings: Check = {
  name: 'readings',
  of: 'fleet',
  judge({ coverage, bounds: { freshnessMs } }) {
    const { polled, stale, share, objective } = coverage
    if (!isLow(coverage) || !areTooMany(stale, polled, objective)) return []
    const says =
      `${countOf(stale, 'account')} of ${formatCount(polled)} have had no reading for ${formatSpan(freshnessMs)}: ` +
      `${formatPercent((share ?? 0) * 100)} are covered, ${formatPercent(objective * 100)} should be`
    const fix = 'plimsoll accounts list --stale names them.'
    return [outOfBounds('Check polls', says, { is: 'accounts', group: 'stale' }, fix)]
  },
}
