import { createHmac } from 'node:crypto'
import type { Message } from '../../../alerts/alert.ts'
import type { Secret } from '../../../runtime/secret.ts'
import { orFault, TemplateFault } from '../../templates/liquid.ts'
import { indented } from '../body-receiver.ts'
import { createPost, type PostOptions } from '../http-post.ts'
import type { BodyContext, BodyOf, ShownReceiver } from '../receiver-kind.ts'
import { alertmanagerBody } from './alertmanager.ts'
import { payloadBody } from './payload.ts'

export interface WebhookOptions extends PostOptions {
  /** None: it is not signed. */
  secrets: readonly Secret[]
  /** Beside those that it has anyway. */
  headers?: Readonly<Record<string, Secret>> | undefined
  format: WebhookFormat
  /** A shape of its own, in place of a format. */
  payload?: unknown
  /** Parts of a body beside the message. */
  context: Omit<BodyContext, 'receiver'>
}

/** A receiver that gets each message as a signed POST. Throws if URL or secrets can't be used. */
export function createWebhookReceiver(options: WebhookOptions): ShownReceiver {
  const { name } = options
  const context = { ...options.context, receiver: name }
  const own = options.payload === undefined ? undefined : payloadBody(options.payload, context)
  const bodyOf = own?.body ?? ((message: Message) => BODIES[options.format](message, context))
  const shownOf = own?.shown ?? bodyOf
  const { post, ...asIs } = createPost({
    ...options,
    proxyFor: options.context.proxyFor,
    repeated: Object.values(options.headers ?? {}),
  })
  const keys = options.secrets.map(signingKey)
  const more = Object.entries(options.headers ?? {}).map(([header, value]) => [header.toLowerCase(), value.reveal()])
  return {
    name,
    type: 'webhook',
    ...asIs,
    async send({ id, message, now }, signal) {
      const body = orFault(() => bodyOf(message))
      if (body instanceof TemplateFault) return { outcome: 'refuse', reason: `its payload ${body.message}` }
      const timestamp = Math.floor(now / 1000)
      const headers = {
        ...Object.fromEntries(more),
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        ...(keys.length > 0 && { 'webhook-signature': sign(keys, id, timestamp, body) }),
      }
      return post({ body, headers, now, signal })
    },
    show(message) {
      const text = orFault(() => indented(shownOf(message)))
      return text instanceof TemplateFault
        ? { text: '', fault: `its payload ${text.message}` }
        : { text, fault: undefined }
    },
  }
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}(?:==)?|[A-Za-z0-9+/]{3}=?)?$/

/** The key in a secret of the form `whsec_<base64>` (the prefix may be missing). */
export function signingKey(secret: Secret): Buffer {
  const encoded = secret.reveal().replace(/^whsec_/, '')
  if (encoded === '' || !BASE64.test(encoded))
    throw new Error('a webhook secret must be base64, with or without whsec_')
  return Buffer.from(encoded, 'base64')
}

/**
 * The `webhook-signature` header of Standard Webhooks: one signature per key, so that receivers can change to a new
 * secret at leisure while both are sent.
 */
export function sign(keys: readonly Buffer[], id: string, timestamp: number, body: string): string {
  const content = `${id}.${timestamp}.${body}`
  return keys.map((key) => `v1,${createHmac('sha256', key).update(content).digest('base64')}`).join(' ')
}

export type WebhookFormat = 'plimsoll' | 'alertmanager'

const BODIES: Record<WebhookFormat, BodyOf> = {
  plimsoll: plimsollBody,
  alertmanager: alertmanagerBody,
}

/** The message as it is; what happened to an account has no alerts. */
export function plimsollBody({ type, timestamp, data }: Message): string {
  const { account } = data
  const body = { type, timestamp, data: account === undefined ? data : { account } }
  return JSON.stringify(body, (name, value) => (name === 'hublet' ? undefined : value))
}
