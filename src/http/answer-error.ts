import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hasZodFastifySchemaValidationErrors } from 'fastify-type-provider-zod'
import { sentence } from '../operations/fields.ts'
import { Refusal, type RefusalKind } from '../operations/refusal.ts'
import { UnreadableData } from '../redis/account-record.ts'
import { isRedisAway } from '../redis/away.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/logger.ts'
import { html } from '../text/html.ts'
import { isForApi, isForCustomer } from './access/access.ts'
import type { Brand } from './brand.ts'
import { plainPage, sendPage } from './pages/page.ts'
import { Problem, wrongParameter } from './problem.ts'
import { redisAway } from './redis-away.ts'

/** Every error becomes an answer that shows the caller's way on, and nothing of the inside. */
export function answerError(
  { log, brand, clock }: Answering,
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply {
  const problem = asProblem(error, { clock })
  if (problem.status === 500) log.error({ code: 'http.error', ...about(request), err: error }, 'a request failed')
  return sendProblem(brand, request, reply, problem)
}

interface Answering {
  clock: Clock
  log: Logger
  brand: Brand
}

export function sendProblem(
  brand: Brand,
  request: FastifyRequest,
  reply: FastifyReply,
  problem: Problem,
): FastifyReply {
  reply.headers(problem.headers)
  if (isForApi(request)) {
    return reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem))
  }
  // Redis comes back, and a status page that hangs on a wall should too.
  const again = problem.status === 503 && request.method === 'GET' ? { refreshSeconds: 10 } : {}
  const content = { title: problem.title, ...again }
  const { status } = problem
  if (isForCustomer(request)) {
    const body = html`<p>${FOR_CUSTOMERS[status] ?? 'Nothing was stored.'}</p>
<p><a href="/install">Try again</a></p>`
    return sendPage(reply, status, plainPage({ ...content, body }, brand))
  }
  const body = html`<p>${problem.detail}</p>
<p><a href="/">Status page</a></p>`
  return sendPage(reply, status, plainPage({ ...content, body }))
}

/** A customer knows neither Redis nor Plimsoll. */
const FOR_CUSTOMERS: Readonly<Record<number, string>> = {
  500: 'Your account was not connected because of a fault on our side.',
  503: "We can't connect accounts at the moment. Keep this window open: it tries again by itself in 10 seconds.",
}

export function about(request: FastifyRequest): { method: string; route: string } {
  // The route, never the address: codes and states travel in the query.
  return { method: request.method, route: request.route ?? 'none' }
}

const STATUS_OF: Readonly<Record<Exclude<RefusalKind, 'wrong'>, number>> = {
  unknown: 404,
  conflict: 409,
  ambiguous: 409,
  reauthorize: 409,
  gone: 410,
  'provider-failed': 502,
  unavailable: 503,
}

/** Why an operation was not done. */
function problemOf({ kind, message, field, faults = [], until, hint }: Refusal, now: number): Problem {
  if (faults.length > 0) {
    const named = faults.map(({ field: parameter, why: detail }) => ({ parameter, detail }))
    return new Problem(400, sentence(message), {}, named)
  }
  if (kind === 'wrong')
    return field === undefined ? new Problem(400, sentence(message)) : wrongParameter(field, message)
  const headers = until === undefined ? {} : { 'retry-after': String(Math.max(1, Math.ceil((until - now) / 1000))) }
  const named = kind === 'ambiguous' || kind === 'reauthorize' ? kind : undefined
  return new Problem(STATUS_OF[kind], sentence(message), headers, [], named, hint)
}

interface InputFault {
  instancePath: string
  message?: string | undefined
  params: Record<string, unknown>
}

/** One answer that names each field that is wrong. */
function refusedInput(found: readonly InputFault[]): Problem {
  const faults = found.flatMap(({ instancePath, message = 'is wrong', params }) => {
    if (Array.isArray(params.keys))
      return params.keys.map((key) => ({ parameter: String(key), detail: 'is not known here' }))
    return [{ parameter: instancePath.slice(1).replaceAll('/', '.') || 'body', detail: message }]
  })
  return new Problem(400, faults.map(({ parameter, detail }) => `${parameter}: ${detail}`).join('; '), {}, faults)
}

const REFUSED_BY_FASTIFY: Readonly<Record<number, string>> = {
  400: 'The request could not be read.',
  413: 'The body is too large.',
  414: 'The address is too long.',
  415: 'The body must be application/json.',
}

export function asProblem(error: unknown, { clock }: Pick<Answering, 'clock'>): Problem {
  if (error instanceof Problem) return error
  if (error instanceof Refusal) return problemOf(error, clock.now())
  if (hasZodFastifySchemaValidationErrors(error)) return refusedInput(error.validation)
  if (isRedisAway(error)) return redisAway()
  if (error instanceof UnreadableData)
    return new Problem(
      503,
      "What is stored of this account can't be read: its next poll puts that aside, and starts again.",
    )
  const status = (error as { statusCode?: number } | null)?.statusCode ?? 500
  if (status < 400 || status >= 500)
    return new Problem(500, 'This request failed because of a fault of Plimsoll. The log has the cause.')
  return new Problem(status, REFUSED_BY_FASTIFY[status] ?? 'The request could not be read.')
}

const OF_CODE: Readonly<Record<string, [status: number, detail: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The address and the headers together are too long.'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'The body is too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not come in time.'],
}

/** Answers a broken or oversized request on the bare connection: it never becomes a request. */
export function answerClientError(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const [status, detail] = OF_CODE[error.code ?? ''] ?? [400, 'The request could not be read.']
  const problem = new Problem(status, detail)
  const body = JSON.stringify(problem)
  socket.end(
    [
      `HTTP/1.1 ${status} ${problem.title}`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Cache-Control: no-store',
      'X-Content-Type-Options: nosniff',
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  )
}
