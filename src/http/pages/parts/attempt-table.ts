import { formatSeconds } from '../../../text/format-number.ts'
import { formatTime } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import type { TimedAttempt } from '../../../views/fleet-status.ts'
import { table } from './table.ts'
import { when } from './when.ts'

const LOOK: Record<string, string> = { delivered: 'good', retry: 'warning', dead: 'critical', failed: 'critical' }

export function attemptTable(attempts: readonly TimedAttempt[], now: number): Html {
  return table(
    'Newest attempts to deliver',
    [
      { title: 'When' },
      { title: 'Receiver' },
      { title: 'Message' },
      { title: 'Attempt', number: true },
      { title: 'Outcome' },
      { title: 'Answer', number: true },
      { title: 'Took', number: true },
      { title: 'Reason' },
      { title: 'Next attempt' },
    ],
    attempts.map((attempt) => [
      when(attempt.at === null ? null : Date.parse(attempt.at), now),
      attempt.receiver,
      html`<span title="${attempt.id}">${attempt.type}</span>`,
      String(attempt.attempt),
      html`<span class="badge ${LOOK[attempt.outcome] ?? 'off'}">${attempt.outcome}</span>`,
      attempt.answer === null ? '' : String(attempt.answer),
      attempt.ms === null ? '' : formatSeconds(attempt.ms),
      attempt.reason,
      attempt.nextAt === null ? '' : formatTime(attempt.nextAt),
    ]),
  )
}
