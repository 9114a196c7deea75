import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Fields } from '../../operations/field.ts'
import { carryOut, type Operation } from '../../operations/operation.ts'
import { whoOf } from '../access/who.ts'
import { fieldSchemas, sentence } from '../field-schemas.ts'
import { atMost, check, cursor } from '../query.ts'
import { requireRedis } from '../redis-away.ts'
import type { WebDeps } from '../web-deps.ts'
import { type ApiRoute, NO_BODY, OF_ACCOUNT, problemsAt, readParams } from './route.ts'

/** An operation under each of its addresses. */
export function operationRoutes({ also = [], ...operation }: Operation): ApiRoute[] {
  return [{}, ...also].map((one) => operationRoute({ ...operation, ...one }))
}

/** Route of an operation: its fields are in the path, the query or the body. */
function operationRoute(operation: Operation & { given?: object }): ApiRoute {
  const { id, is, description, takes, pages, api, statuses, problems = [], example = {} } = operation
  const [method, path] = operation.route.split(' ') as [ApiRoute['method'], string]
  const { given: fixed = {} } = operation
  const { inPath, beside } = placed(takes, path, Object.keys(fixed))
  const paging = pages && {
    limit: pages.limit === undefined ? atMost(500, 100) : atMost(500, 100).describe(pages.limit),
    ...(pages.cursor && { after: cursor(placeOf(pages.cursor)).optional() }),
  }
  const params = z.object(inPath)
  const rest = z.strictObject({ ...beside, ...paging })
  const takesMore = Object.keys(rest.shape).length > 0
  const hasBody = takesMore && method !== 'GET'
  // An operation without fields ignores parameters and bodies unread.
  const query = takesMore && !hasBody ? rest : z.object({})
  const body = hasBody ? bodyOf(rest) : NO_BODY
  return {
    id,
    method,
    path,
    summary: sentence(is).slice(0, -1),
    params,
    query,
    body,
    example,
    ...(description === undefined ? {} : { description }),
    scope: operation.scope ?? (method === 'GET' ? 'read' : 'write'),
    answers: Object.fromEntries(
      Object.entries(statuses?.says ?? { 200: api.shape.description ?? 'A page of the list.' }).map(
        ([status, description]) => [status, { description, json: api.shape }],
      ),
    ),
    problems: problemsAt(path, [...problems, ...(takesMore ? [400] : [])]),
    answer: async (deps: WebDeps, request: FastifyRequest) => {
      const more = hasBody ? check(body, request.body ?? undefined) : check(query, firstPage(request.query))
      // Parameters of the path win over those beside it.
      const { limit = 100, after, ...given } = { ...(more as Read), ...readParams(params, request.params) }
      const asked = {
        given: { ...given, ...fixed },
        who: whoOf(request),
        now: deps.clock.now(),
        page: { limit, after },
        isForPeople: false,
      }
      if (operation.does !== undefined) await requireRedis(deps.store)
      const value = await carryOut(operation, deps, asked)
      const { location, ...answered } = statuses?.of(value) ?? {}
      return { ...answered, ...(location && { location: `/api/v1${location}` }), json: api.json(value) }
    },
  }
}

/** The parsed request, with its place in a list. */
type Read = Record<string, unknown> & { limit?: number; after?: string }

function placed(takes: Fields, path: string, fixed: readonly string[]) {
  const inPath: Record<string, z.ZodType> = {}
  const beside: Record<string, z.ZodType> = {}
  for (const [name, schema] of Object.entries(fieldSchemas(takes))) {
    if (fixed.includes(name)) continue
    if (!path.includes(`{${name}}`)) beside[name] = schema
    else inPath[name] = name === 'hubId' ? OF_ACCOUNT.shape.hubId : schema
  }
  return { inPath, beside }
}

/** A loop over pages may begin with the place that is none. */
function firstPage(query: unknown): unknown {
  const { after, ...others } = query as Record<string, unknown>
  return after === '' ? others : query
}

function placeOf(pattern: RegExp): z.ZodType {
  return z
    .string('must be given once')
    .max(400, 'is too long')
    .regex(pattern, 'must be what the list before called next')
}

/** A body without required fields may be absent. */
function bodyOf(body: z.ZodType): z.ZodType {
  return body.safeParse({}).success ? body.optional() : body
}
