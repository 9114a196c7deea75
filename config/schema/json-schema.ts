import * as z from 'zod'
import { configSchema } from './schema.ts'
import { twinOf } from './shape.ts'

type Json = Record<string, unknown>

/** JSON Schema (draft 2020-12) of the file as it is written, for editors: completion, help, checks. */
export function configJsonSchema(): Json {
  const { $schema, ...schema } = z.toJSONSchema(configSchema, { target: 'draft-2020-12', io: 'input' }) as Json
  return {
    $schema,
    title: 'Plimsoll config',
    ...asWritten(schema),
    $defs: {
      environment: { description: 'Taken from environment variables: ${NAME}.', type: 'string', pattern: '\\$\\{' },
    },
  }
}

/** The schema of what the file may have, made of the one of its value. */
function asWritten(schema: Json): Json {
  const { oneOrMany, ...plain } = schema
  if (isJson(plain.properties)) return group(plain, plain.properties)
  if (isJson(plain.additionalProperties))
    return { ...plain, additionalProperties: asWritten(plain.additionalProperties) }
  if (Array.isArray(plain.oneOf)) return { ...plain, oneOf: plain.oneOf.map((group) => asWritten(group as Json)) }
  const options = Array.isArray(plain.anyOf) ? (plain.anyOf as Json[]) : []
  if (options.some((option) => isJson(option.items))) return { ...plain, anyOf: options.map(asWritten) }
  if (!isJson(plain.items)) return withEnvironment(plain)
  const list: Json = { ...plain, items: asWritten(plain.items) }
  if (oneOrMany !== true) return list
  const { description, default: fallback, ...many } = list
  // Marked as a whole, for `withTwins`.
  const { writeOnly } = list.items as Json
  return { ...defined({ description, default: fallback, writeOnly }), anyOf: [list.items, many] }
}

function group(plain: Json, properties: Json): Json {
  const written = mapValues(properties, asWritten) as Record<string, Json>
  const required = Array.isArray(plain.required) ? [...plain.required] : []
  for (const [name, schema] of Object.entries(written)) {
    // The default of a group is the empty one; where that is not enough, there is none.
    if (!isJson(schema.default) || !Array.isArray(schema.required) || schema.required.length === 0) continue
    delete schema.default
    required.push(name)
  }
  return withTwins({ ...plain, properties: written, ...(required.length > 0 ? { required } : {}) })
}

/** Any value may also be `${NAME}`. What is text anyway needs no extra leave. */
function withEnvironment(schema: Json): Json {
  const { description, default: fallback, examples, writeOnly, ...rule } = schema
  if (Object.keys(rule).length === 0 || rule.const !== undefined) return schema
  if (rule.type === 'string' && rule.pattern === undefined && rule.enum === undefined) return schema
  const said = defined({ description, default: fallback, examples, writeOnly })
  return { ...said, anyOf: [...(Array.isArray(rule.anyOf) ? rule.anyOf : [rule]), { $ref: '#/$defs/environment' }] }
}

/** Each secret may be in a file instead: then that file's path is required, and not both. */
function withTwins(group: Json): Json {
  const properties = group.properties as Record<string, Json>
  const secrets = Object.keys(properties).filter((name) => isSecret(properties[name]))
  if (secrets.length === 0) return group
  const required = Array.isArray(group.required) ? group.required : []
  const twins = secrets.map((name) => [
    twinOf(name),
    {
      type: 'string',
      description: `A file that holds \`${name}\`${isList(properties[name]) ? ', one a line' : ''}.`,
    },
  ])
  return {
    ...group,
    properties: { ...properties, ...Object.fromEntries(twins) },
    required: required.filter((name) => !secrets.includes(name)),
    allOf: secrets.map((name) => {
      const [given, inFile] = [{ required: [name] }, { required: [twinOf(name)] }]
      return required.includes(name) ? { oneOf: [given, inFile] } : { not: { allOf: [given, inFile] } }
    }),
  }
}

const isSecret = (schema: Json | undefined): boolean =>
  schema !== undefined && (schema.writeOnly === true || (isJson(schema.items) && schema.items.writeOnly === true))

const isList = ({ type, anyOf }: Json = {}): boolean => type === 'array' || (Array.isArray(anyOf) && anyOf.some(isList))

const isJson = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

const mapValues = (values: Json, map: (value: Json) => Json): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, map(value as Json)]))

const defined = (values: Json): Json =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined))
