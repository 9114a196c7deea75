import { budgetText } from '../views/fleet-health.ts'
import { type Check, warning } from './check.ts'

export const pollBudget: Check = {
  name: 'poll-budget',
  of: 'fleet',
  judge({ pollBudget }) {
    if (pollBudget?.short == null) return []
    const of = { is: 'runbook', section: 'plimsoll-poll-budget-short' } as const
    return [warning('Raise limits.callsPerHour', `call budget ${budgetText(pollBudget)}`, of)]
  },
}
