import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'

const DAY_MS = 86_400_000
/** Polls come every second at the most often; within a week's worth of minutes they must come sooner. */
const SOONEST_MS = 1_600
/** Whose next turn is planned is due now. Who is claimed stands further ahead, and is left alone. */
const FORWARD = `
for _, hubId in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], ARGV[2])) do
  redis.call('ZADD', KEYS[1], 'XX', ARGV[1], hubId)
end`

export async function hurryPolls(store: Store, keys: Keys): Promise<void> {
  const now = Date.now()
  await store.eval(FORWARD, 1, keys.due.poll, now, now + SOONEST_MS)
}

/** What comes once a day comes again: histories are thinned out, digests are sent. */
export async function beginNextDay(store: Store, keys: Keys): Promise<void> {
  const commands = store.pipeline()
  for (const hubId of await store.zrange(keys.due.history, 0, '-1')) {
    commands.zincrby(keys.due.history, -DAY_MS, hubId)
  }
  for (const receiver of await store.zrange(keys.digests.sent, 0, '-1')) {
    commands.zincrby(keys.digests.sent, -DAY_MS, receiver)
  }
  await commands.exec()
}
