import type { AlertLevel } from './alert-level.ts'
import type { Because } from './evaluation/because.ts'

export type { AlertLevel } from './alert-level.ts'

/** What an alert is about. */
export type AlertKind = 'limit' | 'limit-changed' | 'token' | 'poll' | 'fleet' | 'delivery' | 'test'

export type AlertReason = 'entered' | 'escalated' | 'eased' | 'recovered' | 'repeat' | 'worse' | 'uninstalled' | 'test'

/** What keeps an account from being polled: a scope that was not granted, or polls that fail. */
export type PollCause = 'scopes' | 'failing'

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
  /** A stranger's text: escape it wherever it is shown. Absent where labels are not kept. */
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
  /** Of a poll alert. */
  cause?: PollCause
  account?: { hubId: number; hubDomain: string }
  series?: { metric: string; objectTypeId?: string; label?: string; from?: string; to?: string }
  usage?: number
  limit?: number
  percent?: number
  remaining?: number
  /** Until the limit at the pace of the last weeks; 0 at or over it. Absent where there is no forecast, or no limit in sight. */
  daysLeft?: number
  /** Where daysLeft lies by the uncertainty of that pace; without `latest` it may as well be years. */
  daysLeftRange?: { earliest: number; latest?: number }
  /** The conditions of the level that was entered (of the one that was left, when resolved). */
  threshold?: { percent?: number; count?: number; remaining?: number; daysLeft?: number }
  previous?: { level: AlertLevel | 'ok'; usage?: number; limit?: number; measuredAt: string }
  measuredAt: string
  /** When the alert opened. */
  since: string
  /** `left`: those that the last message of this alert named and that are gone; only where all there are is known. */
  records?: {
    shown: number
    total: number
    items: AlertRecord[]
    left?: { objectId: number | string; label?: string }[]
  }
  /** Of a limit alert: why it is told, as `sayBecause` says it in a sentence. */
  because?: Because
  /** One sentence for kinds that are not about a number: what happened, and what to do. */
  message?: string
  /** Where to look: the account's page; for the whole fleet the status page. */
  url?: string
}

/** What one delivery carries: the alerts of one group, at one moment, for one receiver. */
export interface Message {
  type: 'alert.firing' | 'alert.resolved' | 'alert.digest' | 'alert.test'
  /** ISO 8601, UTC: when the group was closed. The same on every attempt. */
  timestamp: string
  data: {
    groupKey: string
    /** How many more alerts belong to this group than `alerts` shows. */
    truncated: number
    alerts: Alert[]
    /** Of a digest that comes every day or week. */
    period?: 'day' | 'week'
    /** Of such a digest: all that it is about, also what `alerts` doesn't show. */
    totals?: { accounts: number; critical: number; warning: number }
    /** Since the receiver's last such digest, likewise of all; `previous` of an alert is how it stood then. Absent from the first one. */
    changes?: { new: number; worse: number; better: number; resolved: number }
  }
}
