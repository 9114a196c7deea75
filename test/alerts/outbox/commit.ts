import { encodeEntry, type OutboxEntry } from '../../../src/alerts/outbox.ts'
import type { Store } from '../../../src/redis/connect.ts'
import type { Keys } from '../../../src/redis/keys.ts'
import { accountStepKeys, NOBODY, stepJson } from '../../../src/redis/steps.ts'

/** Commits transitions as a poll would, in one step on the account of the first. */
export async function commit(store: Store, keys: Keys, ...entries: OutboxEntry[]): Promise<void> {
  const hubId = entries[0]?.alert.account?.hubId ?? NOBODY
  const writes = { changes: [], entries: entries.map(encodeEntry) }
  const is = await store.changeAlerts(...accountStepKeys(keys, hubId), hubId, stepJson(writes))
  if (is !== 'changed') throw new Error(is)
}
