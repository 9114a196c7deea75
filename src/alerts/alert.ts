import { createHash } from 'node:crypto'
import { metricKind } from '../limits/reports/all-reports.ts'

/** The subject of an alert. */
export type AlertKind = 'limit' | 'limit-changed' | 'token' | 'poll' | 'fleet' | 'delivery' | 'test'

/** Closed, and not by a reading: `lost`: what was stored of it. */
type ClosedReason = 'uninstalled' | 'lost'
export type AlertReason = 'entered' | 'escalated' | 'eased' | 'recovered' | 'repeat' | 'worse' | ClosedReason | 'test'

/**
 * Why an account is not polled: a scope that was not granted, or polls that fail. `unauthorized`: its access token is
 * refused, and no refresh helps.
 */
export type PollCause = 'scopes' | 'failing' | 'unauthorized' | 'unreadable'

/** The trouble of a receiver. */
export type ReceiverCause = 'failing' | 'disabled' | 'recipients'

/** A trouble of all accounts. */
export type FleetCause = 'credentials' | 'refused' | 'unreachable' | 'throttled' | 'coverage' | 'calls' | 'data'

/** The rule of a token alert that is about an uninstall. */
export const UNINSTALL_RULE = 'uninstall'

/** The alert's own id, which it keeps from opening to closing, from that of one of its transitions. */
export function alertOfTransition(id: string): string {
  return id.replace(/-\d+$/, '')
}

/** A record at or near an association limit, as the provider's samples name it. */
export interface AlertRecord {
  /** Digits as text where it is beyond 2^53. */
  objectId: number | string
  /** Text from outside: escape it wherever it is shown. Absent where labels are not kept. */
  label?: string
  /** Absent for a record that is at its limit: the provider then gives no number. */
  usage?: number
  /** The last message of this alert, which named all there were, did not name it. */
  isNew?: true
}

/**
 * One transition of one alert, exactly as receivers get it (an item of `data.alerts` in a webhook). It is committed
 * together with the state it reports and never changes afterwards; `id` is the same on every copy that is ever sent.
 * Fields that a kind doesn't have are absent. Times are ISO 8601, UTC.
 */
export interface Alert {
  id: string
  /** Ids of earlier transitions of the same alert that the receiver has not been sent, and need not be: this one is newer. */
  supersedes?: string[]
  kind: AlertKind
  status: 'firing' | 'resolved'
  /** The level that was entered; for a resolved alert the level that was left. */
  level: AlertLevel
  reason: AlertReason
  /** The name of the rule that decided; for kinds without rules the kind itself. */
  rule: string
  /** Set for poll, fleet and delivery alerts, and for token alerts about an imported token of another account, or an unread answer. */
  cause?: 'foreign' | 'unreadable-answer' | PollCause | FleetCause | ReceiverCause
  /** `hublet`: its data center, for links to its records; looked up where they are made (`withHublets`), never stored or sent. */
  account?: { hubId: number; hubDomain: string; hublet?: string }
  series?: { metric: string; objectTypeId?: string; label?: string; from?: string; to?: string }
  usage?: number
  limit?: number
  percent?: number
  remaining?: number
  /** Until the limit at the pace of the last weeks; 0 at or over it. Absent where there is no forecast, or no limit in sight. */
  daysLeft?: number
  /** Range of daysLeft by the uncertainty of that pace; without `latest` it may as well be years. */
  daysLeftRange?: { earliest: number; latest?: number }
  /** The conditions of the level that was entered (of the one that was left, when resolved). */
  threshold?: { percent?: number; count?: number; remaining?: number; daysLeft?: number }
  previous?: { level: AlertLevel | 'ok'; usage?: number; limit?: number; measuredAt: string }
  measuredAt: string
  /** Moment at which the alert opened. */
  since: string
  /** `left`: those that the last message of this alert named and that are gone; only where all there are is known. */
  records?: {
    shown: number
    total: number
    items: AlertRecord[]
    left?: { objectId: number | string; label?: string }[]
  }
  /** Why a limit alert is sent; `becauseText` makes it a sentence. */
  because?: Because
  /** One sentence for kinds that are not about a number: what happened, and what to do. */
  message?: string
  /** The account's page; for all accounts the status page. */
  url?: string
}

/** The quantity that a condition compares. */
export type Quantity = 'percent' | 'count' | 'remaining' | 'daysLeft'

/** One condition of a level, beside what was read. */
export interface Condition {
  level: AlertLevel
  asks: Quantity
  threshold: number
  /** In the unit of the threshold; rounded, but never to the other side of it. */
  value: number
}

/** A higher level than the one in force, found by so many polls in a row of those it takes. */
export interface Rising {
  level: AlertLevel
  polls: number
  of: number
}

export interface LevelInForce {
  rising?: Rising
  /** The values when the alert was acknowledged: it got worse, so it is sent all the same. */
  worseThan?: { usage: number; percent?: number; remaining?: number }
}

/** Why a series is at its level. */
export type Because =
  | ({ is: 'holds' } & Condition & LevelInForce)
  /**
   * The condition no longer holds, but the level is not left before `until`: below it for percent and count, above it
   * for the rest.
   */
  | ({ is: 'margin'; until: number; recoverBelow: number } & Condition & LevelInForce)
  /** A level that is not entered yet. */
  | ({ is: 'pending'; polls: number; of: number } & Condition)
  /** The value is not known; `stays`: the level in force, which is not left for that. */
  | { is: 'unknown'; missing: 'limit' | 'forecast'; stays?: AlertLevel }
  | { is: 'off'; rule: string }
  | { is: 'no-rule' }
  /** `nearest` is the condition with the least way to go, and how far; absent where none of them is known. */
  | { is: 'nothing'; nearest?: Condition & { away: number } }
  /** The reports do not have the series any more. */
  | { is: 'gone' }

/** One delivery: the alerts of one group, at one moment, for one receiver. */
export interface Message {
  /** `account.reconnect`: for an account's contact, or who installed the app there, wherever else its receiver sends to. */
  type:
    | ('alert.firing' | 'alert.resolved' | 'alert.digest' | 'alert.test' | 'alert.acknowledged' | 'account.reconnect')
    /** Not about an alert: an event of an account. */
    | ('account.connected' | 'account.reauthorize' | 'account.recovered' | 'account.uninstalled')
  /** ISO 8601, UTC: when the group was closed. The same on every attempt. */
  timestamp: string
  data: {
    groupKey: string
    /** How many more alerts belong to this group than `alerts` shows. */
    truncated: number
    alerts: Alert[]
    /** The account of such an event. */
    account?: { hubId: number; hubDomain: string }
    /** The acknowledgement and its latest end. ISO 8601, UTC. */
    acknowledged?: { by: string; comment?: string; at: string; until: string }
    /** Set for a digest that comes every day or week. */
    period?: 'day' | 'week'
    /** Totals of such a digest, also of the alerts that `alerts` doesn't show. */
    totals?: { accounts: number; critical: number; warning: number }
    /** Changes since the receiver's last such digest, also of alerts that are not open any more. */
    changed?: FleetChanges
  }
}

/** Changes in all accounts between two moments. Times are ISO 8601, UTC. */
export interface FleetChanges {
  since: string
  until: string
  /** Not all changes before that are kept; absent where all since the moment are there. */
  keptSince?: string
  counts: Record<ChangeName, number>
  /** By group, in each the worst first. */
  items: FleetChange[]
  /** Changes that are counted, but not in `items`. */
  leftOut: number
}

export type AccountEventName = 'uninstalled' | 'reconnected' | 'connected'
export type ChangeName = ('lost' | 'entered' | 'worse') | 'limit' | ('eased' | 'left' | 'recovered') | AccountEventName

/** All that happened to one alert, limit or account in a time: its first state and its last. */
export interface FleetChange {
  change: ChangeName
  /** Moment of the last of them. */
  at: string
  /** Absent for what concerns all accounts, or a receiver. */
  account?: { hubId: number; hubDomain: string }
  /** The level before the first of it and after the last, or the limit. */
  from?: AlertLevel | 'ok' | number
  to?: AlertLevel | 'ok' | number
  /** The level or number in between, where both ends are the same: entered and left, or left and entered. */
  via?: AlertLevel | 'ok' | number
  /** The change of the account before that. */
  before?: ChangeName
  /** How many transitions, or events, these are. */
  times: number
  /** The last transition, without its records. */
  alert?: Alert
}

export type AlertLevel = 'warning' | 'critical'

/** The alert's own id, without the number of the transition. */
export function alertOf({ id }: Pick<Alert, 'id'>): string {
  return alertOfTransition(id)
}

/**
 * The subject of an alert as a short word: the same for each alert that the same series opens. An alert without an
 * account has no subject but its id.
 */
export function subjectKey(alert: Alert): string {
  const { kind, account, series } = alert
  if (account === undefined) return alertOf(alert)
  const about = [kind, account.hubId, series?.metric, series?.objectTypeId, series?.from, series?.to]
  return createHash('sha256').update(JSON.stringify(about)).digest('hex').slice(0, 16)
}

/** The place of an alert in a list depends on these; unknown ones are left out. */
export interface Ranked {
  status?: 'firing' | 'resolved'
  kind: AlertKind
  level: AlertLevel
  series?: { metric: string }
  usage?: number
  percent?: number
  daysLeft?: number
  /** Among equals the older alert goes first, then the account with the lower number. */
  account?: { hubId: number }
  /** ISO 8601, or ms. */
  since?: string | number
}

/** Consequence if no one acts: all tokens end, one account's token ends, no alert arrives, limits go unread, a limit is reached. */
const KINDS: readonly AlertKind[] = ['fleet', 'token', 'delivery', 'poll', 'limit', 'limit-changed', 'test']

/** Compared number by number; less is worse. */
export type Rank = readonly [level: number, kind: number, daysLeft: number, percent: number, usage: number]

/** Alerts without a forecast come after those with one, and before none. */
const NO_FORECAST = 99_999

/** Everything fuller counts as this, so that a cursor can carry the number. */
const MOST_PERCENT = 1_000_000

export function rankOf(alert: Ranked): Rank {
  const { kind, level, percent = 0, usage = 0 } = alert
  return [
    level === 'critical' ? 0 : 1,
    KINDS.indexOf(kind),
    daysUntilFull(alert),
    -Math.round(Math.min(percent, MOST_PERCENT) * 100),
    -usage,
  ]
}

/** A count of records at their limit, and what is not about a number, needs no forecast: it has happened. */
function daysUntilFull({ series, percent, daysLeft }: Ranked): number {
  const isFull = series === undefined || metricKind(series.metric)?.counts === 'full' || (percent ?? 0) >= 100
  return isFull ? 0 : Math.min(daysLeft ?? NO_FORECAST, NO_FORECAST)
}

export function compareRanks(a: readonly number[], b: readonly number[]): number {
  const at = a.findIndex((value, n) => value !== b[n])
  return at < 0 ? 0 : (a[at] ?? 0) - (b[at] ?? 0)
}

/** For `sort`: the one order of alerts, on pages, in lists and messages: level, consequence, age. Resolved ones come last. */
export function byConsequence(a: Ranked, b: Ranked): number {
  return (
    Number(a.status === 'resolved') - Number(b.status === 'resolved') ||
    compareRanks(rankOf(a), rankOf(b)) ||
    sinceOf(a) - sinceOf(b) ||
    (a.account?.hubId ?? 0) - (b.account?.hubId ?? 0)
  )
}

/** The alerts of a message in the order in which it shows them. */
export function inOrder({ data }: Message): Alert[] {
  return data.alerts.toSorted(byConsequence)
}

function sinceOf({ since = 0 }: Ranked): number {
  return typeof since === 'string' ? Date.parse(since) : since
}

/** True where the alert is resolved one day: a changed limit and a test are events without an end. */
export function hasEnd({ kind }: Pick<Alert, 'kind'>): boolean {
  return kind !== 'limit-changed' && kind !== 'test'
}

/** Closed, though nothing got better: the numbers of its last reading say nothing. */
export function isClosed({ reason }: Pick<Alert, 'reason'>): boolean {
  return reason === 'uninstalled' || reason === 'lost'
}
