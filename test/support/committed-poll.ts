import type { PollWork } from '../../jobs/job-deps.ts'
import { pollLimits } from '../../jobs/poll-limits.ts'
import type { DueSets } from '../../src/accounts/due-sets.ts'
import type { LoadedAccount } from '../../src/limits/poll.ts'
import type { PollState } from '../../src/limits/poll-state.ts'
import { type CommittedPoll, PollStore, type PollToCommit } from '../../src/limits/poll-store.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES } from '../../src/redis/steps.ts'

/** What a poll found; `state`: what of it is another than before. */
export type Found = Omit<Partial<PollToCommit>, 'state'> & { state?: Partial<PollState> }

/** One poll of an account, at `at`, as its job makes it: claimed, loaded, committed. */
export async function commitPoll(
  store: Store,
  keys: Keys,
  hubId: number,
  at: number,
  find: (account: LoadedAccount) => Found = () => ({}),
): Promise<CommittedPoll> {
  const polls = new PollStore(store, keys)
  const account = await polls.loadOne(hubId)
  if (account === undefined) throw new Error(`account ${hubId} is not polled`)
  const claim = claimAt(at)
  await store.zadd(keys.due.poll, claim, hubId)
  const { state, more, ...found } = find(account)
  const hasAlerts = (more?.alerts.changes.length ?? 0) > 0
  const [committed] = await polls.commit([
    {
      hubId,
      claim,
      nextAt: at + 900_000,
      ...found,
      state: { ...account.state, isInterrupted: false, polledAt: at, hasAlerts, ...state },
      more: { alerts: NO_ALERT_WRITES, ...more },
    },
  ])
  return committed ?? 'lost'
}

/** A claim of a poll that began at `at`, and is another one each time. */
export function claimAt(at: number): number {
  claims++
  return Math.round(at) + 60_000 + (1 + (claims % 1_000)) / 1_024
}
let claims = 0

/** These accounts, as if no other was due. */
export async function pollClaimed(
  work: PollWork,
  hubIds: readonly number[],
  signal = new AbortController().signal,
): Promise<void> {
  const left = [...hubIds]
  const due: Pick<DueSets, 'claim' | 'claimOne' | 'move'> = {
    claim: async (kind, most, ms) => {
      const claimed = await Promise.all(left.splice(0, most).map((hubId) => work.due.claimOne(kind, hubId, ms)))
      return claimed.filter((one) => typeof one !== 'string')
    },
    claimOne: (...asked) => work.due.claimOne(...asked),
    move: (...asked) => work.due.move(...asked),
  }
  await pollLimits({ ...work, due: due as DueSets }, signal)
}
