import { randomBytes } from 'node:crypto'
import { testMessage } from '../alerts/kinds/delivery-alert.ts'
import { receiverKind } from '../delivery/receivers/all-receivers.ts'
import { sampleLinks, sampleMessage } from '../delivery/templates/sample-messages.ts'
import type { Actions } from '../operations/actions.ts'
import { isRedisAway } from '../redis/away.ts'
import { createReceiver } from './receivers.ts'
import type { Services } from './services.ts'

/** How long a request for a test waits for a slow receiver. */
const TEST_WAIT_MS = 10_000

/** Actions on receivers. `stop` ends a test. */
export function actionsOnReceivers({ config, clock, receivers, receiverStore, audit }: Services, stop: AbortSignal) {
  const settingsOf = (name: string) => (Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined)
  return {
    /** Through the very receiver that the daemon sends through, whether there is a Redis that notes the outcome or not. */
    async testReceiver(name, who) {
      const [settings, receiver] = [settingsOf(name), receivers.get(name)]
      if (settings === undefined || receiver === undefined) return undefined
      const id = `msg_${randomBytes(12).toString('hex')}`
      const startedAt = clock.now()
      const message = testMessage(name, startedAt, `${config.http.publicUrl}/deliveries`)
      const ended = AbortSignal.any([stop, AbortSignal.timeout(TEST_WAIT_MS)])
      const outcome = await receiver.send({ id, message, now: startedAt }, ended)
      const now = clock.now()
      const ms = Math.max(0, now - startedAt)
      const noted = await receiverStore.recordTest({ id, receiver: name, ms, now }, outcome).catch((error: unknown) => {
        if (isRedisAway(error)) return 'away' as const
        throw error
      })
      if (noted !== 'away') await audit.note({ action: 'receiver.tested', who, subject: name, detail: outcome.outcome })
      if (outcome.outcome === 'delivered') return { outcome, ms, noted, fix: undefined }
      const fix = receiverKind(settings).wayOut(`receivers.${name}`, outcome.answer, outcome.reason)
      return { outcome, ms, noted, fix }
    },
    /** Nothing is sent, and no data are read: links are not signed. */
    async showTestMessage(name, kind) {
      const settings = settingsOf(name)
      if (settings === undefined) return undefined
      const receiver = createReceiver(config, name, settings, { links: sampleLinks(config.http.publicUrl) })
      try {
        return receiver.show(sampleMessage(kind), clock.now())
      } finally {
        await receiver.close()
      }
    },
  } satisfies Partial<Actions>
}
