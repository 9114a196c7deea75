import type { FastifyRequest } from 'fastify'
import * as z from 'zod'
import type { ActingDeps } from '../operations/deps.ts'
import {
  defaultOf,
  type Field,
  type FieldKind,
  type Fields,
  fieldsOf,
  type Given,
  type Surface,
} from '../operations/field.ts'
import { carryOut, type Operation } from '../operations/operation.ts'
import { whoOf } from './access/who.ts'
import { check, momentOrAgo, numberInQuery, oneOf, written } from './query.ts'

const A_MOMENT = 'ISO 8601, UTC where it has no offset; milliseconds since 1970; or how long ago: 30m, 24h, 7d'

const A_FLAG = { type: 'string', enum: ['true', 'false'], default: 'false' }

/** A query may have a parameter twice, a body anything. */
function textFault({ input }: { input?: unknown }): string {
  return Array.isArray(input) ? 'must be given once' : 'must be a text'
}

/** How what a request has of a field is read. */
const SCHEMAS: Readonly<Record<FieldKind, (field: Field, surface: Surface) => z.ZodType>> = {
  text: ({ most = 200 }) => z.string({ error: textFault }).trim().max(most, `is longer than ${most} characters`),
  choice: ({ choices = [], ...field }, surface) => withDefault(oneOf(choices), defaultOf(field, surface)),
  moment: (field, surface) => momentOrAgo(defaultOf(field, surface)),
  account: () => numberInQuery(1, Number.MAX_SAFE_INTEGER),
  flag: () =>
    written(
      oneOf(['true', 'false'])
        .default('false')
        .transform((given) => given === 'true'),
      A_FLAG,
    ),
}

/** The schemas of what an operation takes over the API, by the names that they have there. */
export function fieldSchemas(fields: Fields): Record<string, z.ZodType> {
  return Object.fromEntries(
    fieldsOf(fields, 'api').map(([name, field]) => [
      apiNameOf(name, field),
      schemaOf(field, 'api').describe(sentence(field.kind === 'moment' ? `${field.is}: ${A_MOMENT}` : field.is)),
    ]),
  )
}

/** What the query of a page, or its form, asks an operation for; a form sends an empty text for what was not chosen. */
export function readForPage<F extends Fields, V>(
  operation: Operation<F, V>,
  deps: ActingDeps,
  request: FastifyRequest,
  limit: number,
): Promise<V> {
  const { takes, pages } = operation
  const schemas = fieldsOf(takes, 'command').map(([name, field]) => [name, unlessEmpty(schemaOf(field, 'command'))])
  const place = z.string('must be given once').regex(pages?.cursor ?? /./, 'leads nowhere')
  const schema = z.object({ ...Object.fromEntries(schemas), after: unlessEmpty(place.optional()) })
  const { after, ...given } = check(schema, request.query)
  const page = { limit, after: after as string | undefined }
  const asked = { given: given as Given<F>, who: whoOf(request), now: deps.clock.now() }
  return carryOut(operation, deps, { ...asked, page, isForPeople: true })
}

function withDefault<S extends z.ZodType>(schema: S, byDefault: string | undefined): z.ZodType {
  return byDefault === undefined ? schema : schema.default(byDefault as z.util.NoUndefined<z.output<S>>)
}

function unlessEmpty(schema: z.ZodType) {
  return z.preprocess((given) => (given === '' ? undefined : given), schema)
}

export function apiNameOf(name: string, { kind, apiName }: Field): string {
  return apiName ?? (kind === 'account' ? 'hubId' : name)
}

function schemaOf(field: Field, surface: Surface): z.ZodType {
  const schema = SCHEMAS[field.kind](field, surface)
  return field.isRequired || field.kind === 'flag' || defaultOf(field, surface) !== undefined
    ? schema
    : schema.optional()
}

/** `only this` as a document has it: `Only this.` */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
