import * as z from 'zod'
import { secretsIn, twinOf } from './names.ts'
import { configSchema } from './schema.ts'

type Json = Record<string, unknown>

const ENVIRONMENT = { $ref: '#/$defs/environment' }

/** JSON Schema (draft 2020-12) of the file as it is written, for editors: completion, help, checks. */
export function configJsonSchema(): Json {
  const { $schema, ...schema } = jsonOf(configSchema)
  return {
    $schema,
    title: 'Plimsoll config',
    ...schema,
    $defs: {
      environment: { description: 'Taken from environment variables: ${NAME}.', type: 'string', pattern: '\\$\\{' },
    },
  }
}

const jsonOf = (schema: z.core.$ZodType): Json => z.toJSONSchema(schema, { io: 'input', override: asWritten }) as Json

function asWritten({ zodSchema, jsonSchema }: { zodSchema: z.core.$ZodTypes; jsonSchema: Json }): void {
  if (zodSchema instanceof z.ZodObject) asGroup(zodSchema.shape, jsonSchema)
  else if (zodSchema instanceof z.ZodCodec && zodSchema.out instanceof z.ZodArray)
    asOneOrMany(zodSchema.out, jsonSchema)
  else if (isValue(zodSchema)) withEnvironment(jsonSchema)
}

function isValue(schema: z.core.$ZodTypes): boolean {
  if (schema instanceof z.ZodCodec) return schema.in instanceof z.ZodUnknown
  return schema instanceof z.ZodEnum || schema instanceof z.ZodString
}

/** The default of a group is the empty one; where that is not enough, it is required. Each secret may be in a file. */
function asGroup(settings: Readonly<Record<string, z.core.$ZodType>>, json: Json): void {
  const properties = json.properties as Record<string, Json>
  const required = new Set(json.required as string[])
  for (const [name, property] of Object.entries(properties)) {
    if (!Array.isArray(property.required) || property.required.length === 0 || property.default === undefined) continue
    delete property.default
    required.add(name)
  }
  const secrets = secretsIn(settings)
  for (const name of secrets) {
    const lines = properties[name]?.anyOf === undefined ? '' : ', one a line'
    properties[twinOf(name)] = { type: 'string', description: `A file that holds \`${name}\`${lines}.` }
  }
  const ways = secrets.map((name) => {
    const [given, inFile] = [{ required: [name] }, { required: [twinOf(name)] }]
    return required.delete(name) ? { oneOf: [given, inFile] } : { not: { allOf: [given, inFile] } }
  })
  if (ways.length > 0) json.allOf = ways
  json.required = [...required]
}

function asOneOrMany(list: z.ZodArray, json: Json): void {
  const { $schema: _, ...item } = jsonOf(list.element)
  const { $schema: __, ...items } = jsonOf(list)
  json.anyOf = [item, items]
  if (item.writeOnly !== undefined) json.writeOnly = item.writeOnly
}

/** Any value may also be `${NAME}`. What is text anyway needs no extra leave. */
function withEnvironment(json: Json): void {
  const { description, default: fallback, examples, writeOnly, anyOf, ...rule } = json
  if (Object.keys(rule).length === 1 && rule.type === 'string') return
  for (const name of Object.keys(rule)) delete json[name]
  json.anyOf = [...(Array.isArray(anyOf) ? anyOf : [rule]), ENVIRONMENT]
}
