import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Who } from '../../audit/audited.ts'
import type { Scope } from '../access/scopes.ts'
import { whoOf } from '../access/who.ts'
import { Problem, unknownAccount } from '../problem.ts'
import { check, parseHubId, written } from '../query.ts'
import type { WebDeps } from '../web-deps.ts'

/** One answer that is no problem. `lines`: other media types that it may come in instead of JSON. */
interface AnswerShape {
  description: string
  json: z.ZodType
  lines?: readonly string[]
}
type AnswerShapes = Readonly<Record<number, AnswerShape>>

export interface Lines {
  type: string
  fileName: string
  text: Readable
}

/** What a route answers: JSON of the shape that its status has, or lines. The status is 200 where it is not said. */
type RouteAnswer<A extends AnswerShapes> = {
  [S in keyof A & number]: (S extends 200 ? { status?: S } : { status: S }) & { location?: string } & (
      | { json: z.output<A[S]['json']> }
      | { lines: Lines }
    )
}[keyof A & number]

/** A request that works against the installation that tests seed; the document shows it. */
interface Example {
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: object
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** What the document has about a route, and the schemas that requests are checked with: the same. */
export interface Described {
  /** A word for programs that make clients from the document. */
  id: string
  method: Method
  /** Below /api/v1. */
  path: string
  summary: string
  description?: string
  /** What the admin token must be allowed to do. */
  scope: Scope
  params: z.ZodObject
  query: z.ZodType
  body: z.ZodType
  answers: AnswerShapes
  /** Statuses that are problems, beside those that every route may have. */
  problems: readonly number[]
  example: Example
}

/** An answer of any route. */
export type SentAnswer = { status?: number; location?: string } & ({ json: unknown } | { lines: Lines })

export interface ApiRoute extends Described {
  answer(deps: WebDeps, request: FastifyRequest): Promise<SentAnswer>
}

/** For a route that takes nothing of a kind. Unread queries are ignored. */
const NOTHING = z.object({})
export const NO_BODY = z.unknown()

/** What is left out takes nothing, needs the scope that the method says, and has no problems and no example of its own. */
interface Declared<P extends z.ZodObject, Q extends z.ZodType, B extends z.ZodType, A extends AnswerShapes>
  extends Pick<Described, 'summary' | 'description'>,
    Partial<Pick<Described, 'scope' | 'problems' | 'example'>> {
  params?: P
  query?: Q
  body?: B
  answers: A
  answer(
    deps: WebDeps,
    asked: { params: z.output<P>; query: z.output<Q>; body: z.output<B>; who: Who },
  ): Promise<RouteAnswer<A>>
}

/** A route whose answer sees only what its schemas have let through. */
export function route<
  A extends AnswerShapes,
  P extends z.ZodObject = typeof NOTHING,
  Q extends z.ZodType = typeof NOTHING,
  B extends z.ZodType = typeof NO_BODY,
>(id: string, address: `${Method} /${string}`, declared: Declared<P, Q, B, A>): ApiRoute {
  const [method, path] = address.split(' ') as [Method, string]
  const described = {
    ...({ scope: method === 'GET' ? 'read' : 'write', problems: [], example: {} } as const),
    ...{ params: NOTHING as unknown as P, query: NOTHING as unknown as Q, body: NO_BODY as unknown as B },
    ...declared,
  }
  // Two accounts may have the domain that names one.
  const problems = path.includes('{hubId}') ? [...new Set([...described.problems, 409])].sort() : described.problems
  return {
    ...described,
    ...{ id, method, path, problems },
    answer: (deps, request) =>
      declared.answer(deps, {
        params: readParams(described.params, request.params),
        query: check(described.query, request.query),
        body: check(described.body, request.body ?? undefined),
        who: whoOf(request),
      }) as Promise<SentAnswer>,
  }
}

/** What no account can be named by leads nowhere: that is no fault of a parameter. */
export function readParams<P extends z.ZodObject>(schema: P, given: unknown): z.output<P> {
  const read = schema.safeParse(given)
  if (read.success) return read.data
  const { hubId } = given as { hubId?: string }
  throw hubId === undefined ? new Problem(404, 'There is nothing at this address.') : unknownAccount(hubId.slice(0, 40))
}

const hubId = z.string().transform((text, context) => {
  const parsed = parseHubId(text)
  if (parsed !== undefined) return parsed
  context.addIssue({ code: 'custom', message: 'is no account' })
  return z.NEVER
})

/** `/accounts/{hubId}` */
export const OF_ACCOUNT = z.object({
  hubId: written(hubId, {
    ...{ type: ['integer', 'string'], minimum: 1 },
    description: "The account's id at the provider, or its domain.",
  }),
})

/** A list that goes on: `next` goes back in as `after`. */
export function listShape<S extends z.ZodType>(item: S, order: string) {
  return z.object({
    items: z.array(item).describe(order),
    next: z.string().exactOptional().describe('Hand it back as `after` for what follows; absent at the end.'),
  })
}

/** The cursor of the page that follows; nothing at the end. */
export function nextOf(next: number | string | undefined): { next?: string } {
  return next === undefined ? {} : { next: String(next) }
}
