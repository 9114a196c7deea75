import * as z from 'zod'
import type { Secret } from '../src/runtime/secret.ts'
import { isThisMachine } from './addresses.ts'
import { bytesInBase64, checkPlainHttp, mailAddress, secret, secretAddress } from './secrets.ts'
import { related, timeOfDay, timeZone, toggle, weekday } from './values.ts'

const NAME = /^[A-Za-z0-9_-]{1,64}$/

const digest = () =>
  related(
    z.strictObject({
      every: z.enum(['day', 'week']).prefault('day').describe('How often.'),
      at: timeOfDay().prefault('08:00').describe('When, by the clock in `timeZone`.'),
      on: weekday().exactOptional().describe('The day of a weekly one. Default: mon.'),
      timeZone: timeZone().prefault('UTC').describe('Name of a time zone: Europe/Berlin.'),
    }),
    ({ every, on }, report) => {
      if (on !== undefined && every !== 'week') report(['on'], 'has a meaning only with every: week')
    },
  ).describe('One message every day or week with all open alerts that routes send here, also when there are none.')

const email = z.strictObject({
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
  to: z.array(mailAddress()).min(1, 'must have at least one address').describe('Who gets the messages.'),
  digest: digest().exactOptional(),
  insecure: toggle()
    .prefault(false)
    .describe(
      'Allows smtp:// without TLS, for servers in your own network. The certificate behind smtps:// is checked all the same.',
    ),
})

const webhook = related(
  z.strictObject({
    type: z.literal('webhook').describe('A signed POST per group of alerts.'),
    url: secretAddress(['https', 'http'], ({ username, password }) =>
      username === '' && password === '' ? undefined : 'must be an address without user and password',
    ).describe('Where it is posted to.'),
    secrets: z
      .array(secret({ fault: webhookSecretFault }))
      .prefault([])
      .describe(
        'What it is signed with, in base64 (openssl rand -base64 32). Several at once while they are rotated. Required ' +
          'for the format plimsoll.',
      ),
    format: z
      .enum(['plimsoll', 'alertmanager', 'slack'])
      .prefault('plimsoll')
      .describe(
        "The shape of the body: Plimsoll's own, that of Alertmanager's webhooks (version 4), or that of Slack's incoming webhooks.",
      ),
    digest: digest().exactOptional(),
    insecure: toggle().prefault(false).describe('Allows http://, for servers in your own network.'),
  }),
  (given, report) => {
    if (given.format === 'plimsoll' && Array.isArray(given.secrets) && given.secrets.length === 0)
      report(['secrets'], 'must have at least one: openssl rand -base64 32; for Slack write format: slack instead')
    checkPlainHttp(given, ['url'], report)
  },
)

export const receivers = related(
  z.record(z.string(), z.discriminatedUnion('type', [email, webhook])),
  (receivers, report) => {
    const names = Object.keys(receivers)
    if (names.length === 0) report([], 'must have at least one receiver')
    for (const name of names.filter((one) => !NAME.test(one)))
      report([name], "a receiver's name is made of letters, digits, _ and -")
  },
).meta({ minProperties: 1, propertyNames: { pattern: NAME.source } })

export type ReceiverConfig = z.output<typeof receivers>[string]

/** Whether a mail may go out in the clear, over smtp://: only within this machine, or where the config allows it. */
export function mailEncryption({ smtp, insecure }: { smtp: Secret; insecure: boolean }): 'required' | 'optional' {
  return insecure || isThisMachine(new URL(smtp.reveal()).hostname) ? 'optional' : 'required'
}

const webhookKey = (secret: string) => secret.replace(/^whsec_/, '')

function webhookSecretFault(secret: string): string | undefined {
  const bytes = bytesInBase64(webhookKey(secret))
  return bytes === undefined ? 'must be in base64; to make one: openssl rand -base64 32' : undefined
}

export function isShortWebhookSecret(secret: Secret): boolean {
  return (bytesInBase64(webhookKey(secret.reveal())) ?? 0) < 24
}
