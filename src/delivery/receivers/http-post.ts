import type { Dispatcher } from 'undici'
import packageJson from '../../../package.json' with { type: 'json' }
import { networkFailure } from '../../runtime/network-failure.ts'
import { STATUS_CODES } from '../../runtime/node-http.ts'
import { failureThrough, openThrough, type ProxyFor } from '../../runtime/outgoing-proxy.ts'
import { retryAfterMs } from '../../runtime/retry-after.ts'
import { Secret } from '../../runtime/secret.ts'
import { splitCredentials } from '../../runtime/url-credentials.ts'
import { formatSeconds } from '../../text/format-number.ts'
import { type AttemptOutcome, markOf } from '../receiver.ts'
import { readWords, secretsInAddress, type Words, withHalves } from './service-words.ts'

const CONNECTIONS = 8
const MAX_ANSWER_BYTES = 64 * 1024

export interface PostOptions {
  name: string
  /** One that carries a password or a key is a secret: nothing of it is ever shown. */
  url: Secret | string
  /** Other secrets that it is sent, which its answer may repeat. */
  repeated?: readonly Secret[]
  /** From connecting to the last byte of the answer. */
  timeoutMs?: number
  /** Connections to use instead of its own; the caller closes them. */
  dispatcher?: Dispatcher
  proxyFor?: ProxyFor | undefined
}

export interface Posted {
  body: string
  headers?: Record<string, string>
  /** The moment of the attempt, ms. */
  now: number
  signal: AbortSignal
}

/** An answer of a far side; `body` has its first 64 kB, as far as they came. */
export interface PostAnswer extends Words {
  status: number
  retryAfter: string | undefined
  body: string
  now: number
}

export interface Post<Judged> {
  post: (posted: Posted) => Promise<Judged | { outcome: 'retry'; reason: string }>
  address: string
  close: () => Promise<void>
}

/** Posts to one address and lets `meaningOf` judge the answer. Throws if the address can't be used. */
export function createPost(options: PostOptions): Post<AttemptOutcome>
export function createPost<Judged>(options: PostOptions, meaningOf: (answer: PostAnswer) => Judged): Post<Judged>
export function createPost(
  options: PostOptions,
  meaningOf: (answer: PostAnswer) => unknown = readAnswer,
): Post<unknown> {
  const { name, timeoutMs = 15_000 } = options
  const { url, password, authorization } = parseUrl(name, options.url)
  const secrets = [
    ...(options.url instanceof Secret ? secretsInAddress(url, password) : []),
    ...withHalves(options.repeated ?? []),
  ]
  // Now, and not with the first message: that may be an alert at night, on a disk that an upgrade is just writing to.
  const library = import('undici')
  library.catch(() => {}) // Each post fails by it.
  const proxy = options.proxyFor?.(url)
  let own: Dispatcher | undefined

  async function post({ body, headers, now, signal }: Posted): Promise<unknown> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const either = AbortSignal.any([signal, deadline])
    try {
      const undici = await library
      // Not shared: a slow receiver holds up no other.
      if (options.dispatcher === undefined)
        own ??=
          proxy === undefined
            ? new undici.Agent({ connections: CONNECTIONS, allowH2: false })
            : openThrough(undici, proxy, { connections: CONNECTIONS, timeoutMs })
      const dispatcher = options.dispatcher ?? own
      const answer = await undici.request(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          'user-agent': `plimsoll/${packageJson.version}`,
          ...(authorization !== undefined && { authorization }),
          ...headers,
        },
        body,
        signal: either,
        ...(dispatcher !== undefined && { dispatcher }),
      })
      const retryAfter = firstValue(answer.headers['retry-after'])
      const answered = await beginningOf(answer.body)
      const words = readWords(answered, secrets)
      return meaningOf({ status: answer.statusCode, retryAfter, body: answered, ...words, now })
    } catch (error) {
      if (signal.aborted) return { outcome: 'retry', reason: 'interrupted before there was an answer' }
      if (deadline.aborted) return { outcome: 'retry', reason: `timed out after ${formatSeconds(timeoutMs)}` }
      return { outcome: 'retry', reason: failureThrough(proxy, error, networkFailure(error)) }
    }
  }

  return { post, address: markOf(url.href), close: async () => await own?.close() }
}

/** Credentials of the URL become a header, as browsers and curl do it. */
function parseUrl(name: string, given: Secret | string): { url: URL; password: string; authorization?: string } {
  const parts = splitCredentials(secretOf(given))
  if (parts === null || !/^https?:$/.test(parts.url.protocol)) {
    throw new Error(`receiver ${name}: url must be an http(s) URL`)
  }
  const { url, user, password } = parts
  if (user === '' && password === '') return { url, password }
  return { url, password, authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}` }
}

export function secretOf(given: Secret | string): Secret {
  return typeof given === 'string' ? new Secret(given) : given
}

/**
 * The status decides; an answer whose rest never comes counts all the same. Read whole, the connection can be used
 * again.
 */
async function beginningOf(body: Dispatcher.ResponseData['body']): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk as Buffer)
      bytes += (chunk as Buffer).length
      if (bytes >= MAX_ANSWER_BYTES) break
    }
  } catch {
    // The part that came is used.
  }
  return Buffer.concat(chunks).toString().slice(0, MAX_ANSWER_BYTES)
}

function firstValue(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}

/**
 * One line of what answers mean: `final` switches the receiver off, `message` gives up this message alone, `later` tries
 * again. The first line that fits decides.
 */
export interface Meaning {
  /** One status, or from the first to the last. */
  status: number | readonly [number, number]
  /** Words that the service says then. */
  says?: RegExp
  is: 'delivered' | 'final' | 'message' | 'later'
  /** The next attempt waits for as long as `Retry-After` asks. */
  waits?: true
  /** Goes before the service's own words. */
  why?: string
}

/** By status alone, after Standard Webhooks. */
const BY_STATUS: readonly Meaning[] = [
  { status: [100, 199], is: 'later', why: 'no final answer' },
  { status: [200, 299], is: 'delivered' },
  { status: [300, 399], is: 'later', why: 'redirects are not followed' },
  { status: 410, is: 'final' },
  { status: 429, is: 'later', waits: true },
  { status: 503, is: 'later', waits: true },
]

export function readAnswer(answer: PostAnswer): AttemptOutcome {
  return outcomeOf(answer, BY_STATUS)
}

/** The same for a service with words of its own. What a firewall or a proxy answers in its place is never final. */
export function readService(...own: readonly Meaning[]): (answer: PostAnswer) => AttemptOutcome {
  return (answer) => {
    const { isPage, saysNo } = answer
    const others = BY_STATUS.filter(({ is }) => is !== 'delivered' || !(isPage || saysNo))
    return outcomeOf(answer, isPage ? others.filter(({ is }) => is !== 'final') : [...own, ...others])
  }
}

function outcomeOf(answer: PostAnswer, meanings: readonly Meaning[]): AttemptOutcome {
  const { status } = answer
  const meaning = meanings.find((one) => fits(one, answer))
  if (meaning?.is === 'delivered') return { outcome: 'delivered', answer: status }
  // A redirect's own page says nothing.
  const words = status < 400 && meaning?.why !== undefined ? [meaning.why] : [meaning?.why, answer.says]
  const why = words.filter((one) => one !== undefined && one !== '').join(': ') || STATUS_CODES[status]
  const failed = { answer: status, reason: why === undefined ? `answered ${status}` : `answered ${status}: ${why}` }
  if (meaning?.is === 'final') return { outcome: 'disable', ...failed }
  if (meaning?.is === 'message') return { outcome: 'refuse', ...failed }
  const wait = meaning?.waits === true ? retryAfterMs(answer.retryAfter, answer.now) : undefined
  return { outcome: 'retry', ...failed, ...(wait !== undefined && { retryAfterMs: wait }) }
}

function fits({ status, says }: Meaning, answer: PostAnswer): boolean {
  const [from, to] = typeof status === 'number' ? [status, status] : status
  return answer.status >= from && answer.status <= to && (says === undefined || says.test(answer.says))
}

/** `key` is the setting that proves who we are. */
export function postWayOut(place: string, answer: number | undefined, key = 'url'): string {
  if (answer === undefined) return `check ${place}.url, and that this machine may connect to it`
  if (answer >= 300 && answer < 400) return `put the address that it leads to into ${place}.url`
  if (answer === 404 || answer === 410) return `check ${place}.url: no messages are taken there any more`
  if (answer === 429 || answer >= 500) return 'the far side is in trouble: see its log, and try again in some minutes'
  const settings = [...new Set([`${place}.${key}`, `${place}.url`])].join(' and ')
  const isRefused = answer === 401 || answer === 403
  return `check ${settings}: it ${isRefused ? 'refuses our credentials' : 'does not take such a message'}`
}
