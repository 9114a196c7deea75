import { type AlertWrites, NO_ALERT_WRITES, NOBODY } from '../../redis/steps.ts'
import type { AlertLevel, Message } from '../alert.ts'
import { alertId, DELIVERY_FIELD } from '../alert-state.ts'
import { closeAlert, isDueAgain, openState, type ToldSubject, tellAlert } from './told-alert.ts'

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
function deliveryField(receiver: string): string {
  return `${DELIVERY_FIELD}${receiver}`
}

/** The alert about a receiver, told through the others: when it opens, gets worse or better, now and then, and when it is over. */
export function deliveryAnnouncer({ repeatEveryMs, page }: DeliveryAlertSettings): DeliveryAnnouncer {
  return (receiver, stored, news, now) => {
    const field = deliveryField(receiver)
    const subject: ToldSubject = { kind: 'delivery', field, stored, notTo: receiver, url: page, now }
    if (news.is === 'over') return closeAlert(subject, news.message)
    const before = openState(subject)
    if (before?.level === news.level && !isDueAgain(before, now, repeatEveryMs)) return NO_ALERT_WRITES
    return tellAlert(subject, news)
  }
}

/** Somebody asked for it, or it is the drill of a receiver that had nothing to deliver for long. */
export type TestOccasion = 'asked' | 'drill'

/** What a receiver gets to prove that it works. */
export function testMessage(receiver: string, occasion: TestOccasion, now: number, page: string): Message {
  const at = new Date(now).toISOString()
  return {
    type: 'alert.test',
    timestamp: at,
    data: {
      groupKey: `test=${receiver}`,
      truncated: 0,
      alerts: [
        {
          id: `${alertId(NOBODY, `test/${receiver}`, now)}-1`,
          kind: 'test',
          status: 'firing',
          level: 'warning',
          reason: 'test',
          rule: 'test',
          measuredAt: at,
          since: at,
          message: TEXT[occasion](receiver),
          url: page,
        },
      ],
    },
  }
}

const TEXT: Record<TestOccasion, (receiver: string) => string> = {
  asked: (receiver) =>
    `This is a test of the receiver ${receiver}: it works. Nothing is wrong, and nothing is to be done.`,
  drill: (receiver) =>
    `This is the scheduled drill of the receiver ${receiver}, which had nothing else to deliver for a while: it works. ` +
    'Nothing is wrong, and nothing is to be done.',
}
