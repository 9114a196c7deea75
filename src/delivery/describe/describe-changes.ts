import type { Alert, ChangeName, FleetChange, FleetChanges } from '../../alerts/alert.ts'
import { CHANGE_GROUPS, type ChangeGroup, groupOf } from '../../alerts/changes.ts'
import { countsRecords, seriesName } from '../../alerts/series-name.ts'
import { countOf, formatCount, formatPercent } from '../../text/format-number.ts'
import { formatTime } from '../../text/format-time.ts'
import { accountName, endWithoutRecovery, headlineOf, percentOf } from './describe-alert.ts'

/** One change in words, cleaned of control characters. Not escaped. */
export interface DescribedChange {
  /** `acme.example.com (123)`, `All accounts`. */
  subject: string
  hubId?: number
  /** `Custom properties`; empty for the account itself. */
  what: string
  /** `warning → critical, 960 of 1,000`, `connected`. */
  moved: string
  /** `2026-11-21 10:00 CET`. */
  at: string
}

/** All changes of one account in a group, the worst first. */
export interface ChangedAccount extends DescribedChange {
  /** `3 alerts opened, 1 limit changed`. */
  counted: string
  /** The other ones. */
  others: DescribedChange[]
}

/** Changes as a digest, a page or a command shows them. */
export interface DescribedChanges {
  /** `2 alerts opened, 1 account connected since 2026-11-20 08:00 CET.` */
  line: string
  /** Set where older changes are not all kept. */
  note?: string
  /** Alerts and limits of one account are together, in the group of the worst of them. */
  groups: { title: string; accounts: ChangedAccount[] }[]
  /** Address of all of them. */
  more: string
}

const TITLES: Record<ChangeGroup, string> = {
  accounts: 'Accounts: connected, uninstalled, must reconnect',
  worse: 'Worse',
  limits: 'Limits changed',
  better: 'Better',
}

export function describeChanges(changes: FleetChanges, page = 'plimsoll changes'): DescribedChanges {
  const { items, since, keptSince, leftOut } = changes
  const isOfAccount = (change: FleetChange) => groupOf(change) === 'accounts'
  const bySubject = Map.groupBy(items, (change) => `${isOfAccount(change)} ${subjectOf(change)}`)
  // The first of each is its worst: the items are in that order.
  const byGroup = Map.groupBy(bySubject.values(), ([worst]) => groupOf(worst as FleetChange))
  return {
    line: `${changesText(changes, `Nothing changed`)} since ${formatTime(since)}.`,
    ...(keptSince !== undefined && { note: `Not all changes before ${formatTime(keptSince)} are kept.` }),
    groups: CHANGE_GROUPS.flatMap((group) => {
      const own = byGroup.get(group)
      return own === undefined ? [] : [{ title: TITLES[group], accounts: own.map(describeAccount) }]
    }),
    more: `${leftOut > 0 ? `${countOf(leftOut, 'more change')} not shown. ` : ''}All changes: ${page}`,
  }
}

function describeAccount(changes: readonly FleetChange[]): ChangedAccount {
  const [worst, ...others] = changes.map(describeChange) as [DescribedChange, ...DescribedChange[]]
  const counts = { ...NONE }
  for (const { change } of changes) counts[change]++
  return { ...worst, counted: changesText({ counts }, ''), others }
}

/** `acme.example.com (123): 4 alerts opened; worst: Custom properties, warning → critical, 960 of 1,000 (2026-11-21 10:00 CET)`. */
export function changeLine({ subject, counted, what, moved, at, others }: ChangedAccount): string {
  const worst = others.length === 0 ? '' : `${counted}; worst: `
  return `${subject}: ${worst}${changeText({ what, moved })} (${at})`
}

/** An account that was connected or uninstalled is all that its change is about. */
export function changeText({ what, moved }: Pick<DescribedChange, 'what' | 'moved'>): string {
  return what === '' ? moved : `${what}, ${moved}`
}

/** In a summary: how many there are of each. */
const COUNTED: Record<ChangeName, (count: number) => string> = {
  lost: (count) => `${countOf(count, 'account')} must reconnect`,
  entered: (count) => `${countOf(count, 'alert')} opened`,
  worse: (count) => `${countOf(count, 'alert')} got worse`,
  limit: (count) => `${countOf(count, 'limit')} changed`,
  eased: (count) => `${countOf(count, 'alert')} got better`,
  left: (count) => `${countOf(count, 'alert')} resolved`,
  recovered: (count) => `${countOf(count, 'account')} recovered`,
  uninstalled: (count) => `${countOf(count, 'account')} uninstalled`,
  reconnected: (count) => `${countOf(count, 'account')} reconnected`,
  connected: (count) => `${countOf(count, 'account')} connected`,
}

const NONE = Object.fromEntries(Object.keys(COUNTED).map((name) => [name, 0])) as Record<ChangeName, number>

/** `1 account must reconnect, 3 alerts opened, 12 accounts connected`, the worst first. */
function changesText({ counts }: Pick<FleetChanges, 'counts'>, none: string): string {
  const counted = (Object.keys(COUNTED) as ChangeName[])
    .filter((name) => counts[name] > 0)
    .map((name) => COUNTED[name](counts[name]))
  return counted.length === 0 ? none : counted.join(', ')
}

/** In a line: what happened to an account. */
const EVENT: Partial<Record<ChangeName, string>> = { lost: 'must reconnect' }

function subjectOf({ account, alert }: FleetChange): string {
  return accountName({ account } as Alert) ?? (alert?.kind === 'delivery' ? 'Delivery of alerts' : 'All accounts')
}

function describeChange(change: FleetChange): DescribedChange {
  const { at, account, alert } = change
  return {
    subject: subjectOf(change),
    ...(account !== undefined && { hubId: account.hubId }),
    what: alert === undefined ? '' : whatOf(change, alert),
    moved: alert === undefined ? eventText(change) : movedText(change, alert),
    at: formatTime(at),
  }
}

/** `connected, then uninstalled`, `reconnected 3 times`. */
function eventText({ change, before, times }: FleetChange): string {
  const name = EVENT[change] ?? change
  if (before === 'lost' && change === 'reconnected') return name
  if (before !== undefined) return `${EVENT[before] ?? before}, then ${name}`
  return times === 1 ? name : `${name} ${formatCount(times)} times`
}

function whatOf({ change }: FleetChange, alert: Alert): string {
  const { series } = alert
  if (change === 'lost' || change === 'recovered') return 'tokens'
  if (series === undefined) return headlineOf(alert)
  return change === 'limit' ? `${seriesName(series)}, limit` : seriesName(series)
}

/** `ok → critical → ok, 700 of 1,000`, `1,000 → 800, 96 % used`. */
function movedText(change: FleetChange, alert: Alert): string {
  const { from, via, to, times } = change
  const isSame = from === to && via === undefined
  const path = [from, via, to].flatMap((state) => (state === undefined ? [] : [stateText(state, change)]))
  const still = change.change === 'lost' ? 'must reconnect' : `still ${to}, usage rose`
  const moved = isSame ? still : [...path.slice(0, -1), endWithoutRecovery(alert) ?? path.at(-1)].join(' → ')
  // More than the path shows.
  const often = times > 2 ? `${formatCount(times)} changes` : ''
  return [moved, numbersOf(change, alert), often].filter((text) => text !== '').join(', ')
}

function stateText(state: NonNullable<FleetChange['from']>, { change }: FleetChange): string {
  if (typeof state === 'number') return formatCount(state)
  return state === 'critical' && (change === 'lost' || change === 'recovered') ? 'must reconnect' : state
}

function numbersOf({ change }: FleetChange, alert: Alert): string {
  const { series, usage, limit } = alert
  if (series === undefined || usage === undefined) return ''
  if (countsRecords(series)) return countOf(usage, 'record')
  const percent = percentOf(alert)
  if (percent === undefined || limit === undefined) return ''
  return change === 'limit' ? `${formatPercent(percent)} used` : `${formatCount(usage)} of ${formatCount(limit)}`
}
