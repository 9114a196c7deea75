import type { AttemptOutcome } from '../delivery/receiver.ts'
import type { ReceiverTestShape } from './shapes/delivery.ts'

interface Tested {
  outcome: AttemptOutcome
  ms: number
  noted: 'recorded' | 'enabled' | 'away'
  /** What to do, where it failed. */
  fix: string | undefined
}

/** What came of a test message, as API and command line tell it. */
export function receiverTestJson(receiver: string, { outcome, ms, noted, fix }: Tested): ReceiverTestShape {
  const isDelivered = outcome.outcome === 'delivered'
  return {
    receiver,
    outcome: isDelivered ? 'delivered' : 'failed',
    reason: isDelivered ? (outcome.detail ?? null) : outcome.reason,
    ...{ answer: outcome.answer ?? null, ms, fix: fix ?? null },
    ...{ noted: noted !== 'away', enabled: noted === 'enabled' },
  }
}
