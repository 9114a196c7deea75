import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import { isMailbox, LONGEST_MAILBOX, MUST_BE_MAILBOX } from '../runtime/mailbox.ts'
import { parseMoment } from '../text/format-time.ts'
import { type ParameterFault, Problem, unknownAccount } from './problem.ts'

/** The same schema with `json` for documents: the requested value, where the check reads a text to get at it. */
export function written<S extends z.ZodType>(schema: S, json: object): S {
  return schema.meta({ [WRITTEN]: json })
}

/** Under which a schema keeps its `json` for documents. */
export const WRITTEN = 'written'

/** A whole number in a query; repeated or otherwise odd values are refused by name. */
export function numberInQuery(least: number, most: number) {
  const schema = z
    .string('must be given once')
    .regex(/^\d{1,16}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.number().min(least, `must be at least ${least}`).max(most, `must be at most ${most}`))
  return written(schema, { type: 'integer', minimum: least, maximum: most })
}

/** How many items of a list at most. */
export function atMost(most: number, byDefault: number) {
  return written(numberInQuery(1, most).default(byDefault), {
    type: 'integer',
    minimum: 1,
    maximum: most,
    default: byDefault,
    description: 'The most items of one answer.',
  })
}

const UNITS_MS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 }

/** A moment as a function of now, ms; unless it lies ahead also how long ago one was: `30m`, `24h`, `7d`. */
export function momentOrAgo(byDefault?: string, isAhead = false) {
  const fault = isAhead ? MOMENT : `${MOMENT}, or how long ago: 24h`
  const error = ({ input }: { input?: unknown }) => (Array.isArray(input) ? 'must be given once' : fault)
  const schema = z.string({ error }).transform((text, context) => {
    const [, count, unit = ''] = (isAhead ? null : /^(\d{1,5})([mhd])$/.exec(text)) ?? []
    if (count !== undefined) return (now: number) => now - Number(count) * (UNITS_MS[unit] ?? 0)
    const at = parseMoment(text)
    if (at !== undefined) return () => at
    context.addIssue({ code: 'custom', message: fault })
    return z.NEVER
  })
  return written(byDefault === undefined ? schema : schema.prefault(byDefault), {
    type: 'string',
    ...(byDefault === undefined ? {} : { default: byDefault }),
    examples: ['2026-11-21T10:00:00Z', ...(isAhead ? [] : ['24h'])],
  })
}

const MOMENT = 'must be a time like 2026-11-21T10:00:00Z'

/** One e-mail address, of a form or a body. */
export function mailbox() {
  return z.string(MUST_BE_MAILBOX).trim().max(LONGEST_MAILBOX, 'is too long').refine(isMailbox, MUST_BE_MAILBOX)
}

export function oneOf<const T extends readonly string[]>(values: T) {
  return z.enum(values, `must be one of ${values.filter((value) => value !== '').join(', ')}`)
}

/** The value of `next` in a list. Clients hand it back unchanged. */
export function cursor<S extends z.ZodType>(schema: S): S {
  return written(schema, { type: 'string', description: 'Go on behind this: `next` of the answer before.' })
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
