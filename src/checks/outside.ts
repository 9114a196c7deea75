import { capitalized, countOf, formatCount, formatSpan } from '../text/format-number.ts'
import { judgeFleet } from './all-checks.ts'
import type { Trouble } from './check.ts'
import type { FleetFacts } from './facts.ts'

/** Report to the service outside: each trouble of the fleet that is out of bounds, and a summary. */
export function outsideReport(facts: FleetFacts): { reasons: string[]; summary: string } {
  const reasons = judgeFleet(facts).flatMap(([, troubles]) => troubles.flatMap(reasonOf))
  return { reasons, summary: summaryOf(facts) }
}

function reasonOf({ outside, says, fix }: Trouble): string[] {
  if (outside === undefined) return []
  if (outside !== true) return [outside]
  return [[`${capitalized(says)}.`, fix].filter(Boolean).join(' ')]
}

function summaryOf({ now, coverage, refreshes, byState, outbox }: FleetFacts): string {
  const { polled, stale } = coverage
  const { createdAt } = outbox.oldestDelivery ?? {}
  return [
    polled === 0
      ? 'No account is polled.'
      : `${formatCount(polled - stale)} of ${countOf(polled, 'account')} have a fresh reading.`,
    `Token refreshes: ${formatCount(refreshes.overdue)} overdue, ${formatCount(byState.failing)} failing.`,
    createdAt === undefined ? 'No message waits.' : `The oldest message has waited for ${formatSpan(now - createdAt)}.`,
  ].join('\n')
}
