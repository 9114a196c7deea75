import { createHash } from 'node:crypto'
import type { SampleRecord } from '../limits/reports/report.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import { defined } from '../runtime/defined.ts'
import { isMoment } from '../runtime/moment.ts'
import type { Alert, AlertKind, AlertLevel, AlertReason } from './alert.ts'

/** The field of an account's token alert among its alert states. */
export const TOKEN_FIELD = 'token'
/** The field of the alert about what keeps its limits from being read. */
export const POLL_FIELD = 'poll'
/** Prefix of the fields of receivers' alerts, among the alerts of the whole installation. */
export const DELIVERY_FIELD = 'delivery/'

const LEVELS: readonly unknown[] = ['ok', 'warning', 'critical'] satisfies SeriesState['level'][]

/** States of alerts as they are in Redis: a field per series (or `token`, `poll`), its level first, which searches look for. */
export function encodeState({ level, ...more }: SeriesState): string {
  return JSON.stringify({ level, ...more })
}

/**
 * Undefined for none, and for what can't be read, which counts as none. Whoever was sent it gets its end once what receivers
 * know is checked against what is open.
 */
export function decodeState(stored: string | null | undefined): SeriesState | undefined {
  // Most series have none: a parser that throws is slow.
  if (stored == null || stored === '') return undefined
  try {
    const state = JSON.parse(stored) as SeriesState
    return LEVELS.includes(state.level) && isMoment(state.since) ? state : undefined
  } catch {
    return undefined
  }
}

/** The state of a new alert that is not about a number: there is no reading in it. */
export function openedState(level: AlertLevel, rule: string, now: number): SeriesState {
  return { level, rule, since: now, transitions: 1, sentAt: now, lastSent: null, pending: null }
}

/** The state after one more message. */
export function notifiedState(before: SeriesState, now: number): SeriesState {
  return { ...before, transitions: before.transitions + 1, sentAt: now }
}

/** The state at its new level; an open alert may have been at the other level before. */
export function atLevel(before: SeriesState, level: AlertLevel): SeriesState {
  if (before.level === 'ok' || before.level === level) return { ...before, level }
  return { ...before, level, wasAtBoth: true }
}

/** The kind of an open alert. Without an account it is a receiver's, or about all accounts. */
export function kindOf(hubId: number, field: string): Exclude<AlertKind, 'limit-changed' | 'test'> {
  if (hubId === NO_ACCOUNT) return field.startsWith(DELIVERY_FIELD) ? 'delivery' : 'fleet'
  return field === TOKEN_FIELD || field === POLL_FIELD ? field : 'limit'
}

/** The alert's own id; it stays from opening to closing. */
export function alertId(hubId: number, field: string, since: number): string {
  return createHash('sha256').update(`${hubId}|${field}|${since}`).digest('hex').slice(0, 16)
}

/**
 * The id of one transition, as receivers get it. It follows from what is committed, so that a commit that is repeated -
 * because its answer was lost, because two workers polled at once - can't send the same alert under two ids.
 */
function transitionId(hubId: number, field: string, state: SeriesState): string {
  return `${alertId(hubId, field, state.since)}-${state.transitions}`
}

/** The state of a series between polls. A series that is well, with nothing pending, has none. */
export interface SeriesState {
  level: AlertLevel | 'ok'
  /** Name of the rule that decided last. */
  rule: string
  /** Moment at which the alert opened, ms; the level may have changed since. */
  since: number
  /** Transitions of this alert so far: part of their ids. */
  transitions: number
  /** Commit of the last of them, ms. */
  sentAt: number
  /** The values in the last message. */
  lastSent: SentBefore | null
  /** Polls in a row that found a higher level than the one in force. */
  pending: { warning: number; critical: number; sinceFirstReading: boolean } | null
  /** The level is in force by the forecast alone: nothing else would hold it. */
  foreseen?: true
  /** The cause that a poll or fleet alert was sent with. */
  cause?: Alert['cause'] & {}
  /** The alert was at both levels since it opened: the receivers of either got it. */
  wasAtBoth?: true
  /** An operator knows: the alert is not sent again before it gets worse. */
  acknowledged?: Acknowledged
}

export interface SentBefore {
  level: AlertLevel
  usage: number
  limit?: number
  /** Until the limit; absent where there was no forecast. */
  daysLeft?: number
  /** ms */
  at: number
  /** Records named in the message; absent where it named none. */
  records?: readonly NamedRecord[]
  /** Number of further records that it did not name; absent where it named all. */
  unnamed?: number
}

type ObjectId = SampleRecord['objectId']

/** A record by its id, with its label where labels are kept. */
export type NamedRecord = ObjectId | readonly [id: ObjectId, label: string]

export interface Acknowledged {
  /** ms */
  at: number
  by: string
  comment?: string
  /** End of the acknowledgement even if nothing gets worse, ms. */
  until: number
  /** Values when it was acknowledged. Absent for alerts that are not about a number. */
  usage?: number
  percent?: number
  remaining?: number
}

/** The parts of a transition that differ from message to message. */
export interface NewTransition {
  level: AlertLevel
  reason: AlertReason
  /** ms */
  at: number
  url?: string
}

/** The transition that left an alert in this state, without its number. */
export function transitionOf(
  account: Alert['account'],
  field: string,
  state: SeriesState,
  { level, reason, at, url }: NewTransition,
): Alert {
  const hubId = account?.hubId ?? NO_ACCOUNT
  return {
    id: transitionId(hubId, field, state),
    kind: kindOf(hubId, field),
    status: reason === 'recovered' || reason === 'uninstalled' ? 'resolved' : 'firing',
    level,
    reason,
    rule: state.rule,
    ...defined({ cause: state.cause, account }),
    measuredAt: new Date(at).toISOString(),
    since: new Date(state.since).toISOString(),
    ...defined({ url }),
  }
}

/** The acknowledgement as long as it lasts. */
export function currentAcknowledgement(state: SeriesState | undefined, now: number): Acknowledged | undefined {
  return state?.acknowledged !== undefined && now < state.acknowledged.until ? state.acknowledged : undefined
}

export function withoutAcknowledgement(state: SeriesState): SeriesState {
  if (state.acknowledged === undefined) return state
  const { acknowledged: _, ...rest } = state
  return rest
}
