import { parseSeriesId } from '../../limits/series.ts'
import { type AlertWrites, NO_ACCOUNT, NO_ALERT_WRITES } from '../../redis/steps.ts'
import { defined } from '../../runtime/defined.ts'
import type { Alert, AlertLevel, AlertReason } from '../alert.ts'
import {
  atLevel,
  currentAcknowledgement,
  decodeState,
  encodeState,
  kindOf,
  notifiedState,
  openedState,
  type SeriesState,
  transitionOf,
  withoutAcknowledgement,
} from '../alert-state.ts'
import { encodeEntry, entryOf } from '../outbox.ts'

/** The subject of an alert that is not about a number, and its state as stored. */
export interface NotifiedSubject {
  /** Field among the alert states. */
  field: string
  /** State of the alert as stored, '' = none. */
  stored: string
  /** Absent where it concerns no account in particular. */
  account?: { hubId: number; hubDomain: string }
  /** The receiver that it is about: it would not get it. */
  notTo?: string
  /** The page about it. */
  url: string
  now: number
}

/** The content of the alert: for people in `message`. */
export interface AlertContent {
  level: AlertLevel
  /** Default: the kind. */
  rule?: string
  cause?: SeriesState['cause'] & {}
  message: string
}

/** The state as it was read; undefined where nothing is open. */
export function openState({ stored }: Pick<NotifiedSubject, 'stored'>): SeriesState | undefined {
  return decodeState(stored)
}

/** Opens the alert; one that is open is sent again, at the level that holds now. */
export function notifyAlert(subject: NotifiedSubject, { level, rule, cause, message }: AlertContent): AlertWrites {
  const before = openState(subject)
  if (before === undefined) {
    const opened = openedState(level, rule ?? kindOf(subject.account?.hubId ?? NO_ACCOUNT, subject.field), subject.now)
    return writesOf(subject, withCause(opened, cause), { level, reason: 'entered', message })
  }
  const reason = reasonOf(before, level, cause)
  // An alert that gets better stays acknowledged; any other change ends that.
  const base = reason === 'eased' ? before : withoutAcknowledgement(before)
  return writesOf(subject, withCause(atLevel(notifiedState(base, subject.now), level), cause), {
    level,
    reason,
    message,
  })
}

/** Nothing, where nothing is open. */
export function closeAlert(subject: NotifiedSubject, message: string): AlertWrites {
  const before = openState(subject)
  if (before === undefined) return NO_ALERT_WRITES
  const level = before.level === 'critical' ? 'critical' : 'warning'
  return writesOf(subject, notifiedState(before, subject.now), { level, reason: 'recovered', message })
}

/** A trouble as it is found now. */
export type News =
  | ({ is: 'firing' } & Pick<AlertContent, 'level' | 'cause' | 'message'>)
  | { is: 'over'; message: string }

/** The alert about what lasts: sent when it opens, gets worse or better, repeats, and ends. */
export function notifyNews(subject: NotifiedSubject, news: News, repeatEveryMs: number): AlertWrites {
  if (news.is === 'over') return closeAlert(subject, news.message)
  const before = openState(subject)
  if (before?.level === news.level && !isDueAgain(before, subject.now, repeatEveryMs)) return NO_ALERT_WRITES
  return notifyAlert(subject, news)
}

/** True where an alert that lasts at its level is due to repeat: not as long as it is acknowledged. */
export function isDueAgain(before: SeriesState, now: number, repeatEveryMs: number): boolean {
  return now - before.sentAt >= repeatEveryMs && currentAcknowledgement(before, now) === undefined
}

/** At the same level another cause is news: a refresh that failed is refused now. */
function reasonOf({ level, cause }: SeriesState, to: AlertLevel, now: SeriesState['cause']): AlertReason {
  if (level === to) return cause === now ? 'repeat' : 'worse'
  return to === 'critical' ? 'escalated' : 'eased'
}

function withCause(state: SeriesState, cause: SeriesState['cause']): SeriesState {
  const { cause: _, ...others } = state
  return { ...others, ...defined({ cause }) }
}

function writesOf(
  subject: NotifiedSubject,
  state: SeriesState,
  { level, reason, message }: { level: AlertLevel; reason: AlertReason; message: string },
): AlertWrites {
  const { field, stored, account, notTo, url, now } = subject
  const alert = { ...transitionOf(account, field, state, { level, reason, at: now, url }), message }
  const entry = { ...entryOf(alert, state), ...defined({ notTo }) }
  return {
    changes: [[field, stored, reason === 'recovered' ? '' : encodeState(state)]],
    entries: [encodeEntry(entry)],
  }
}

/** Closes all that is open for an account that is being uninstalled: not recovered, but of no interest any more. */
export function closeAlerts(
  pageOf: (hubId: number) => string,
  account: { hubId: number; hubDomain: string },
  states: Record<string, string>,
  now: number,
): AlertWrites {
  const writes: AlertWrites = { changes: [], entries: [] }
  for (const [field, stored] of Object.entries(states)) {
    writes.changes.push([field, stored, ''])
    const before = decodeState(stored)
    if (before === undefined || before.level === 'ok') continue
    const series = parseSeriesId(field)
    const transition = { level: before.level, reason: 'uninstalled' as const, at: now, url: pageOf(account.hubId) }
    const alert: Alert = {
      ...transitionOf(account, field, notifiedState(before, now), transition),
      ...defined({ series, usage: before.lastSent?.usage }),
      message: 'The app was uninstalled from this account.',
    }
    writes.entries.push(encodeEntry(entryOf(alert, before)))
  }
  return writes
}
