import { cleanText } from '../../../text/clean-text.ts'
import { formatSeconds } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'
import type { Carried, TimedAttempt } from '../../../views/deliveries.ts'
import { carriedAlerts } from './carried-alerts.ts'
import { table } from './table.ts'
import { when } from './when.ts'

const LOOK: Record<string, string> = { delivered: 'good', retry: 'warning', dead: 'critical', failed: 'critical' }

/** `carried`: what each delivery is about, by its id, where that was looked up. */
export function attemptTable(
  attempts: readonly TimedAttempt[],
  now: number,
  carried: ReadonlyMap<string, Carried> = new Map(),
): Html {
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
      html`<span class="whole">${attempt.receiver}</span>`,
      html`<span title="${attempt.id}">${carriedAlerts(attempt.type, carried.get(attempt.id))}</span>`,
      String(attempt.attempt),
      html`<span class="badge ${LOOK[attempt.outcome] ?? 'off'}">${attempt.outcome}</span>`,
      attempt.answer === null ? '' : String(attempt.answer),
      attempt.ms === null ? '' : html`<span class="whole">${formatSeconds(attempt.ms)}</span>`,
      cleanText(attempt.reason, 300),
      attempt.nextAt === null ? '' : when(Date.parse(attempt.nextAt), now),
    ]),
  )
}
