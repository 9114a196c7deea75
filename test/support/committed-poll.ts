import type { PollWork } from '../../jobs/job-deps.ts'
import { pollLimits } from '../../jobs/poll-limits.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { type Begun, type CommittedPoll, type PollResult, PollStore } from '../../src/limits/poll-store.ts'
import type { Watch } from '../../src/limits/watch/watch.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'

/** What a poll found; `watch`: what of it is another than before. */
export type Found = Omit<Partial<PollResult>, 'watch'> & { watch?: Partial<Watch> }

/** One poll of an account, at `at`, as its job makes it: claimed, begun, committed. */
export async function commitPoll(
  store: Store,
  keys: Keys,
  hubId: number,
  at: number,
  find: (begun: Begun) => Found = () => ({}),
): Promise<CommittedPoll> {
  const polls = new PollStore(store, keys)
  const begun = await polls.read(hubId)
  if (begun === undefined) throw new Error(`account ${hubId} is not polled`)
  const until = new DueSets(store, keys).claimEnd('poll', at)
  await store.zadd(keys.due.poll, until, hubId)
  const { watch, more, ...found } = find(begun)
  const [committed] = await polls.commit([
    {
      hubId,
      claims: [until, until],
      nextAt: at + 900_000,
      readings: begun.readings.packed,
      ...found,
      watch: { ...begun.watch, polledAt: at, hasAlerts: (more?.alerts.changes.length ?? 0) > 0, ...watch },
      more: { alerts: NO_ALERT_WRITES, ...more },
    },
  ])
  return committed ?? 'lost'
}

/** These accounts, as a chunk that was just claimed. */
export async function pollClaimed(
  work: PollWork,
  hubIds: readonly number[],
  signal = new AbortController().signal,
): Promise<void> {
  const claimedUntil = work.due.claimEnd('poll', work.clock.now())
  for (const hubId of hubIds) await work.due.takeClaim('poll', hubId, claimedUntil)
  await pollLimits(work, { hubIds: [...hubIds], claimedUntil }, signal)
}
