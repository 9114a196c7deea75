import { PassThrough, Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'
import * as z from 'zod'
import type { OperationDeps } from '../../operations/deps.ts'
import { type Field, fieldsOf, sentence } from '../../operations/fields.ts'
import { type Call, Lines, type Onlooker, type Operation } from '../../operations/operation.ts'
import { Refusal } from '../../operations/refusal.ts'
import { jsonText } from '../../runtime/json-text.ts'
import { EVENTS_TYPE, TABLE_TYPE, TABLE_VERSION, type TableAnswer, type TableEvent } from '../../text/table-answer.ts'
import { whoOf } from '../access/who.ts'
import { asProblem } from '../answer-error.ts'
import { Problem } from '../problem.ts'
import { ProblemShape } from '../problem-shape.ts'
import { parseHubId } from '../query.ts'
import { requireRedis } from '../redis-away.ts'
import { hubIdNamed } from '../search-accounts.ts'

/** Statuses of every operation: no admin token, one without the scope, Redis away, a fault of ours. */
const ALWAYS = [401, 403, 500, 503]

/** Adds the route of an operation: its schemas check the request, and are what the document is made of. */
export function addOperation(app: FastifyInstance, operation: Operation, deps: OperationDeps): void {
  const { id, method, path, summary, description, scope, example } = operation
  const fields = fieldsOf(operation.input)
  app.withTypeProvider<ZodTypeProvider>().route({
    method,
    url: path.replace(/\{(\w+)\}/g, ':$1'),
    // HEAD would issue a token without a reader.
    exposeHeadRoute: method === 'GET' && scope !== 'tokens',
    config: { scope, takesFile: operation.takesFile === true },
    schema: {
      ...schemasOf(operation),
      operationId: id,
      summary: sentence(summary).slice(0, -1),
      description: [description, `Scope: ${scope}.`].filter((text) => text !== undefined).join('\n\n'),
      tags: [path.split('/')[1] ?? ''],
      security: [{ adminToken: scope === 'admin' ? [] : [scope] }],
      response: responsesOf(operation),
      ...(example === undefined ? {} : { 'x-example': example }),
    },
    ...(operation.mostBytes === undefined ? {} : { bodyLimit: operation.mostBytes }),
    preValidation: (request) => {
      // A body that is absent has no fields.
      if (operation.takesFile !== true) request.body ??= {}
      return readAccounts(fields, deps, request)
    },
    handler: (request, reply) => answer(operation, deps, request, reply),
  } as RouteOptions)
}

/** The schemas by the places of a request: a field is in the path, and else in the query or the body. */
function schemasOf({ method, path, input, takesFile }: Operation) {
  const inPath = Object.entries(input.shape).filter(([name]) => path.includes(`{${name}}`))
  const beside = Object.entries(input.shape).filter(([name]) => !path.includes(`{${name}}`))
  const rest = z.strictObject(Object.fromEntries(beside))
  // An operation without fields ignores queries and bodies unread.
  const place = method === 'GET' || takesFile === true ? 'querystring' : 'body'
  return {
    ...(inPath.length === 0 ? {} : { params: z.object(Object.fromEntries(inPath)) }),
    ...(beside.length === 0 ? {} : { [place]: rest }),
  }
}

/** The statuses of an operation that are problems. */
export function problemsOf({ method, path, problems, input }: Operation): number[] {
  const takesMore = Object.keys(input.shape).some((name) => !path.includes(`{${name}}`))
  const ofBody = method === 'GET' ? [] : [413, 415]
  // Two accounts may have the domain that names one.
  const ofAccount = Object.keys(input.shape).some((name) => name === 'hubId' || name === 'accounts') ? [404, 409] : []
  return [...new Set([...ALWAYS, ...ofAccount, ...problems, ...(takesMore ? [400] : []), ...ofBody])].sort()
}

function responsesOf(operation: Operation) {
  const { output, answers, types = [] } = operation
  const lines = types.map((type) => [type, { schema: z.string() }])
  return {
    ...Object.fromEntries(
      Object.entries(answers).map(([status, description]) => [
        status,
        { description, content: { 'application/json': { schema: output }, ...Object.fromEntries(lines) } },
      ]),
    ),
    ...Object.fromEntries(
      problemsOf(operation).map((status) => [
        status,
        {
          description: new Problem(status, '').title,
          content: { 'application/problem+json': { schema: ProblemShape } },
        },
      ]),
    ),
  }
}

type Place = Record<string, unknown>

/** Hub ids in place of the domains that name accounts. */
async function readAccounts(fields: readonly Field[], deps: OperationDeps, request: FastifyRequest): Promise<void> {
  const { params, query } = request as { params: Place; query: Place }
  if (typeof params.hubId === 'string' && /^\d+$/.test(params.hubId) && parseHubId(params.hubId) === undefined)
    throw new Refusal('unknown', `there is no account ${params.hubId.slice(0, 40)}`)
  for (const { name } of fields.filter(({ meta }) => meta['x-account'])) {
    for (const place of [params, query, (request.body ?? {}) as Place]) {
      const given = place[name]
      const names = typeof given === 'string' && place === query ? given.split(',') : [given].flat()
      if (!names.some((one) => typeof one === 'string')) continue
      const found = await Promise.all(names.map((one) => (typeof one === 'string' ? hubIdNamed(one, deps) : one)))
      place[name] = Array.isArray(given) || found.length > 1 ? found : found[0]
    }
  }
}

async function answer(
  operation: Operation,
  deps: OperationDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  if (operation.method !== 'GET') await requireRedis(deps.store)
  const { params = {}, query = {}, body } = request as { params?: object; query?: object; body?: unknown }
  const takesQuery = operation.method === 'GET' || operation.takesFile === true
  const gone = new AbortController()
  reply.raw.once('close', () => gone.abort())
  const wanted = wantedOf(request.headers.accept)
  const call: Call = {
    input: { ...(takesQuery ? query : (body as object)), ...params },
    who: whoOf(request),
    now: deps.clock.now(),
    isForPeople: wanted === 'table',
    stop: AbortSignal.any([gone.signal, deps.stop]),
    ...(operation.takesFile === true && isStream(body) ? { file: body } : {}),
  }
  if (wanted !== 'json' && operation.command?.busy !== undefined)
    return sendEvents(operation, deps, call, reply, wanted)
  const value = await operation.run(deps, call)
  if (value instanceof Lines) return sendLines(reply, value)
  if (wanted !== 'json') return reply.type(TABLE_TYPE).send(jsonText(tableAnswer(operation, value, call, wanted)))
  const { status = 200, location } = operation.statusOf?.(value) ?? {}
  if (location !== undefined) reply.header('location', `/api/v1${location}`)
  return reply
    .code(status)
    .type('application/json; charset=utf-8')
    .send(jsonText(jsonOf(operation, value)))
}

function isStream(body: unknown): body is AsyncIterable<Buffer> {
  return typeof body === 'object' && body !== null && Symbol.asyncIterator in body
}

type Wanted = 'json' | 'table' | 'value'

/** The command line asks for a table, or for the value with what it needs beside it. */
function wantedOf(accept = ''): Wanted {
  if (!accept.startsWith(TABLE_TYPE)) return 'json'
  return accept.includes('part=value') ? 'value' : 'table'
}

function jsonOf({ json }: Operation, value: unknown): unknown {
  return json === undefined ? value : json(value)
}

function tableAnswer(operation: Operation, value: unknown, call: Call, wanted: Wanted): TableAnswer {
  const { next } = (value ?? {}) as { next?: string }
  const [fails, exitCode] = [operation.fails?.(value), operation.exitCode?.(value)]
  return {
    version: TABLE_VERSION,
    shown: wanted === 'table' ? (operation.table?.(value, call) ?? []) : [],
    notes: operation.notes?.(value) ?? [],
    ...(wanted === 'value' ? { json: jsonOf(operation, value) } : {}),
    ...(next === undefined ? {} : { next }),
    ...(fails === undefined ? {} : { fails }),
    ...(exitCode === undefined ? {} : { exitCode }),
  }
}

function sendLines(reply: FastifyReply, { type, fileName, text }: Lines): FastifyReply {
  return reply.type(type).header('content-disposition', `attachment; filename="${fileName}"`).send(Readable.from(text))
}

/** Progress of a long file comes with each line of it. */
const PROGRESS_EVERY_MS = 100

/** The status is sent before the outcome is known: a refusal is the last line. */
function sendEvents(
  operation: Operation,
  deps: OperationDeps,
  call: Call,
  reply: FastifyReply,
  wanted: Wanted,
): FastifyReply {
  const out = new PassThrough()
  const write = (event: TableEvent) => out.writableEnded || out.destroyed || out.write(`${jsonText(event)}\n`)
  let toldAt = Number.NEGATIVE_INFINITY
  const onlooker: Onlooker = {
    progress: (done, total) => {
      const now = deps.clock.steady()
      if (now - toldAt < PROGRESS_EVERY_MS && done !== total) return
      toldAt = now
      write({ progress: { done, total: total ?? null } })
    },
    note: (note) => void write({ note }),
    show: async (shown) => {
      if (!write({ shown })) await new Promise((resolve) => out.once('drain', resolve).once('close', resolve))
    },
  }
  // The head of the answer is sent with its first line: a caller waits for that only so long.
  onlooker.progress(0, undefined)
  const carryOut = async () => {
    try {
      const value = await operation.run(deps, { ...call, onlooker })
      write({ answer: tableAnswer(operation, value, call, wanted) })
    } catch (error) {
      write({ problem: asProblem(error, deps) })
    } finally {
      out.end()
    }
  }
  void carryOut()
  return reply.type(EVENTS_TYPE).send(out)
}
