import { judgeReceiver, ReceiverStore } from '../delivery/receiver-health.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, ok, warn } from './finding.ts'
import type { RedisConnection } from './installation.ts'

const NAME = 'deliveries'

/** How the receivers have fared with what the daemon sent them. */
export async function checkReceivers(
  redis: RedisConnection,
  keys: Keys,
  unprovenAfterMs: number | 'never',
  clock: Clock,
): Promise<Finding[]> {
  const healths = await redis.store.then((store) => new ReceiverStore(store, keys).read()).catch(() => undefined)
  if (healths === undefined) return [warn(NAME, 'not known: Redis does not answer')]
  const troubles = healths.flatMap((health) => judgeReceiver(health, { unprovenAfterMs }, clock.now()) ?? [])
  if (troubles.length > 0) return troubles.map(({ message }) => warn(NAME, message))
  return [ok(NAME, healths.length === 0 ? 'nothing was sent so far' : 'no receiver is known to fail')]
}
