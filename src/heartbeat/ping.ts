import type { Dispatcher } from 'undici'
import packageJson from '../../package.json' with { type: 'json' }
import { networkFailure } from '../runtime/network-failure.ts'
import { STATUS_CODES } from '../runtime/node-http.ts'
import { failureThrough, openThrough, type ProxyFor } from '../runtime/outgoing-proxy.ts'
import type { Secret } from '../runtime/secret.ts'
import { formatSpan } from '../text/format-number.ts'

/** Services keep the first 10 kB of a ping's body. */
const MOST_BYTES = 10_000
const TIMEOUT_MS = 10_000
/** Enough for what a service answers: a word or two. */
const MOST_ANSWER_BYTES = 1_000

export type PingOutcome = { outcome: 'sent' } | { outcome: 'failed'; reason: string }

export interface Pinger {
  /** Pings the service once, without trying again: the next heartbeat comes soon. Never throws. */
  ping(ok: boolean, text: string): Promise<PingOutcome>
  /** Cuts off what is under way. */
  close(): Promise<void>
}

interface PingerOptions {
  timeoutMs?: number | undefined
  proxyFor?: ProxyFor | undefined
}

/** A heartbeat service as Healthchecks has it: a POST to `url` means that all is well, one to `url/fail` that it is not. */
export function createPinger(url: Secret, { timeoutMs = TIMEOUT_MS, proxyFor }: PingerOptions = {}): Pinger {
  const proxy = proxyFor?.(pingAddress(url, true))
  const library = import('undici')
  library.catch(() => {}) // The ping reports it.
  let dispatcher: Dispatcher | undefined
  const closing = new AbortController()

  async function ping(ok: boolean, text: string): Promise<PingOutcome> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([closing.signal, deadline])
    try {
      const undici = await library
      dispatcher ??=
        proxy === undefined
          ? new undici.Agent({ connections: 1, allowH2: false })
          : openThrough(undici, proxy, { connections: 1, timeoutMs })
      const { statusCode, body } = await undici.request(pingAddress(url, ok), {
        method: 'POST',
        headers: { 'content-type': 'text/plain; charset=utf-8', 'user-agent': `plimsoll/${packageJson.version}` },
        body: cutBytes(text, MOST_BYTES),
        signal,
        dispatcher,
      })
      return readAnswer(statusCode, await beginningOf(body))
    } catch (error) {
      if (closing.signal.aborted) return { outcome: 'failed', reason: 'interrupted before there was an answer' }
      if (deadline.aborted) return { outcome: 'failed', reason: `no answer within ${formatSpan(timeoutMs)}` }
      return { outcome: 'failed', reason: failureThrough(proxy, error, networkFailure(error)) }
    }
  }

  return {
    ping,
    close: async () => {
      closing.abort(new Error('closing'))
      await dispatcher?.destroy()
    },
  }
}

/** `/fail` goes behind the path; a query string stays what it is. */
export function pingAddress(url: Secret, ok: boolean): URL {
  const address = new URL(url.reveal())
  if (!ok) address.pathname = `${address.pathname.replace(/\/+$/, '')}/fail`
  return address
}

/** Healthchecks answers 200 also to a ping that it throws away; its text then shows it. */
function readAnswer(status: number, answer: string): PingOutcome {
  if (status < 200 || status > 299) {
    const name = STATUS_CODES[status]
    const why = status >= 300 && status < 400 ? ': redirects are not followed' : name === undefined ? '' : `: ${name}`
    return { outcome: 'failed', reason: `answered ${status}${why}` }
  }
  if (/\(not found\)/i.test(answer))
    return { outcome: 'failed', reason: 'answered that it knows no such check: see heartbeat.url' }
  if (/\(rate limited\)/i.test(answer))
    return { outcome: 'failed', reason: 'answered that it gets too many pings: see heartbeat.every' }
  return { outcome: 'sent' }
}

async function beginningOf(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of body) {
    parts.push(part)
    bytes += part.length
    if (bytes >= MOST_ANSWER_BYTES) break
  }
  return Buffer.concat(parts).toString('utf8')
}

/** Never in the middle of a character. */
function cutBytes(text: string, most: number): string {
  return new TextDecoder().decode(new TextEncoder().encode(text).subarray(0, most)).replace(/\uFFFD+$/, '')
}
