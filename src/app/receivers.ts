import { mailEncryption } from '../../config/receivers.ts'
import type { Config } from '../../config/schema.ts'
import { recordPages } from '../delivery/email/record-page.ts'
import { createEmailReceiver } from '../delivery/email/send-email.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { createWebhookReceiver } from '../delivery/webhook/send-webhook.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'

export function createReceivers(config: Config, lifecycle: Lifecycle): Map<string, Receiver> {
  const receivers = new Map<string, Receiver>()
  for (const [name, receiver] of Object.entries(config.receivers)) {
    if (receiver.type === 'email') {
      const { smtp, from, to } = receiver
      const tls = mailEncryption(receiver)
      const links = { record: recordPages(config.provider.installUrl), rule: rulePlaces(config.thresholds) }
      receivers.set(name, createEmailReceiver({ name, smtp, from, to: [...to], tls, timeoutMs: 20_000, links }))
    } else {
      receivers.set(name, createWebhookReceiver({ name, url: receiver.url, secrets: [...receiver.secrets] }))
    }
  }
  lifecycle.onClose('the receivers', async () => {
    await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
  })
  return receivers
}

/** Several rules may go by the same name: then none of their places can be told from it. */
export function rulePlaces(rules: readonly { name: string }[]): (name: string) => string | undefined {
  return (name) => {
    const places = rules.flatMap((rule, index) => (rule.name === name ? [`thresholds[${index}]`] : []))
    return places.length === 1 ? places[0] : undefined
  }
}
