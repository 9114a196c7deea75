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

/** A test that an operator asked for, or the drill of a receiver that had nothing to deliver for long. */
export type TestOccasion = 'asked' | 'drill'

/** The message that proves that a receiver works. */
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
          id: `${alertId(NO_ACCOUNT, `test/${receiver}`, now)}-1`,
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
