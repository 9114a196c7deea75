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

const A_MOMENT = 'ISO 8601, UTC where it has no offset'
const AGO = '; or how long ago: 30m, 24h, 7d'

const A_FLAG = { type: 'string', enum: ['true', 'false'], default: 'false' }

/** A query may have a parameter twice, a body anything. */
function textFault({ input }: { input?: unknown }): string {
  return Array.isArray(input) ? 'must be given once' : 'must be a text'
}

/** Schemas of a request's fields, by their kinds. */
const SCHEMAS: Readonly<Record<FieldKind, (field: Field, byDefault: string | undefined) => z.ZodType>> = {
  text: ({ most = 200, choices, parse, must }) => {
    if (choices !== undefined) return oneOf(choices)
    const text = z
      .string({ error: must ?? textFault })
      .trim()
      .max(most, `is longer than ${most} characters`)
    if (parse === undefined) return text
    return written(
      text.transform(parse).refine((read) => read !== undefined, must),
      { type: 'string' },
    )
  },
  moment: ({ isAhead }, byDefault) => momentOrAgo(byDefault, isAhead),
  account: () => numberInQuery(1, Number.MAX_SAFE_INTEGER),
  json: ({ schema }) => schema ?? z.unknown(),
  flag: () =>
    written(
      oneOf(['true', 'false'])
        .default('false')
        .transform((given) => given === 'true'),
      A_FLAG,
    ),
}

/** The schemas of an operation's fields over the API, by their names there. */
export function fieldSchemas(fields: Fields): Record<string, z.ZodType> {
  return Object.fromEntries(
    fieldsOf(fields, 'api').map(([name, field]) => [
      name,
      schemaOf(field, 'api').describe(sentence(`${field.is}${hintOf(field)}`)),
    ]),
  )
}

function hintOf({ kind, isAhead }: Field): string {
  return kind === 'moment' ? `: ${A_MOMENT}${isAhead ? '' : AGO}` : ''
}

/** Reads an operation by the query of a page, or its form; a form sends an empty text for an unset choice. */
export function readForPage<F extends Fields, V>(
  operation: Operation<F, V>,
  deps: ActingDeps,
  request: FastifyRequest,
  limit: number,
): Promise<V> {
  const { takes, pages } = operation
  const fields = fieldsOf(takes, 'command')
  const schemas = fields.map(([, field, called]) => [called, unlessEmpty(schemaOf(field, 'command'))])
  const place = z.string('must be given once').regex(pages?.cursor ?? /./, 'leads nowhere')
  const schema = z.object({ ...Object.fromEntries(schemas), after: unlessEmpty(place.optional()) })
  const { after, ...read }: Record<string, unknown> = check(schema, request.query)
  const page = { limit, after: after as string | undefined }
  const given = Object.fromEntries(fields.map(([name, , called]) => [name, read[called]]))
  const asked = { given: given as Given<F>, who: whoOf(request), now: deps.clock.now() }
  return carryOut(operation, deps, { ...asked, page, isForPeople: true })
}

function unlessEmpty(schema: z.ZodType) {
  return z.preprocess((given) => (given === '' ? undefined : given), schema)
}

function schemaOf(field: Field, surface: Surface): z.ZodType {
  const byDefault = defaultOf(field, surface)
  const schema = SCHEMAS[field.kind](field, byDefault)
  if (field.kind === 'text' && byDefault !== undefined) return schema.default(byDefault)
  return field.isRequired || field.kind === 'flag' || byDefault !== undefined ? schema : schema.optional()
}

/** `only this` as a document has it: `Only this.` */
export function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
