import { createHmac } from 'node:crypto'
import type { Secret } from '../../runtime/secret.ts'

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
