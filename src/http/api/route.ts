import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Scope } from '../access/admin-token.ts'
import { Problem, unknownAccount } from '../problem.ts'
import { check, parseHubId, written } from '../query.ts'
import type { ApiDeps } from './api-deps.ts'

/** One answer that is no problem. `lines`: other media types that it may come in instead of JSON. */
export interface AnswerShape {
  description: string
  json: z.ZodType
  lines?: readonly string[]
}
export type AnswerShapes = Readonly<Record<number, AnswerShape>>

export interface Lines {
  type: string
  fileName: string
  text: Readable
}

/** What a route answers: JSON of the shape that its status has, or lines. */
export type RouteAnswer<A extends AnswerShapes> = {
  [S in keyof A & number]: { status: S; location?: string } & ({ json: z.output<A[S]['json']> } | { lines: Lines })
}[keyof A & number]

/** A request that works against the installation that tests seed; the document shows it. */
export interface Example {
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: object
}

/** What the document has about a route, and the schemas that requests are checked with: the same. */
export interface Described {
  /** A word for programs that make clients from the document. */
  id: string
  method: 'GET' | 'POST' | 'DELETE'
  /** Below /api/v1. */
  path: `/${string}`
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

export interface ApiRoute extends Described {
  answer(deps: ApiDeps, request: FastifyRequest): Promise<RouteAnswer<AnswerShapes>>
}

interface Declared<P extends z.ZodObject, Q extends z.ZodType, B extends z.ZodType, A extends AnswerShapes>
  extends Described {
  params: P
  query: Q
  body: B
  answers: A
  answer(
    deps: ApiDeps,
    /** `caller`: the name of the admin token. */
    asked: { params: z.output<P>; query: z.output<Q>; body: z.output<B>; caller: string },
  ): Promise<RouteAnswer<A>>
}

/** A route whose answer sees only what its schemas have let through. */
export function route<P extends z.ZodObject, Q extends z.ZodType, B extends z.ZodType, A extends AnswerShapes>(
  declared: Declared<P, Q, B, A>,
): ApiRoute {
  return {
    ...declared,
    answer: async (deps, request) =>
      declared.answer(deps, {
        params: readParams(declared.params, request.params),
        query: check(declared.query, request.query),
        body: check(declared.body, request.body ?? undefined),
        caller: request.caller,
      }),
  }
}

/** What no account can be named by leads nowhere: that is no fault of a parameter. */
function readParams<P extends z.ZodObject>(schema: P, given: unknown): z.output<P> {
  const read = schema.safeParse(given)
  if (read.success) return read.data
  const { hubId } = given as { hubId?: string }
  throw hubId === undefined ? new Problem(404, 'There is nothing at this address.') : unknownAccount(hubId.slice(0, 40))
}

/** For a route that takes nothing of a kind. Unread queries are ignored. */
export const NO_BODY = z.unknown()
export const TAKES_NOTHING = { params: z.object({}), query: z.object({}), body: NO_BODY }

const hubId = z.string().transform((text, context) => {
  const parsed = parseHubId(text)
  if (parsed !== undefined) return parsed
  context.addIssue({ code: 'custom', message: 'is no account' })
  return z.NEVER
})

/** `/accounts/{hubId}` */
export const OF_ACCOUNT = z.object({
  hubId: written(hubId, { type: 'integer', minimum: 1, description: "The account's id at the provider." }),
})

/** A list that goes on: `next` goes back in as `after`. */
export function pageOf<S extends z.ZodType>(item: S, order: string) {
  return z.object({
    items: z.array(item).describe(order),
    next: z.string().exactOptional().describe('Hand it back as `after` for what follows; absent at the end.'),
  })
}

/** The answer of most routes. */
export function ok<J>(json: J): { status: 200; json: J } {
  return { status: 200, json }
}
