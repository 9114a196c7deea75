import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { Who } from '../../audit/audited.ts'
import type { Scope } from '../access/scopes.ts'
import { whoOf } from '../access/who.ts'
import { Problem, unknownAccount } from '../problem.ts'
import { check, parseHubId, written } from '../query.ts'
import type { WebDeps } from '../web-deps.ts'

/** An answer that is no problem. `lines`: other media types that it may come in instead of JSON. */
interface AnswerShape<S extends z.ZodType = z.ZodType> {
  description: string
  json: S
  lines?: readonly string[]
}

export interface Lines {
  type: string
  fileName: string
  text: Readable
}

/** A request that works against the installation that tests seed; the document shows it. */
interface Example {
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  body?: object
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/** A route in the document, with the schemas that requests are checked with: the same. */
export interface Described {
  /** A word for programs that make clients from the document. */
  id: string
  method: Method
  /** Below /api/v1. */
  path: string
  summary: string
  description?: string
  /** Scope that the admin token must have. */
  scope: Scope
  params: z.ZodObject
  query: z.ZodType
  body: z.ZodType
  /** By their statuses. */
  answers: Readonly<Record<number, AnswerShape>>
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

/**
 * Declaration of a route. An absent part takes nothing, needs the scope of the method, and has no problems and no example of
 * its own.
 */
interface Declared<P extends z.ZodObject, Q extends z.ZodType, S extends z.ZodType>
  extends Pick<Described, 'summary' | 'description'>,
    Partial<Pick<Described, 'scope' | 'problems' | 'example'>> {
  params?: P
  query?: Q
  gives: AnswerShape<S>
  answer(
    deps: WebDeps,
    asked: { params: z.output<P>; query: z.output<Q>; who: Who },
  ): Promise<{ json: z.output<S> } | { lines: Lines }>
}

/** A route whose answer sees only what its schemas have let through. */
export function route<
  S extends z.ZodType,
  P extends z.ZodObject = typeof NOTHING,
  Q extends z.ZodType = typeof NOTHING,
>(id: string, address: `${Method} /${string}`, { gives, ...declared }: Declared<P, Q, S>): ApiRoute {
  const [method, path] = address.split(' ') as [Method, string]
  const described = {
    ...({ scope: method === 'GET' ? 'read' : 'write', problems: [], example: {} } as const),
    params: NOTHING as unknown as P,
    query: NOTHING as unknown as Q,
    body: NO_BODY,
    answers: { 200: gives },
    ...declared,
  }
  return {
    ...described,
    id,
    method,
    path,
    problems: problemsAt(path, described.problems),
    answer: (deps, request) =>
      declared.answer(deps, {
        params: readParams(described.params, request.params),
        query: check(described.query, request.query),
        who: whoOf(request),
      }),
  }
}

/** Two accounts may have the domain that names one. */
export function problemsAt(path: string, own: readonly number[]): number[] {
  return [...new Set([...own, ...(path.includes('{hubId}') ? [409] : [])])].sort()
}

/** A name that can be no account's leads nowhere: that is no fault of a parameter. */
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
    type: ['integer', 'string'],
    minimum: 1,
    description: "The account's id at the provider, or its domain.",
  }),
})

/** The cursor of the page that follows; nothing at the end. */
export function nextOf(next: number | string | undefined): { next?: string } {
  return next === undefined ? {} : { next: String(next) }
}
