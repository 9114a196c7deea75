import type { Store } from '../../src/redis/connect.ts'
import type { AccountKeys, Keys } from '../../src/redis/keys.ts'
import { eventually } from '../support/fleet.ts'
import { domainOf, eachAccount, FIRST_HUB_ID } from './fleet-of-accounts.ts'

/** What a poll leaves of an account beside its own record, each copied as it is stored. */
const COPIED: readonly (keyof AccountKeys)[] = ['watch', 'samples', 'history', 'alerts', 'forecast']

/**
 * Waits until the daemon has polled the first account, which adds to the records it had, and leaves the others as if they
 * had lived as it did.
 */
export async function copyPolledAccount(store: Store, keys: Keys, count: number, records: number): Promise<void> {
  const first = keys.account(FIRST_HUB_ID)
  await eventually('the first account polled', async () => (await store.llen(first.history)) > records, 60_000)
  const { user, hubDomain, refreshedAt, obtainedAt, expiresAt, ...polled } = await store.hgetall(first.account)
  const dumps: { name: keyof AccountKeys; dump: Buffer; ttl: number }[] = []
  for (const name of COPIED) {
    const [dump, ttl] = [await store.dumpBuffer(first[name]), await store.pttl(first[name])]
    if (dump !== null) dumps.push({ name, dump, ttl: Math.max(0, ttl) })
  }
  const { nearest } = keys.partition(keys.partitionOf(FIRST_HUB_ID))
  const nearness = await store.zscore(nearest, FIRST_HUB_ID)
  await eachAccount(store, { from: 1, count: count - 1 }, (commands, hubId) => {
    const own = keys.account(hubId)
    commands.hset(own.account, { ...polled, hubDomain: domainOf(hubId) })
    for (const { name, dump, ttl } of dumps) commands.restore(own[name], ttl, dump)
    if (nearness !== null) commands.zadd(keys.partition(keys.partitionOf(hubId)).nearest, nearness, hubId)
  })
}
