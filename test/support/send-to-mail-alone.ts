import type { AlertsDeps } from '../../src/alerts/deps.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { takeDue } from './take-due.ts'

/** What waits goes out: to the receiver `ops-mail`, which takes it, and to all others, which do not. */
export async function sendToMailAlone(relay: AlertsDeps, at: number): Promise<void> {
  await sendAlerts(relay, at)
  await sendAlerts(relay, at + 30_000)
  await takeDue(
    relay,
    ({ receiver }) =>
      receiver === 'ops-mail'
        ? { reason: '250 taken', ms: 80 }
        : { outcome: 'retry', nextAt: at + 35_000, reason: '503 not now', ms: 90 },
    at + 31_000,
  )
}
