import { cleanText } from '../text/clean-text.ts'
import { formatSpan } from '../text/format-number.ts'
import { type Check, critical, NOWHERE, type Trouble, warning } from './check.ts'
import { OUTBOX_AGE_MS } from './facts.ts'

const LOG = "See the daemon's log."

/** Alerts arrive: none waits anywhere on its way for longer than it may. */
export const outbox: Check = {
  name: 'outbox',
  of: 'fleet',
  judge({ now, outbox, receivers }) {
    const late = (at: number | null, says: (span: string) => Trouble): Trouble[] =>
      at !== null && now - at > OUTBOX_AGE_MS ? [says(formatSpan(now - at))] : []
    const stuck = (says: string): Trouble => ({ ...critical('Fix the daemon', says, NOWHERE), fix: LOG, outside: true })
    const { oldestEntryAt, groupDueAt, attemptDueAt, oldestDelivery } = outbox
    return [
      ...late(oldestEntryAt, (span) => stuck(`an alert has waited in the outbox for ${span}: no daemon hands it on`)),
      ...late(groupDueAt, (span) => stuck(`a group of alerts should have been sent ${span} ago: no daemon closes it`)),
      ...late(attemptDueAt, (span) => stuck(`a message should have been sent ${span} ago, and no daemon tries to`)),
      ...late(oldestDelivery?.createdAt ?? null, (span) => {
        const { receiver = '' } = oldestDelivery ?? {}
        // One whose attempts fail has a check that says so.
        const isKnown = receivers.some((one) => one.receiver === receiver && one.failingSince !== undefined)
        const says = `the receiver ${cleanText(receiver, 64)} has not taken a message for ${span}`
        const fix = 'See its answers on the page of deliveries, or run plimsoll doctor.'
        const trouble = { ...warning('Fix the receiver', says, { is: 'receiver', receiver } as const), fix }
        return { ...trouble, outside: true, ...(isKnown && { heartbeatOnly: true }) }
      }),
    ]
  },
}
