import { CallError } from '../provider/call-error.ts'
import { type DialectName, endOf } from '../provider/dialects.ts'
import { createHttpClient, type HttpResponse } from '../provider/http.ts'
import type { Clock } from '../runtime/clock.ts'
import { nameOfProxy, type ProxyFor } from '../runtime/outgoing-proxy.ts'
import { type Finding, fail, ok, warn } from './check.ts'

const TIMEOUT_MS = 4_000
const MAX_ANSWER_BYTES = 1_000_000
const SKEW_WARN_MS = 5_000
const SKEW_FAIL_MS = 60_000

/** The provider answers, and its clock agrees. Asks for nothing that needs a token. */
export async function checkProvider(baseUrl: string, clock: Clock, proxyFor?: ProxyFor): Promise<Finding[]> {
  const address = new URL(baseUrl)
  const { host } = address
  const proxy = proxyFor?.(address)
  const onTheWay = proxy === undefined ? [] : [ok('proxy', `calls to ${host} go through ${nameOfProxy(proxy)}`)]
  const limits = { timeoutMs: TIMEOUT_MS, connections: 1, maxAnswerBytes: MAX_ANSWER_BYTES }
  const http = createHttpClient({ baseUrl, ...limits, proxyFor })
  const begun = clock.now()
  try {
    const answer = await http.send({ method: 'GET', path: '/', headers: { accept: 'application/json' } })
    const ended = clock.now()
    return [...onTheWay, judgeAnswer(host, answer, ended - begun), judgeClock(answer.headers, (begun + ended) / 2)]
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    const fix = 'check provider.baseUrl, DNS, and that a firewall lets this machine connect to it'
    return [
      ...onTheWay,
      fail('provider', `${host}: ${error.message}`, fix),
      warn('clock', 'not compared: the provider does not answer'),
    ]
  } finally {
    await http.close()
  }
}

function judgeAnswer(host: string, { status }: HttpResponse, ms: number): Finding {
  if (status >= 500) return warn('provider', `${host} answers ${status}`, 'the provider fails: see its status page')
  return ok('provider', `${host} answers in ${Math.round(ms)} ms`)
}

/** `now`: our time in the middle of the call. The header has whole seconds, cut off. */
export function judgeClock({ date, age }: HttpResponse['headers'], now: number): Finding {
  // An answer from a cache has the time at which it went in, and its age (RFC 9110 and 9111).
  const theirs = typeof date === 'string' ? Date.parse(date) + Number(age ?? 0) * 1000 : Number.NaN
  if (Number.isNaN(theirs)) return warn('clock', 'not compared: the provider sends no time')
  const skewMs = now - (theirs + 500)
  const seconds = Math.round(Math.abs(skewMs) / 1000)
  const fix = 'let this machine keep its time: timedatectl set-ntp true'
  if (Math.abs(skewMs) <= SKEW_WARN_MS)
    return ok('clock', `agrees with the provider's within ${Math.max(1, seconds)} s`)
  const detail = `${seconds} s ${skewMs > 0 ? 'ahead of' : 'behind'} the provider's: lines of the log show another time, and so does a private Redis`
  return Math.abs(skewMs) > SKEW_FAIL_MS ? fail('clock', detail, fix) : warn('clock', detail, fix)
}

/** How long the provider still answers in the configured version of its interface. */
export function checkEndDate(api: DialectName, now: number): Finding {
  const { is, message, fix } = endOf(api, now)
  if (is === 'far') return ok('end-date', message)
  return is === 'near' ? warn('end-date', message, fix) : fail('end-date', message, fix)
}

const PUBLIC_URL = 'public-url'
const CLOSE =
  'Plimsoll answers 401 there: check that http.publicUrl leads to it, and that no proxy adds an admin token or a session'

/**
 * The address that customers and the provider are sent to leads to this daemon, and shows no accounts without a token.
 * The daemon may not be up, or not be reachable from here.
 */
export async function checkPublicUrl(publicUrl: string): Promise<Finding> {
  const probe = `${publicUrl}/healthz`
  const fix = 'start the daemon; check http.publicUrl, http.listen and the reverse proxy in front of it'
  const limits = { timeoutMs: TIMEOUT_MS, connections: 1, maxAnswerBytes: MAX_ANSWER_BYTES }
  const http = createHttpClient({ baseUrl: publicUrl, ...limits })
  try {
    const accounts = await http.send({ method: 'GET', path: '/accounts', headers: {} })
    if (accounts.status === 200) return fail(PUBLIC_URL, `${publicUrl}/accounts answers 200 without a token`, CLOSE)
    const { status, body } = await http.send({
      method: 'GET',
      path: '/healthz',
      headers: { accept: 'application/json' },
    })
    if (!isHealth(body)) return warn(PUBLIC_URL, `${probe} answers ${status}, but not as Plimsoll does`, fix)
    if (status === 200) return ok(PUBLIC_URL, `${probe} answers, and /accounts asks for a sign-in`)
    return warn(
      PUBLIC_URL,
      `${probe} answers ${status}: work does not move`,
      'the answer names what does not move; see the log',
    )
  } catch (error) {
    if (!(error instanceof CallError)) throw error
    return warn(PUBLIC_URL, `${probe}: ${error.message}`, fix)
  } finally {
    await http.close()
  }
}

function isHealth(body: Buffer): boolean {
  try {
    const health: unknown = JSON.parse(body.toString('utf8'))
    return typeof health === 'object' && health !== null && 'alive' in health
  } catch {
    return false
  }
}
