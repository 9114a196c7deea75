import { randomBytes } from 'node:crypto'
import type { Config } from '../../config/schema.ts'
import { testMessage } from '../alerts/kinds/test-message.ts'
import type { AttemptOutcome } from '../delivery/receiver.ts'
import { ReceiverStore } from '../delivery/receiver-store.ts'
import { connectRedis } from '../redis/connect.ts'
import { createKeys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger } from '../runtime/logger.ts'
import { openRedis } from './parts.ts'
import { createReceiver } from './receivers.ts'

export interface ReceiverTest {
  outcome: AttemptOutcome
  ms: number
  /** `enabled`: it was switched off before; `away`: without a Redis nothing could be noted. */
  noted: 'recorded' | 'enabled' | 'away'
}

/** Sends one test message now, through the very receiver that the daemon sends through, and notes what came of it. */
export async function testReceiver(
  config: Config,
  name: string,
  settings: Config['receivers'][string],
  clock: Clock,
  stop: AbortSignal,
): Promise<ReceiverTest> {
  const { id, outcome, ms } = await sendTest(config, name, settings, clock, stop)
  const noted = await note(config, clock, (store) => store.recordTest(id, name, outcome, ms, clock.now()))
  return { outcome, ms, noted }
}

/** The same without a note. */
export async function sendTest(
  config: Config,
  name: string,
  settings: Config['receivers'][string],
  clock: Clock,
  stop: AbortSignal,
): Promise<{ id: string; outcome: AttemptOutcome; ms: number }> {
  const receiver = createReceiver(config, name, settings)
  try {
    const id = `msg_${randomBytes(12).toString('hex')}`
    const startedAt = clock.now()
    const message = testMessage(name, 'asked', startedAt, `${config.http.publicUrl}/deliveries`)
    const outcome = await receiver.send({ id, message, now: startedAt }, stop)
    return { id, outcome, ms: Math.max(0, clock.now() - startedAt) }
  } finally {
    await receiver.close()
  }
}

async function note<T>(config: Config, clock: Clock, work: (store: ReceiverStore) => Promise<T>): Promise<T | 'away'> {
  const lifecycle = new Lifecycle()
  try {
    const log = createLogger({ level: 'silent', pretty: false })
    const store = connectRedis(await openRedis(config, clock, log, lifecycle), 'pages', () => {})
    lifecycle.onClose('the Redis connection', () => store.disconnect())
    return await work(new ReceiverStore(store, createKeys(config.redis.prefix)))
  } catch {
    return 'away'
  } finally {
    await lifecycle.close()
  }
}
