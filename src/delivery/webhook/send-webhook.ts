import type { Agent, Dispatcher } from 'undici'
import packageJson from '../../../package.json' with { type: 'json' }
import type { Secret } from '../../runtime/secret.ts'
import { formatSeconds } from '../../text/format-number.ts'
import { networkFailure } from '../network-failure.ts'
import type { AttemptOutcome, OutgoingDelivery, Receiver } from '../receiver.ts'
import { splitCredentials } from '../url-credentials.ts'
import { BODIES, type WebhookFormat } from './formats/bodies.ts'
import type { BodyContext } from './formats/format.ts'
import { readAnswer } from './read-answer.ts'
import { sign, signingKey } from './sign.ts'

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

  return { name, type: 'webhook', send, close: async () => await ownAgent?.close() }
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
