import type { PollState } from '../../src/limits/poll-state.ts'
import { loadPollState, NEW_POLL_STATE, writePollState } from '../../src/limits/poll-state-text.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

/** What polls know of an account, changed behind their back. */
export async function changePolls(store: Store, keys: Keys, hubId: number, change: Partial<PollState>): Promise<void> {
  const state = await loadPollState(store, keys, hubId)
  const after = { ...(state ?? { ...NEW_POLL_STATE, isInterrupted: false }), ...change }
  await store.set(keys.account(hubId).poll, writePollState(after))
}
