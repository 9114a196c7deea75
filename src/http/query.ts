import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { type ParameterFault, Problem, unknownAccount } from './problem.ts'

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, `must be one of ${values.filter((value) => value !== '').join(', ')}`)
}

/** A field that a form sent empty is one that was not filled in. */
export function optional<T extends z.ZodType>(schema: T) {
  return z.preprocess((given) => (given === '' ? undefined : given), schema.optional())
}

/** Checks a query or a body; its faults come back as one 400 that names each parameter. */
export function check<T extends z.ZodType>(schema: T, given: unknown): z.output<T> {
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const faults = result.error.issues.flatMap(faultsOf)
  throw new Problem(400, faults.map(({ parameter, detail }) => `${parameter}: ${detail}`).join('; '), {}, faults)
}

function faultsOf(issue: z.core.$ZodIssue): ParameterFault[] {
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((parameter) => ({ parameter, detail: 'is not known here' }))
  }
  return [{ parameter: issue.path.join('.') || 'body', detail: issue.message }]
}

/** The account of a route with `:hubId`; a name that can't be one is a 404. */
export function hubIdOf(request: FastifyRequest): number {
  const { hubId: text } = request.params as { hubId: string }
  const hubId = parseHubId(text)
  if (hubId === undefined) throw unknownAccount(text.slice(0, 40))
  return hubId
}

/** The account that a path names; undefined for a name that can't be an account at all. */
export function parseHubId(text: string): number | undefined {
  if (!/^[1-9]\d{0,15}$/.test(text)) return undefined
  const hubId = Number(text)
  return Number.isSafeInteger(hubId) ? hubId : undefined
}
