import { packPoll } from '../../../src/limits/findings.ts'
import { changeBetween } from '../../../src/limits/history/change.ts'
import { PollStore } from '../../../src/limits/poll-store.ts'
import type { Readings } from '../../../src/limits/readings.ts'
import type { Store } from '../../../src/redis/connect.ts'
import type { Keys } from '../../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../../src/redis/steps.ts'

/** One poll that read this, committed as the job does it. After `gapMs` without a reading there is a gap. */
export async function pollAccount(
  store: Store,
  keys: Keys,
  hubId: number,
  at: number,
  readings: Readings,
  gapMs = Number.POSITIVE_INFINITY,
): Promise<void> {
  const polls = new PollStore(store, keys)
  const context = await polls.read(hubId)
  if (context === undefined) throw new Error(`account ${hubId} is not polled`)
  const committed = await polls.commit(hubId, {
    ...{ polls: context.polls, nextAt: at + 900_000, fields: { polledAt: String(at) } },
    ...packPoll(readings, changeBetween(context.readings, readings, at, gapMs)),
    alerts: NO_ALERT_WRITES,
  })
  if (committed !== 'committed') throw new Error(`the poll of account ${hubId} is ${committed}`)
}
