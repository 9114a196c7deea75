import { mailEncryption } from '../../config/receivers.ts'
import type { Config } from '../../config/schema.ts'
import { createEmailReceiver } from '../delivery/email/send-email.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { createWebhookReceiver } from '../delivery/webhook/send-webhook.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'

export function createReceivers(config: Config, lifecycle: Lifecycle): Map<string, Receiver> {
  const receivers = new Map(
    Object.entries(config.receivers).map(([name, settings]) => [name, createReceiver(config, name, settings)]),
  )
  lifecycle.onClose('the receivers', async () => {
    await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
  })
  return receivers
}

/** One receiver; whoever makes it closes it. */
export function createReceiver(config: Config, name: string, settings: Config['receivers'][string]): Receiver {
  if (settings.type === 'email') {
    const { smtp, from, to } = settings
    return createEmailReceiver({ name, smtp, from, to: [...to], tls: mailEncryption(settings), timeoutMs: 20_000 })
  }
  const { url, secrets, format } = settings
  const context = { home: `${config.http.publicUrl}/`, groupBy: config.alerts.group.by }
  return createWebhookReceiver({ name, url, secrets: [...secrets], format, context })
}
