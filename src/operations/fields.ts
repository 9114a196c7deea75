import * as z from 'zod'
import { capitalized } from '../text/format-number.ts'
import type { FieldMeta } from './input.ts'

/** A field of an input, as its schema describes it. */
export interface Field {
  name: string
  /** A phrase: lower case, without a dot at the end. */
  description: string
  isRequired: boolean
  default?: string | number | boolean
  choices?: readonly string[]
  kind: 'text' | 'flag' | 'number' | 'list'
  meta: FieldMeta
}

interface Property extends FieldMeta {
  description?: string
  type?: string | readonly string[]
  enum?: readonly string[]
  default?: string | number | boolean
}

/** The JSON Schema of an input as it is sent, with what its fields say of themselves. */
function sentSchema(input: z.ZodObject): { properties: Record<string, Property>; required: readonly string[] } {
  const options = { io: 'input', unrepresentable: 'any', override: asSent } as const
  const { properties = {}, required = [] } = z.toJSONSchema(input, options) as {
    properties?: Record<string, Property>
    required?: string[]
  }
  return { properties, required }
}

/** In place of the schema that a check begins with, that of the value that is sent. */
function asSent({ jsonSchema }: { jsonSchema: Record<string, unknown> }): void {
  const { 'x-sent': sent, ...rest } = jsonSchema
  if (sent === undefined) return
  for (const key of Object.keys(jsonSchema)) delete jsonSchema[key]
  const kept = Object.entries(rest).filter(([key]) => key.startsWith('x-') || KEPT.has(key))
  Object.assign(jsonSchema, sent, Object.fromEntries(kept))
}

const KEPT = new Set(['description', 'default'])

/** The same for the document: without what only the command line needs, and described in sentences. */
export function asDocumented(context: { zodSchema: unknown; jsonSchema: Record<string, unknown> }): void {
  asSent(context)
  const { zodSchema, jsonSchema } = context
  for (const key of Object.keys(jsonSchema)) if (key.startsWith('x-')) delete jsonSchema[key]
  const { description } = jsonSchema
  if (typeof description === 'string') jsonSchema.description = sentence(description)
  // A later version adds fields to what is answered.
  const isStrict = zodSchema instanceof z.ZodObject && zodSchema.def.catchall instanceof z.ZodNever
  if (!isStrict) delete jsonSchema.additionalProperties
}

/** `only this` as a document has it: `Only this.` What begins as a sentence is one. */
export function sentence(text: string): string {
  return /^[a-z][a-z'-]*(?:[ ,:]|$)/.test(text) ? `${capitalized(text)}.` : text
}

/** Kept: every API that is opened asks for all of them. */
const known = new WeakMap<z.ZodObject, readonly Field[]>()

export function fieldsOf(input: z.ZodObject): readonly Field[] {
  const fields = known.get(input) ?? readFields(input)
  known.set(input, fields)
  return fields
}

function readFields(input: z.ZodObject): Field[] {
  const { properties, required } = sentSchema(input)
  return Object.entries(properties).map(
    ([name, { description = '', type, enum: choices, default: byDefault, ...meta }]) => ({
      name,
      description,
      isRequired: required.includes(name) && byDefault === undefined,
      ...(byDefault === undefined ? {} : { default: byDefault }),
      ...(choices === undefined ? {} : { choices }),
      kind: kindOf(type),
      meta,
    }),
  )
}

function kindOf(type: Property['type']): Field['kind'] {
  if (type === 'boolean') return 'flag'
  if (type === 'array') return 'list'
  return type === 'integer' ? 'number' : 'text'
}
