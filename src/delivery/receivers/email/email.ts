import * as z from 'zod'
import { isThisMachine } from '../../../../config/schema/addresses.ts'
import { checkPlainHttp, mailAddress, secret, secretAddress, webAddress } from '../../../../config/schema/secrets.ts'
import { asGroup, plainText, related, toggle } from '../../../../config/schema/values.ts'
import type { ProxyFor } from '../../../runtime/outgoing-proxy.ts'
import { Secret } from '../../../runtime/secret.ts'
import { messageFor } from '../../describe/for-customer.ts'
import type { MailLinks } from '../../describe/mail-links.ts'
import { messageTemplate } from '../../templates/message-template.ts'
import { escapeLinks } from '../../templates/own-links.ts'
import { digest, templates } from '../common-settings.ts'
import type { Reach, Reached, ReceiverKind, SettingsOf } from '../receiver-kind.ts'
import { createEmailReceiver, type EmailOptions } from './send-email.ts'
import { ehloName } from './smtp.ts'

/**
 * The longest that fits: two attempts must fit into a claim. A mail that a slow server takes after that comes a second
 * time.
 */
const TIMEOUT_MS = 25_000

/** Longest body by a template: mail programs cut off a mail of more than about 100 kB, and its HTML part is larger. */
const MOST_OWN_BODY = 40_000

const EHLO_NAME = /^([a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*|\[(IPv6:)?[0-9a-f.:]+\])$/i

const recipients = z.union([
  z.literal('account'),
  z
    .array(mailAddress(), { error: () => 'must be a list of addresses, or account' })
    .min(1, 'must have at least one address'),
])

const oauth2 = z.strictObject({
  tokenUrl: webAddress({ strip: false }).describe('Where access tokens come from.'),
  clientId: plainText().describe('The client id.'),
  clientSecret: secret().describe('The client secret.'),
  scope: plainText().describe('Scope of the tokens: https://outlook.office365.com/.default.'),
  user: plainText().describe('The mailbox that logs in.'),
})

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
  name: plainText(EHLO_NAME, 'must be a host name, or an IP address in brackets')
    .exactOptional()
    .describe(
      'The name of this machine, as it names itself to the mail server (EHLO). Default: the host of http.publicUrl.',
    ),
  oauth2: oauth2
    .exactOptional()
    .describe('Login by an access token (XOAUTH2, client credentials), for servers that take no password.'),
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

const emailSettings = related(settings, (given, report) => {
  const { to, digest, smtp, oauth2 } = given
  if (oauth2 !== undefined) {
    const { username = '', password = '' } = URL.parse(smtp instanceof Secret ? smtp.reveal() : '') ?? {}
    if (username !== '' || password !== '') report(['smtp'], 'must be without user and password beside oauth2')
    checkPlainHttp({ ...asGroup(oauth2), insecure: given.insecure }, ['tokenUrl'], (path, message) =>
      report(['oauth2', ...path], message),
    )
  }
  if (to === 'account' && digest !== undefined) report(['digest'], 'is about many accounts: not with to: account')
})

type EmailSettings = SettingsOf<typeof emailSettings>

export const email = {
  settings: emailSettings,
  toPeople: true,
  create(settings, { receiver, home, links = {}, addresseeOf, proxyFor }) {
    const textsOf = messageTemplate(settings.template, { escapeField: escapeLinks(home), mostBytes: MOST_OWN_BODY })
    const contextFor = (shown: MailLinks) => ({ receiver, home: shown.isForCustomer ? '' : home, links: shown })
    return createEmailReceiver({
      ...serverOf(settings, { name: receiver, home, proxyFor }),
      links,
      ...(addresseeOf !== undefined && { addresseeOf }),
      textsFor: (message, shown) => textsOf(messageFor(message, shown), contextFor(shown)),
      timeoutMs: TIMEOUT_MS,
    })
  },
  reach: reachMailServer,
  wayOut: mailWayOut,
} satisfies ReceiverKind<EmailSettings>

type Place = { name: string; home: string; proxyFor?: ProxyFor | undefined }

function serverOf(settings: EmailSettings, { name, home, proxyFor }: Place): EmailOptions {
  const { smtp, from, to, oauth2 } = settings
  return {
    name,
    ehlo: settings.name ?? ehloName(home),
    smtp,
    ...(oauth2 !== undefined && { oauth2: { ...oauth2, proxyFor } }),
    from,
    to: to === 'account' ? to : [...to],
    tls: mailEncryption(settings),
  }
}

/** Logs in as a mail would; nothing is sent. */
async function reachMailServer(mail: EmailSettings, { place, home, timeoutMs, proxyFor }: Reach): Promise<Reached> {
  const { host } = new URL(mail.smtp.reveal())
  const receiver = createEmailReceiver({ ...serverOf(mail, { name: place, home, proxyFor }), timeoutMs })
  const failed = await receiver.verify().finally(() => receiver.close())
  if (failed === undefined) return { is: 'ok', host, result: 'login OK' }
  const { reason, answer } = failed
  return { is: 'failed', host, why: reason, fix: mailWayOut(place, answer, reason) }
}

/** Encryption of a mail: in the clear, over smtp://, only within this machine or where the config allows it. */
export function mailEncryption({ smtp, insecure }: { smtp: Secret; insecure: boolean }): 'required' | 'optional' {
  return insecure || isThisMachine(new URL(smtp.reveal()).hostname) ? 'optional' : 'required'
}

/** Many servers refuse the name of EHLO only at the first recipient. */
function mailWayOut(place: string, answer: number | undefined, reason: string): string {
  if (answer !== undefined && /\b(ehlo|helo)\b/i.test(reason))
    return `set ${place}.name to the host name of this machine that DNS knows: the mail server does not take the present one`
  if (/^no access token\b/.test(reason)) return `check tokenUrl, clientId, clientSecret and scope in ${place}.oauth2`
  if (answer === undefined) return `check host and port in ${place}.smtp, and that this machine may connect to it`
  if (answer === 530 || answer === 534 || answer === 535)
    return `check user and password in ${place}.smtp, or ${place}.oauth2`
  if (answer >= 400 && answer < 500) return 'the mail server wants to be asked again later: try again in some minutes'
  return `check ${place}.from and ${place}.to: the mail server does not take such a mail`
}
