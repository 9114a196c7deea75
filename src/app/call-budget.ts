import { CallBudget } from '../limits/polling/call-budget.ts'
import { PollBudgetStore } from '../limits/polling/poll-budget-store.ts'
import type { Parts } from './parts.ts'

/** Undefined where the config sets none: then nothing of it touches Redis. */
export function callBudget({ config, store, keys, clock, log }: Parts): CallBudget | undefined {
  const { callsPerHour } = config.limits
  if (callsPerHour === undefined) return undefined
  return new CallBudget({ budget: new PollBudgetStore(store, keys), callsPerHour, clock, log })
}
