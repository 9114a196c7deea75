import { type AlertWrites, NO_ALERT_WRITES, NOBODY } from '../../redis/steps.ts'
import type { Alert, AlertLevel } from '../alert.ts'
import { decodeState, encodeState, openedState, toldState, transitionId } from '../alert-state.ts'
import type { SeriesState } from '../evaluation/evaluate.ts'
import { encodeEntry } from '../outbox/outbox-entry.ts'

export interface DeliveryAlertSettings {
  /** How often a receiver that still fails is told of again, ms. */
  repeatEveryMs: number
  /** The page of deliveries: an alert links to it. */
  page: string
}

/** What is to be told of a receiver: that something is wrong with it, or that nothing is any more. */
export type ReceiverNews = { is: 'firing'; level: AlertLevel; message: string } | { is: 'over'; message: string }

/** What is written about one receiver's alert; `before` is its state as stored, '' = none. */
export type DeliveryAnnouncer = (receiver: string, before: string, news: ReceiverNews, now: number) => AlertWrites

/** The field of a receiver's alert among the alerts of the whole installation. */
export function deliveryField(receiver: string): string {
  return `delivery/${receiver}`
}

/** The alert about a receiver, told through the others: when it opens, gets worse or better, now and then, and when it is over. */
export function deliveryAnnouncer({ repeatEveryMs, page }: DeliveryAlertSettings): DeliveryAnnouncer {
  return (receiver, stored, news, now) => {
    const field = deliveryField(receiver)
    const before = stored === '' ? undefined : decodeState(stored)
    const write = (state: SeriesState, reason: Alert['reason'], after: string): AlertWrites => {
      const alert = deliveryAlert(field, state, reason, news.message, now, page)
      return { changes: [[field, stored, after]], entries: [encodeEntry({ alert, notTo: receiver })] }
    }
    if (news.is === 'over')
      return before === undefined ? NO_ALERT_WRITES : write(toldState(before, now), 'recovered', '')
    if (before === undefined) {
      const state = openedState(news.level, 'delivery', now)
      return write(state, 'entered', encodeState(state))
    }
    const isDue = now - (before.toldAt ?? 0) >= repeatEveryMs
    if (before.level === news.level && !isDue) return NO_ALERT_WRITES
    const state = { ...toldState(before, now), level: news.level }
    return write(state, reasonOf(before, news.level), encodeState(state))
  }
}

function reasonOf(before: SeriesState, level: AlertLevel): Alert['reason'] {
  if (before.level === level) return 'repeat'
  return level === 'critical' ? 'escalated' : 'eased'
}

function deliveryAlert(
  field: string,
  state: SeriesState,
  reason: Alert['reason'],
  message: string,
  now: number,
  url: string,
): Alert {
  return {
    id: transitionId(NOBODY, field, state),
    kind: 'delivery',
    status: reason === 'recovered' ? 'resolved' : 'firing',
    level: state.level === 'critical' ? 'critical' : 'warning',
    reason,
    rule: 'delivery',
    measuredAt: new Date(now).toISOString(),
    since: new Date(state.since).toISOString(),
    message,
    url,
  }
}
