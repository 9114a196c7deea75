import { randomBytes } from 'node:crypto'
import type { Config } from '../../config/schema/schema.ts'
import { testMessage } from '../alerts/kinds/delivery-alert.ts'
import type { Who } from '../audit/audited.ts'
import type { AttemptOutcome } from '../delivery/receiver.ts'
import type { ReceiverStore } from '../delivery/receiver-health.ts'
import { receiverKind } from '../delivery/receivers/all-receivers.ts'
import type { ShownMessage } from '../delivery/receivers/receiver-kind.ts'
import { type SampleName, sampleLinks, sampleMessage } from '../delivery/templates/sample-messages.ts'
import { isRedisAway } from '../redis/away.ts'
import type { Clock } from '../runtime/clock.ts'
import type { ProxyFor } from '../runtime/outgoing-proxy.ts'
import { createReceiver } from './receivers.ts'
import type { Services } from './services.ts'

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
type Notes = (work: (store: ReceiverStore) => Promise<Noted>) => Promise<Noted>

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
async function showMessage(
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
async function sendTest(
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

/** How long a request for a test waits for a slow receiver. */
const TEST_WAIT_MS = 10_000

/** The receiver of this name: it is tried whether there is a Redis that notes it or not. Undefined: none has the name. */
export async function testNamed(
  { config, clock, proxyFor, receiverStore, audit }: Services,
  name: string,
  stop: AbortSignal,
  who: Who,
): Promise<ReceiverTest | undefined> {
  const settings = settingsOf(config, name)
  if (settings === undefined) return undefined
  const ended = AbortSignal.any([stop, AbortSignal.timeout(TEST_WAIT_MS)])
  const notes: Notes = (work) =>
    work(receiverStore).catch((error: unknown) => {
      if (isRedisAway(error)) return 'away'
      throw error
    })
  const tested = await sendTest({ config, name, settings, proxyFor }, clock, ended, notes)
  if (tested.noted !== 'away')
    await audit.note({ action: 'receiver.tested', who, subject: name, detail: tested.outcome.outcome })
  return tested
}

/** The message that a receiver would get about such an alert. Undefined: none has the name. */
export async function showNamed(
  { config, clock }: Pick<Services, 'config' | 'clock'>,
  name: string,
  kind: SampleName,
): Promise<ShownMessage | undefined> {
  const settings = settingsOf(config, name)
  return settings && showMessage({ config, name, settings }, kind, clock.now())
}

function settingsOf({ receivers }: Config, name: string): Config['receivers'][string] | undefined {
  return Object.hasOwn(receivers, name) ? receivers[name] : undefined
}
