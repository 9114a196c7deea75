import * as z from 'zod'
import { bytesInBase64, secret } from '../../../../config/schema/secrets.ts'
import { asGroup, oneOrMany } from '../../../../config/schema/values.ts'
import type { Secret } from '../../../runtime/secret.ts'
import { digest, insecureHttp, postAddress, posted } from '../common-settings.ts'
import { postWayOut } from '../http-post.ts'
import { reachAddress } from '../reach-address.ts'
import type { ReceiverKind, SettingsOf } from '../receiver-kind.ts'
import { payload } from './payload.ts'
import { createWebhookReceiver } from './send-webhook.ts'

const webhookSettings = posted(
  z.strictObject({
    type: z.literal('webhook').describe('A signed POST per group of alerts.'),
    url: postAddress().describe('Where it is posted to.'),
    secrets: oneOrMany(secret({ fault: secretFault }), 0)
      .prefault([])
      .describe(
        'What it is signed with, in base64 (openssl rand -base64 32). Several at once while they are rotated. Required ' +
          'for the format plimsoll.',
      ),
    format: z
      .enum(['plimsoll', 'alertmanager'])
      .prefault('plimsoll')
      .describe("The shape of the body: Plimsoll's own, or that of Alertmanager's webhooks (version 4)."),
    headers: z
      .record(z.string(), secret())
      .exactOptional()
      .describe(
        'More headers of each POST, for a service or a proxy that asks for them: a name, and what is never shown.',
      ),
    payload: payload()
      .exactOptional()
      .describe(
        'The body in a shape of your own: a group whose texts are Liquid templates ' +
          '([what they may name](#template-fields)), so that it is always valid JSON. A text that is one field keeps its type.',
      ),
    events: z
      .array(z.enum(['alerts', 'accounts']))
      .min(1, 'must have at least one')
      .exactOptional()
      .describe(
        'What is sent: alerts, with their acknowledgements; accounts, one message for each that was connected, must reconnect, ' +
          'works again or was uninstalled. Without it alerts, without acknowledgements.',
      ),
    digest: digest().exactOptional(),
    insecure: insecureHttp(),
  }),
  (given, report) => {
    for (const name of Object.keys(asGroup(given.headers))) {
      const fault = headerFault(name)
      if (fault !== undefined) report(['headers', name], fault)
    }
    if (given.events !== undefined && given.format !== 'plimsoll')
      report(['events'], "has a meaning in Plimsoll's own format alone: leave format out, or events")
    if (given.payload !== undefined && given.format !== 'plimsoll')
      report(['payload'], 'is a shape of its own: leave format out')
    if (
      given.payload === undefined &&
      given.format === 'plimsoll' &&
      Array.isArray(given.secrets) &&
      given.secrets.length === 0
    )
      report(['secrets'], 'must have at least one: openssl rand -base64 32; for Slack write type: slack instead')
  },
)

export const webhook = {
  settings: webhookSettings,
  create: ({ url, secrets, headers, format, payload }, context) =>
    createWebhookReceiver({ name: context.receiver, url, secrets, headers, format, payload, context }),
  takes({ events }) {
    if (events === undefined) return ['alerts']
    return events.flatMap((name) => (name === 'alerts' ? (['alerts', 'acknowledgements'] as const) : ['accounts']))
  },
  reach: reachAddress,
  wayOut: (place, answer) =>
    answer !== undefined && answer >= 400 && ![401, 403].includes(answer)
      ? postWayOut(place, answer, 'format')
      : postWayOut(place, answer, 'secrets'),
  *advise({ url, secrets, format, payload }) {
    const path = ['format']
    if (isSlack(url) && payload === undefined) {
      const message = `Slack refuses messages in the format ${format}: use type: slack, which needs no secrets`
      yield { path, message }
    }
    for (const [index, one] of secrets.entries()) {
      if ((bytesInBase64(bare(one.reveal())) ?? 0) >= 24) continue
      const message = 'shorter than 24 bytes: easy to guess; to make a better one: openssl rand -base64 32'
      yield { path: ['secrets', index], message }
    }
  },
} satisfies ReceiverKind<SettingsOf<typeof webhookSettings>>

/** Set by what sends it, or what a receiver trusts as ours. */
const TAKEN =
  /^(webhook-.*|content-.*|host|connection|keep-alive|transfer-encoding|te|trailer|upgrade|expect|user-agent)$/i

function headerFault(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(name)) return 'must be the name of a header: letters, digits and -'
  return TAKEN.test(name) ? 'is set by Plimsoll itself: leave it out' : undefined
}

function isSlack(url: Secret): boolean {
  return /(^|\.)slack(-gov)?\.com$/.test(URL.parse(url.reveal())?.hostname ?? '')
}

const bare = (key: string) => key.replace(/^whsec_/, '')

function secretFault(key: string): string | undefined {
  return bytesInBase64(bare(key)) === undefined ? 'must be in base64; to make one: openssl rand -base64 32' : undefined
}
