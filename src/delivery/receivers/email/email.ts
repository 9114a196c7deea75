import * as z from 'zod'
import { isThisMachine } from '../../../../config/schema/addresses.ts'
import { mailAddress, secretAddress } from '../../../../config/schema/secrets.ts'
import { related, toggle } from '../../../../config/schema/values.ts'
import type { Secret } from '../../../runtime/secret.ts'
import { messageFor } from '../../describe/for-customer.ts'
import type { MailLinks } from '../../describe/mail-links.ts'
import { messageTemplate } from '../../templates/message-template.ts'
import { escapeLinks } from '../../templates/own-links.ts'
import { digest, templates } from '../common-settings.ts'
import type { Reach, Reached, ReceiverKind, SettingsOf } from '../receiver-kind.ts'
import { createEmailReceiver, verifyLogin } from './send-email.ts'

/**
 * The longest that fits: two attempts must fit into a claim. A mail that a slow server takes after that comes a second
 * time.
 */
const TIMEOUT_MS = 25_000

/** Longest body by a template: mail programs cut off a mail of more than about 100 kB, and its HTML part is larger. */
const MOST_OWN_BODY = 40_000

const recipients = z.union([
  z.literal('account'),
  z
    .array(mailAddress(), { error: () => 'must be a list of addresses, or account' })
    .min(1, 'must have at least one address'),
])

const settings = z.strictObject({
  type: z.literal('email').describe('One readable message per group of alerts.'),
  smtp: secretAddress(['smtps', 'smtp'], (url) =>
    /^\/?$/.test(url.pathname) && url.search === '' && url.hash === ''
      ? undefined
      : 'must be smtps://user:password@host:port and nothing more; special characters in a password are %-encoded',
  ).describe(
    'The mail server: smtps://user:password@host:465, or smtp://host:587 with STARTTLS, which is required unless the ' +
      'host is this machine or `insecure` is true. User and password are %-encoded.',
  ),
  from: mailAddress().describe('The sender.'),
  to: recipients.describe(
    'Who gets the messages. account: the contact of the account that a message is about, and nothing about any other.',
  ),
  template: templates('subject', 'body'),
  digest: digest().exactOptional(),
  insecure: toggle()
    .prefault(false)
    .describe(
      'Allows smtp:// without TLS, for servers in your own network. The certificate behind smtps:// is checked all the same.',
    ),
})

const emailSettings = related(settings, ({ to, digest }, report) => {
  if (to === 'account' && digest !== undefined) report(['digest'], 'is about many accounts: not with to: account')
})

type EmailSettings = SettingsOf<typeof emailSettings>

export const email = {
  settings: emailSettings,
  toPeople: true,
  create(settings, { receiver: name, home, links = {}, addresseeOf }) {
    const { smtp, from, to, template } = settings
    const textsOf = messageTemplate(template, { escapeField: escapeLinks(home), mostBytes: MOST_OWN_BODY })
    const contextFor = (shown: MailLinks) => ({ receiver: name, home: shown.isForCustomer ? '' : home, links: shown })
    return createEmailReceiver({
      ...{ name, smtp, from, to: to === 'account' ? to : [...to], links },
      ...(addresseeOf !== undefined && { addresseeOf }),
      textsFor: (message, shown) => textsOf(messageFor(message, shown), contextFor(shown)),
      ...{ tls: mailEncryption(settings), timeoutMs: TIMEOUT_MS },
    })
  },
  reach: reachMailServer,
  wayOut: mailWayOut,
} satisfies ReceiverKind<EmailSettings>

/** Logs in as a mail would; nothing is sent. */
async function reachMailServer(mail: EmailSettings, { place, timeoutMs }: Reach): Promise<Reached> {
  const { host } = new URL(mail.smtp.reveal())
  const why = await verifyLogin({ name: place, smtp: mail.smtp, tls: mailEncryption(mail), timeoutMs })
  if (why === undefined) return { is: 'ok', host, takes: 'the login' }
  return { is: 'failed', host, why, fix: `check user, password, host and port in ${place}.smtp` }
}

/** Encryption of a mail: in the clear, over smtp://, only within this machine or where the config allows it. */
export function mailEncryption({ smtp, insecure }: { smtp: Secret; insecure: boolean }): 'required' | 'optional' {
  return insecure || isThisMachine(new URL(smtp.reveal()).hostname) ? 'optional' : 'required'
}

function mailWayOut(place: string, answer: number | undefined): string {
  if (answer === undefined) return `check host and port in ${place}.smtp, and that this machine may connect to it`
  if (answer === 530 || answer === 534 || answer === 535) return `check user and password in ${place}.smtp`
  if (answer >= 400 && answer < 500) return 'the mail server wants to be asked again later: try again in some minutes'
  return `check ${place}.from and ${place}.to: the mail server does not take such a mail`
}
