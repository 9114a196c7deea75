import { type AlertWrites, NO_ACCOUNT } from '../../redis/steps.ts'
import type { Message } from '../alert.ts'
import { alertId, DELIVERY_FIELD } from '../alert-state.ts'
import { type News, notifyNews } from './notified-alert.ts'

/** Writes of one receiver's alert; `stored` is its state, '' = none. */
export type DeliveryAnnouncer = (receiver: string, stored: string, news: News, now: number) => AlertWrites

/** The alert about a receiver, sent to the others. `page`: of deliveries. */
export function deliveryAnnouncer({ repeatEveryMs, page }: { repeatEveryMs: number; page: string }): DeliveryAnnouncer {
  return (receiver, stored, news, now) => {
    const field = `${DELIVERY_FIELD}${receiver}`
    return notifyNews({ field, stored, notTo: receiver, url: page, now }, news, repeatEveryMs)
  }
}

/** The message that proves that a receiver works. */
export function testMessage(receiver: string, now: number, page: string): Message {
  const at = new Date(now).toISOString()
  return {
    type: 'alert.test',
    timestamp: at,
    data: {
      groupKey: `test=${receiver}`,
      truncated: 0,
      alerts: [
        {
          id: `${alertId(NO_ACCOUNT, `test/${receiver}`, now)}-1`,
          kind: 'test',
          status: 'firing',
          level: 'warning',
          reason: 'test',
          rule: 'test',
          measuredAt: at,
          since: at,
          message: `This is a test of the receiver ${receiver}: it works. Nothing is wrong, and nothing is to be done.`,
          url: page,
        },
      ],
    },
  }
}
