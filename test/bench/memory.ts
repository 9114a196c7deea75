import { Queue } from 'bullmq'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { reportsOf } from '../support/large-reports.ts'
import { accessTokenOf, eachAccount, FIRST_HUB_ID, refreshTokenOf } from '../support/many-accounts.ts'
import { startRedis } from '../support/redis-server.ts'
import type { Figure } from './figure.ts'
import { openOurs } from './ours.ts'
import type { Lot } from './side.ts'

const POLLED: Lot = { accounts: 200, inFlight: 64, refreshShare: 1, polls: true, answers: { changed: 0.1 } }
const SAMPLED = 20
const DUE_ACCOUNTS = 10_000
/** Job schedulers take long to make, and each costs as much as the one before it. */
const SCHEDULED_ACCOUNTS = 200
const DUE = 'due set bytes per account'
const RECORD = 'record bytes per account'
const PLAIN = 'what people write'

/**
 * P7, by MEMORY USAGE: an account's due moments, against a BullMQ job scheduler for each; and every key that has an
 * account's id in its name, after some polls, against tokens and last answers as one JSON.
 */
export const memory: Figure = {
  rows: [
    { id: 'P7', what: 'due sets, against job schedulers; lower is better', unit: DUE, value: 0, against: PLAIN },
    { id: 'P7', what: 'an account after polls, against JSON in clear', unit: RECORD, value: 1, against: PLAIN },
  ],
  rounds: 1,
  open: async () => {
    const [side, redis] = [await openOurs(POLLED), await startRedis()]
    const store = redis.connect()
    return {
      ours: async () => {
        await side.prepare()
        await side.work()
        const records = await bytesOf(side.store, await namesFor(side.store, '*:ID*'))
        return [(await bytesOf(store, await fillDueSets(store))) / DUE_ACCOUNTS, records / SAMPLED]
      },
      references: {
        [PLAIN]: async () => {
          await schedule(redis.url)
          await eachAccount(store, { from: 0, count: SAMPLED }, (commands, hubId) => {
            const tokens = { accessToken: accessTokenOf(hubId), refreshToken: refreshTokenOf(hubId) }
            commands.set(`plain-${hubId}`, JSON.stringify({ ...tokens, ...reportsOf(hubId) }))
          })
          const schedulers = await bytesOf(store, await store.keys('bull:*'))
          const texts = await bytesOf(store, await namesFor(store, 'plain-ID'))
          return [schedulers / SCHEDULED_ACCOUNTS, texts / SAMPLED]
        },
      },
      close: async () => {
        await side.close()
        await redis.stop()
      },
    }
  },
}

async function fillDueSets(store: Store): Promise<string[]> {
  const { due } = createKeys('due')
  await eachAccount(store, { from: 0, count: DUE_ACCOUNTS }, (commands, hubId) => {
    commands.zadd(due.refresh, Date.now() + hubId * 97, hubId)
    commands.zadd(due.poll, Date.now() + hubId * 89, hubId)
    commands.zadd(due.history, Date.now() + hubId * 83, hubId)
  })
  return [due.refresh, due.poll, due.history]
}

async function schedule(url: string): Promise<void> {
  for (const kind of ['refresh', 'poll']) {
    const queue = new Queue(kind, { connection: { url } })
    for (let hubId = 1; hubId <= SCHEDULED_ACCOUNTS; hubId++) {
      await queue.upsertJobScheduler(`${kind}:${hubId}`, { every: 900_000 }, { name: kind, data: { hubId } })
    }
    await queue.close()
  }
}

async function namesFor(store: Store, pattern: string): Promise<string[]> {
  const ids = Array.from({ length: SAMPLED }, (_, n) => String(FIRST_HUB_ID + n))
  return (await Promise.all(ids.map((id) => store.keys(pattern.replace('ID', id))))).flat()
}

async function bytesOf(store: Store, names: readonly string[]): Promise<number> {
  const sizes = await Promise.all(names.map((name) => store.memory('USAGE', name, 'SAMPLES', 0)))
  return sizes.reduce<number>((sum, size) => sum + (size ?? 0), 0)
}
