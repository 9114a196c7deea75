import { mailEncryption } from '../../config/receivers.ts'
import type { Config } from '../../config/schema.ts'
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
      receivers.set(name, createEmailReceiver({ name, smtp, from, to: [...to], tls, timeoutMs: 20_000 }))
    } else {
      receivers.set(name, createWebhookReceiver({ name, url: receiver.url, secrets: [...receiver.secrets] }))
    }
  }
  lifecycle.onClose('the receivers', async () => {
    await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
  })
  return receivers
}
