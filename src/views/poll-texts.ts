import type { Account } from '../accounts/account.ts'
import { limitText, seriesName } from '../alerts/series-name.ts'
import type { NearThreshold, PollTurn, TurnBecause } from '../limits/poll-state.ts'
import { reportNamed } from '../limits/reports/all-reports.ts'
import { parseSeriesId, type Series } from '../limits/series.ts'
import { defined } from '../runtime/defined.ts'
import { countOf, formatCount, formatPercent, formatSpan } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import type { AccountShape } from './shapes/account.ts'

/** Series by id, for the names that the account gives its object types; without them ids are shown. */
export type Labels = ReadonlyMap<string, Pick<Series, 'label'>>

const NO_LABELS: Labels = new Map()

/**
 * Why an account is polled next when it is, in a few words: `regular schedule`. Labels are made harmless.
 *
 * @returns undefined where nothing is known, for example before the first poll
 */
export function pollBecause(turn: PollTurn | null, labels: Labels = NO_LABELS): string | undefined {
  return turn === null ? undefined : reason(turn.because, labels)
}

function reason(because: TurnBecause, labels: Labels): string {
  switch (because.is) {
    case 'near':
      return nearness(because, labels)
    case 'new':
      return 'just connected'
    case 'still':
      return 'regular schedule'
    case 'failed':
      return 'the last poll failed'
    case 'told':
      return 'HubSpot asked to wait'
  }
}

function nearness({ series, usage, limit, level, move, asks, of }: NearThreshold, labels: Labels): string {
  const name = nameOf(series, labels)
  const turning = `${level} ${move === 'enter' ? `from ${entered(asks, of)}` : `until ${left(asks, of)}`}`
  if (limit === null || asks !== 'percent')
    return `${limitText(name, { usage, ...defined({ limit: limit ?? undefined }) })} (${turning})`
  return `${seriesName(name)} ${formatPercent((usage * 100) / limit)} (${turning})`
}

function entered(asks: NearThreshold['asks'], of: number): string {
  if (asks === 'percent') return formatPercent(of)
  return asks === 'count' ? formatCount(of) : `${formatCount(of)} left`
}

function left(asks: NearThreshold['asks'], of: number): string {
  if (asks === 'remaining') return `more than ${formatCount(of)} are left`
  return `below ${asks === 'percent' ? formatPercent(of) : formatCount(of)}`
}

function nameOf(series: string, labels: Labels) {
  const label = labels.get(series)?.label
  const name = parseSeriesId(series) ?? { metric: series }
  return label === undefined ? name : { ...name, label }
}

const IS = { all: 'cannot be watched', part: 'cannot be watched in part' } as const
const UNREAD = { all: "limits can't be read", part: "some limits can't be read" } as const

/** Why an account's limits are not read, as the API has it; null = no known reason. */
export function watchJson({ pollBlocked }: Account): AccountShape['watch'] {
  if (pollBlocked === null) return null
  const { what, since, scopes } = pollBlocked
  return { is: IS[what], because: 'scope missing', since: iso(since), scopes }
}

/** The same for people. */
export function watchText({ pollBlocked }: Pick<Account, 'pollBlocked'>): string | undefined {
  if (pollBlocked === null) return undefined
  return `${UNREAD[pollBlocked.what]}: a permission is missing`
}

/** For people; undefined: all of its last reports could be read. */
export function gapsText({ gaps: [first, ...others] }: Pick<Account, 'gaps'>): string | undefined {
  if (first === undefined) return undefined
  return `parts of the last reports could not be read: ${first}${others.length === 0 ? '' : `, and ${formatCount(others.length)} more`}`
}

/** For people; undefined: it has all reports that are asked for. */
export function notAvailableText({ notAvailable }: Pick<Account, 'notAvailable'>): string | undefined {
  if (notAvailable.length === 0) return undefined
  return `not available for this account: ${notAvailable.map((name) => reportNamed(name)?.words ?? name).join(', ')}`
}

/** Calls of one moment, never the most there were. Undefined: nothing was seen. */
export function bucketText({ apiCalls }: Pick<AccountShape, 'apiCalls'>): string | undefined {
  if (apiCalls === null) return undefined
  const { lastSeen: seen, refused } = apiCalls
  const used =
    seen === null
      ? ''
      : `${formatCount(seen.used)} of ${formatCount(seen.of)} in ${formatSpan(seen.perMs)} when last seen, `
  return `${used}${formatCount(refused)} refused since the poll before`
}

export function bucketJson({ bucket }: Pick<Account, 'bucket'>): AccountShape['apiCalls'] {
  if (bucket === null) return null
  const { lastSeen: seen, refused } = bucket
  const lastSeen = seen && { used: seen.used, of: seen.of, perMs: seen.intervalMs, at: iso(seen.at) }
  return { lastSeen: lastSeen ?? null, refused }
}

/** For people; undefined: all of its object types are watched. */
export function leftOutText({ objectTypesLeftOut: count }: Pick<Account, 'objectTypesLeftOut'>): string | undefined {
  if (count === 0) return undefined
  return `${countOf(count, 'object type')} ${count === 1 ? 'is' : 'are'} not watched: more than are kept of one account, or ids that are too long`
}
