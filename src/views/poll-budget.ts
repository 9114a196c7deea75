import { decodeBudget } from '../limits/polling/call-budget.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { countOf } from '../text/format-number.ts'
import { formatTime, iso } from '../text/format-time.ts'
import type { PollBudgetShape } from './shapes/fleet-status.ts'

/** What is left of the fleet's calls to the limits endpoints. */
export type PollBudgetStatus = PollBudgetShape

/** Null where the config sets no budget. */
export async function readPollBudget(store: Store, keys: Keys): Promise<PollBudgetStatus | null> {
  const stored = await store.get(keys.pollBudget)
  if (stored === null) return null
  const { level, meanCalls, short } = decodeBudget(stored, 0)
  return {
    calls: Math.floor(level),
    callsPerPoll: Math.round(meanCalls * 10) / 10,
    short: short && {
      since: iso(short.since),
      polls: short.polls,
      latestSeconds: Math.round(short.latestMs / 1_000),
    },
  }
}

/** One line for people. */
export function pollBudgetText({ calls, short }: PollBudgetStatus): string {
  if (short === null) return calls > 0 ? 'has room' : 'has room for regular turns only'
  const late = `${countOf(Math.ceil(short.latestSeconds / 60), 'minute')} late`
  return `too small: ${countOf(short.polls, 'poll')} waited since ${formatTime(short.since ?? '')}, up to ${late}`
}
