import { createHmac } from 'node:crypto'
import type { Secret } from '../../../runtime/secret.ts'
import type { Receiver } from '../../receiver.ts'
import { createPost, type PostOptions } from '../http-post.ts'
import type { BodyContext, BodyOf } from '../receiver-kind.ts'
import { slackBody } from '../slack/slack-body.ts'
import { alertmanagerBody } from './alertmanager.ts'
import { plimsollBody } from './plimsoll.ts'

export interface WebhookOptions extends PostOptions {
  /** None: it is not signed. */
  secrets: Secret[]
  format: WebhookFormat
  /** What a body may have beside the message. */
  context: Omit<BodyContext, 'receiver'>
}

/** A receiver that gets each message as a signed POST. Throws if URL or secrets can't be used. */
export function createWebhookReceiver(options: WebhookOptions): Receiver {
  const { name } = options
  const bodyOf = BODIES[options.format]
  const context = { ...options.context, receiver: name }
  const { post, ...asIs } = createPost(options)
  const keys = options.secrets.map(signingKey)
  return {
    ...{ name, type: 'webhook', ...asIs },
    send({ id, message, now }, signal) {
      const body = bodyOf(message, context)
      const timestamp = Math.floor(now / 1000)
      const headers = {
        'webhook-id': id,
        'webhook-timestamp': String(timestamp),
        ...(keys.length > 0 && { 'webhook-signature': sign(keys, id, timestamp, body) }),
      }
      return post({ body, headers, now, signal })
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

export type WebhookFormat = 'plimsoll' | 'alertmanager' | 'slack'

const BODIES: Record<WebhookFormat, BodyOf> = {
  plimsoll: plimsollBody,
  alertmanager: alertmanagerBody,
  slack: slackBody,
}
