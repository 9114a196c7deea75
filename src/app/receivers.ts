import { mailEncryption } from '../../config/receivers.ts'
import type { Config } from '../../config/schema.ts'
import type { Alert } from '../alerts/alert.ts'
import { createEmailReceiver } from '../delivery/email/send-email.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { createWebhookReceiver } from '../delivery/webhook/send-webhook.ts'
import { mailLinks } from './mail-links.ts'

/** As long as can be: what a slow server takes after that comes a second time. Two of them fit into a claim. */
const MAIL_TIMEOUT_MS = 25_000

/** Where an alert is acknowledged; undefined where it can't be. */
export type AcknowledgeUrl = (alert: Alert) => string | undefined

/** Whoever makes them closes them. */
export function createReceivers(config: Config, acknowledge: AcknowledgeUrl): Map<string, Receiver> {
  return new Map(
    Object.entries(config.receivers).map(([name, settings]) => [
      name,
      createReceiver(config, name, settings, acknowledge),
    ]),
  )
}

/** One receiver; whoever makes it closes it. */
export function createReceiver(
  config: Config,
  name: string,
  settings: Config['receivers'][string],
  acknowledge: AcknowledgeUrl = () => undefined,
): Receiver {
  if (settings.type === 'email') {
    const { smtp, from, to } = settings
    const how = {
      tls: mailEncryption(settings),
      timeoutMs: MAIL_TIMEOUT_MS,
      links: { ...mailLinks(config), acknowledge },
    }
    return createEmailReceiver({ name, smtp, from, to: [...to], ...how })
  }
  const { url, secrets, format } = settings
  const context = { home: `${config.http.publicUrl}/`, groupBy: config.alerts.group.by }
  return createWebhookReceiver({ name, url, secrets: [...secrets], format, context })
}
