import { CallBudget } from '../limits/polling/call-budget.ts'
import { pollBudgetText } from '../redis/shared-text.ts'
import type { Parts } from './parts.ts'

/** Undefined where the config sets none: then nothing of it touches Redis. */
export function callBudget({ config, store, keys, clock, log }: Parts): CallBudget | undefined {
  const { callsPerHour } = config.limits
  if (callsPerHour === undefined) return undefined
  return new CallBudget({ text: pollBudgetText(store, keys), callsPerHour, clock, log })
}
