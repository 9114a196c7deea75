import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { Figure } from './figure.ts'
import { openMemoryGauge } from './redis-memory.ts'

const ACCOUNTS = 10_000
/** Job schedulers take long to make, and each costs as much as the one before it. */
const SCHEDULED_ACCOUNTS = 2_000
const AT_ONCE = 200

/**
 * P7, when next: an account's two due moments (refresh, poll) in the sorted sets of its partition, against a BullMQ job
 * scheduler per account and kind, as the library's own documentation would have it.
 */
export const dueMoments: Figure = {
  id: 'P7',
  rows: [
    {
      what: 'due sets: when to refresh and when to poll, against a job scheduler for each; lower is better',
      unit: 'Redis bytes per account',
      goal: { of: 'ours', atMost: 230 },
    },
  ],
  open: async () => {
    const gauge = await openMemoryGauge()
    const scheduleAll = () => schedule(gauge.url)
    // Scripts and tables that a server keeps for good are no account's bytes.
    await gauge.growth(fillDueSets)
    await gauge.growth(scheduleAll)
    return {
      ours: async () => [(await gauge.growth(fillDueSets)) / ACCOUNTS],
      reference: async () => [(await gauge.growth(scheduleAll)) / SCHEDULED_ACCOUNTS],
      close: () => gauge.close(),
    }
  },
}

async function fillDueSets(store: Store): Promise<void> {
  const keys = createKeys('bench')
  await inTurns(ACCOUNTS, async (hubId, n) => {
    const { due } = keys.partition(keys.partitionOf(hubId))
    await Promise.all([
      store.zadd(due.refresh, Date.now() + n * 97, hubId),
      store.zadd(due.poll, Date.now() + n * 89, hubId),
    ])
  })
}

async function schedule(url: string): Promise<void> {
  const connection = connectRedis({ kind: 'url', url: new Secret(url) }, 'queues', () => {})
  for (const kind of ['refresh', 'poll']) {
    const queue = new Queue(kind, { connection: connection as Redis })
    await inTurns(SCHEDULED_ACCOUNTS, async (hubId) => {
      await queue.upsertJobScheduler(`${kind}:${hubId}`, { every: 900_000 }, { name: kind, data: { hubId } })
    })
    await queue.close()
  }
  connection.disconnect()
}

/** Ids as long as real ones, of accounts in no order. */
async function inTurns(count: number, work: (hubId: number, n: number) => Promise<void>): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    await Promise.all(Array.from({ length: AT_ONCE }, (_, n) => work(20_000_000 + (from + n) * 7_919, from + n)))
  }
}
