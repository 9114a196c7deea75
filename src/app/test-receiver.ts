import { randomBytes } from 'node:crypto'
import type { Config } from '../../config/schema/schema.ts'
import { testMessage } from '../alerts/kinds/delivery-alert.ts'
import { AuditLog } from '../audit/audit-log.ts'
import type { Who } from '../audit/audited.ts'
import type { AttemptOutcome } from '../delivery/receiver.ts'
import { ReceiverStore } from '../delivery/receiver-health.ts'
import { receiverKind } from '../delivery/receivers/all-receivers.ts'
import type { ShownMessage } from '../delivery/receivers/receiver-kind.ts'
import { type SampleName, sampleLinks, sampleMessage } from '../delivery/templates/sample-messages.ts'
import { connectRedis, type Store } from '../redis/connect.ts'
import { createKeys } from '../redis/keys.ts'
import type { Clock } from '../runtime/clock.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger, type Logger } from '../runtime/logger.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import { createReceiver } from './receivers.ts'
import { openRedis } from './stores.ts'

export interface ReceiverTest {
  outcome: AttemptOutcome
  ms: number
  /** `enabled`: it was switched off before; `away`: without a Redis nothing could be noted. */
  noted: 'recorded' | 'enabled' | 'away'
  /** The remedy, where it failed. */
  fix: string | undefined
}

type Noted = ReceiverTest['noted']
/** Notes the outcome. */
export type Notes = (work: (store: ReceiverStore) => Promise<Noted>) => Promise<Noted>

export function noteTest(audit: AuditLog, name: string, { outcome }: ReceiverTest, who: Who): Promise<void> {
  return audit.note({ action: 'receiver.tested', who, subject: name, detail: outcome.outcome })
}

interface TestedReceiver {
  config: Config
  name: string
  settings: Config['receivers'][string]
  proxyFor?: ProxyFor | undefined
}

/**
 * The message that the receiver would get about such an alert. Nothing is sent, and no data are read: links are not
 * signed.
 */
export async function showMessage(
  { config, name, settings }: TestedReceiver,
  kind: SampleName,
  now: number,
): Promise<ShownMessage> {
  const receiver = createReceiver(config, name, settings, { links: sampleLinks(config.http.publicUrl) })
  try {
    return receiver.show(sampleMessage(kind), now)
  } finally {
    await receiver.close()
  }
}

/** Sends one test message now, through the very receiver that the daemon sends through, and notes the outcome. */
export async function testReceiver(
  { config, name, settings, proxyFor }: TestedReceiver,
  clock: Clock,
  stop: AbortSignal,
  notes: Notes,
): Promise<ReceiverTest> {
  const receiver = createReceiver(config, name, settings, { proxyFor })
  try {
    const id = `msg_${randomBytes(12).toString('hex')}`
    const startedAt = clock.now()
    const message = testMessage(name, startedAt, `${config.http.publicUrl}/deliveries`)
    const outcome = await receiver.send({ id, message, now: startedAt }, stop)
    const now = clock.now()
    const ms = Math.max(0, now - startedAt)
    const noted = await notes((store) => store.recordTest({ id, receiver: name, ms, now }, outcome))
    const isDelivered = outcome.outcome === 'delivered'
    const { answer } = outcome
    const fix = isDelivered ? undefined : receiverKind(settings).wayOut(`receivers.${name}`, answer, outcome.reason)
    return { outcome, ms, noted, fix }
  } finally {
    await receiver.close()
  }
}

/** For a command: a receiver is tried whether there is a Redis or not. */
export async function testBeside(
  test: TestedReceiver,
  { clock, stop, log }: { clock: Clock; stop: AbortSignal; log: Logger },
  who: Who,
): Promise<ReceiverTest> {
  const { config, name } = test
  const lifecycle = new Lifecycle()
  const openStore = async () => {
    const quiet = createLogger({ level: 'silent', pretty: false })
    const store = connectRedis(await openRedis({ config, clock, log: quiet }, lifecycle), 'pages', () => {})
    lifecycle.onClose('the Redis connection', () => store.disconnect())
    return store
  }
  const keys = createKeys(config.redis.prefix)
  let store: Store | undefined
  const notes: Notes = async (work) => {
    try {
      store = await openStore()
      return await work(new ReceiverStore(store, keys))
    } catch {
      return 'away'
    }
  }
  try {
    const tested = await testReceiver(test, clock, stop, notes)
    if (store !== undefined) await noteTest(new AuditLog({ store, keys, clock, log }), name, tested, who)
    return tested
  } finally {
    await lifecycle.close()
  }
}
