import type { Config } from '../../config/schema.ts'
import { describeFailing, judgeReceiver, ReceiverStore } from '../delivery/receiver-health.ts'
import { receiverKind } from '../delivery/receivers/all-receivers.ts'
import type { Keys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { type Finding, fail, ok, type RedisConnection, warn } from './check.ts'

const TIMEOUT_MS = 4_000

/** Whether messages could be delivered there just now; nothing is sent. */
export async function checkReceiver(
  receiver: string,
  settings: Config['receivers'][string],
  signal: AbortSignal,
): Promise<Finding> {
  const name = `receiver.${receiver}`
  const how = { place: `receivers.${receiver}`, timeoutMs: TIMEOUT_MS, signal }
  const reached = await receiverKind(settings).reach(settings, how)
  const { host } = reached
  return reached.is === 'ok'
    ? ok(name, `${host} takes ${reached.takes}`)
    : fail(name, `${host}: ${reached.why}`, reached.fix)
}

const DELIVERIES = 'deliveries'

/** How the receivers have fared with what the daemon sent them. */
export async function checkReceivers(
  redis: RedisConnection,
  keys: Keys,
  unprovenAfterMs: number | 'never',
  clock: Clock,
): Promise<Finding[]> {
  const healths = await redis.store.then((store) => new ReceiverStore(store, keys).read()).catch(() => undefined)
  if (healths === undefined) return [warn(DELIVERIES, 'not known: Redis does not answer')]
  const troubles = healths.flatMap((health) => {
    const trouble = judgeReceiver(health, { unprovenAfterMs }, clock.now())
    if (trouble !== undefined) return [trouble.message]
    return health.failingSince === undefined ? [] : [describeFailing(health, health.failingSince)]
  })
  if (troubles.length > 0) return troubles.map((message) => warn(DELIVERIES, message))
  return [ok(DELIVERIES, healths.length === 0 ? 'nothing was sent so far' : 'no receiver is known to fail')]
}
