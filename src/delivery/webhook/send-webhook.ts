import { createHmac } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Agent, Dispatcher } from 'undici'
import packageJson from '../../../package.json' with { type: 'json' }
import { retryAfterMs } from '../../runtime/retry-after.ts'
import type { Secret } from '../../runtime/secret.ts'
import { formatSeconds } from '../../text/format-number.ts'
import { networkFailure } from '../network-failure.ts'
import { type AttemptOutcome, markOf, type OutgoingDelivery, type Receiver } from '../receiver.ts'
import { splitCredentials } from '../url-credentials.ts'
import { alertmanagerBody } from './alertmanager.ts'
import type { BodyContext, BodyOf } from './plimsoll.ts'
import { plimsollBody } from './plimsoll.ts'
import { slackBody } from './slack.ts'

const CONNECTIONS = 8
const MAX_ANSWER_BYTES = 64 * 1024

export interface WebhookOptions {
  name: string
  /** May carry a password or a key: nothing of it is ever shown. */
  url: Secret
  /** None: it is not signed. */
  secrets: Secret[]
  format: WebhookFormat
  /** What a body may have beside the message. */
  context: Omit<BodyContext, 'receiver'>
  /** From connecting to the last byte of the answer. */
  timeoutMs?: number
  /** Connections to use instead of its own; the caller closes them. */
  dispatcher?: Dispatcher
}

/** A receiver that gets each message as a signed POST. Throws if URL or secrets can't be used. */
export function createWebhookReceiver(options: WebhookOptions): Receiver {
  const { name, timeoutMs = 15_000 } = options
  const bodyOf = BODIES[options.format]
  const context = { ...options.context, receiver: name }
  const { url, authorization } = parseUrl(name, options.url)
  const keys = options.secrets.map(signingKey)
  // Now, and not with the first message: that may be an alert at night, on a disk that an upgrade is just writing to.
  const library = import('undici')
  library.catch(() => {}) // Whoever sends hears of it.
  let ownAgent: Agent | undefined

  async function send({ id, message, now }: OutgoingDelivery, signal: AbortSignal): Promise<AttemptOutcome> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const either = AbortSignal.any([signal, deadline])
    const body = bodyOf(message, context)
    const timestamp = Math.floor(now / 1000)
    try {
      const { Agent, request } = await library
      // Not shared: a slow receiver holds up no other.
      if (options.dispatcher === undefined) ownAgent ??= new Agent({ connections: CONNECTIONS, allowH2: false })
      const dispatcher = options.dispatcher ?? ownAgent
      const answer = await request(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': `plimsoll/${packageJson.version}`,
          'webhook-id': id,
          'webhook-timestamp': String(timestamp),
          ...(keys.length > 0 && { 'webhook-signature': sign(keys, id, timestamp, body) }),
          ...(authorization !== undefined && { authorization }),
        },
        body,
        signal: either,
        ...(dispatcher !== undefined && { dispatcher }),
      })
      await discard(answer.body, either)
      return readAnswer(answer.statusCode, firstValue(answer.headers['retry-after']), now)
    } catch (error) {
      if (signal.aborted) return { outcome: 'retry', reason: 'interrupted before there was an answer' }
      if (deadline.aborted) return { outcome: 'retry', reason: `timed out after ${formatSeconds(timeoutMs)}` }
      return { outcome: 'retry', reason: networkFailure(error) }
    }
  }

  return { name, type: 'webhook', address: markOf(url.href), send, close: async () => await ownAgent?.close() }
}

/** Credentials of the URL become a header, as browsers and curl do it. */
function parseUrl(name: string, secret: Secret): { url: URL; authorization?: string } {
  const parts = splitCredentials(secret)
  if (parts === null || !/^https?:$/.test(parts.url.protocol)) {
    throw new Error(`receiver ${name}: url must be an http(s) URL`)
  }
  const { url, user, password } = parts
  if (user === '' && password === '') return { url }
  return { url, authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

/** The status has decided; the rest is read only so that the connection can be used again, and never for long. */
async function discard(body: Dispatcher.ResponseData['body'], signal: AbortSignal): Promise<void> {
  await body.dump({ limit: MAX_ANSWER_BYTES, signal }).catch(() => undefined)
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

interface Meaning {
  from: number
  to: number
  outcome: AttemptOutcome['outcome']
  /** The next attempt waits for as long as `Retry-After` asks. */
  waits?: true
  /** In place of the status' own name. */
  why?: string
}

/** What each status means, by Standard Webhooks: the first row that has it decides. */
const MEANINGS: readonly Meaning[] = [
  { from: 100, to: 199, outcome: 'retry', why: 'no final answer' },
  { from: 200, to: 299, outcome: 'delivered' },
  { from: 300, to: 399, outcome: 'retry', why: 'redirects are not followed' },
  { from: 410, to: 410, outcome: 'disable', why: 'this receiver wants no more messages' },
  { from: 429, to: 429, outcome: 'retry', waits: true },
  { from: 503, to: 503, outcome: 'retry', waits: true },
  { from: 400, to: 599, outcome: 'retry' },
]

export function readAnswer(status: number, retryAfter: string | undefined, now: number): AttemptOutcome {
  const meaning = MEANINGS.find(({ from, to }) => status >= from && status <= to)
  if (meaning?.outcome === 'delivered') return { outcome: 'delivered', answer: status }
  const why = meaning?.why ?? STATUS_CODES[status] ?? ''
  const reason = why === '' ? `answered ${status}` : `answered ${status}: ${why}`
  if (meaning?.outcome === 'disable') return { outcome: 'disable', answer: status, reason }
  const wait = meaning?.waits === true ? retryAfterMs(retryAfter, now) : undefined
  return { outcome: 'retry', answer: status, reason, ...(wait !== undefined && { retryAfterMs: wait }) }
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
