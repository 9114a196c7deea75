import { mailEncryption } from '../../config/receivers.ts'
import type { Config } from '../../config/schema.ts'
import type { MailLinks } from '../delivery/email/mail-links.ts'
import { createEmailReceiver } from '../delivery/email/send-email.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { createWebhookReceiver } from '../delivery/webhook/send-webhook.ts'
import { messageLinks } from './mail-links.ts'

/** As long as can be: what a slow server takes after that comes a second time. Two of them fit into a claim. */
const MAIL_TIMEOUT_MS = 25_000

/** Whoever makes them closes them. */
export function createReceivers(config: Config, links: MailLinks): Map<string, Receiver> {
  return new Map(
    Object.entries(config.receivers).map(([name, settings]) => [name, createReceiver(config, name, settings, links)]),
  )
}

/** One receiver; whoever makes it closes it. */
export function createReceiver(
  config: Config,
  name: string,
  settings: Config['receivers'][string],
  links: MailLinks = {},
): Receiver {
  if (settings.type === 'email') {
    const { smtp, from, to } = settings
    const how = {
      tls: mailEncryption(settings),
      timeoutMs: MAIL_TIMEOUT_MS,
      links,
    }
    return createEmailReceiver({ name, smtp, from, to: [...to], ...how })
  }
  const { url, secrets, format } = settings
  const { http, alerts } = config
  const context = { home: `${http.publicUrl}/`, groupBy: alerts.group.by, links: messageLinks(config) }
  return createWebhookReceiver({ name, url, secrets: [...secrets], format, context })
}
