import * as z from 'zod'
import packageJson from '../../../package.json' with { type: 'json' }
import { STATUS_CODES } from '../../runtime/node-http.ts'
import { ProblemShape } from '../problem-shape.ts'
import { WRITTEN } from '../query.ts'
import { type Described, NO_BODY } from './route.ts'

type Json = Record<string, unknown>

/** Statuses of every route: no admin token, one without the scope, Redis away, a fault of ours. */
const ALWAYS = [401, 403, 500, 503]
const REFS = '#/components/schemas/'

/** OpenAPI 3.1, of the same declarations that make the server answer. */
export function openApiDocument(routes: readonly Described[], publicUrl: string): Json {
  const { schemas, components } = jsonSchemas(routes)
  return {
    openapi: '3.1.1',
    info: {
      title: 'Plimsoll',
      version: packageJson.version,
      description: ABOUT,
      license: { name: packageJson.license, identifier: packageJson.license },
    },
    servers: [{ url: `${publicUrl}/api/v1` }],
    security: [{ adminToken: [] }],
    tags: tagsOf(routes),
    paths: pathsOf(routes, schemas),
    components: {
      schemas: components,
      securitySchemes: {
        adminToken: {
          type: 'http',
          scheme: 'bearer',
          description:
            'An admin token: `plimsoll admin-tokens add`. Its scopes are read, tokens, write and audit. For reading, the cookie of ' +
            'a signed-in browser does too.',
        },
      },
    },
  }
}

const ABOUT = `JSON for programs: the same facts as the status pages show.

Times are ISO 8601, UTC; null means never. Lists have \`items\`, and \`next\` while there is more: it goes back in as
\`after\`. Every other answer is a problem (RFC 9457); its \`type\` names it.

Within /api/v1 nothing is renamed, removed or given another meaning. Fields, values of \`type\` and addresses are added:
take no offence at one that you don't know.`

function tagsOf(routes: readonly Described[]): Json[] {
  return [...new Set(routes.map(tagOf))].map((name) => ({ name }))
}

function tagOf({ path }: Described): string {
  return path.split('/')[1] ?? ''
}

function pathsOf(routes: readonly Described[], schemas: ReadonlyMap<string, Json>): Json {
  const paths: Record<string, Json> = {}
  for (const route of routes) {
    paths[route.path] = { ...paths[route.path], [route.method.toLowerCase()]: operationOf(route, schemas) }
  }
  return paths
}

function operationOf(route: Described, schemas: ReadonlyMap<string, Json>): Json {
  const { id, summary, description, scope, body } = route
  return {
    operationId: id,
    tags: [tagOf(route)],
    summary,
    description: [description, `Scope: ${scope}.`].filter((text) => text !== undefined).join('\n\n'),
    security: [{ adminToken: [scope] }],
    parameters: [...parametersOf(route, 'path', schemas), ...parametersOf(route, 'query', schemas)],
    ...(body === NO_BODY ? {} : { requestBody: bodyOf(route, schemas) }),
    responses: responsesOf(route, schemas),
  }
}

function parametersOf(route: Described, place: 'path' | 'query', schemas: ReadonlyMap<string, Json>): Json[] {
  const { properties = {}, required = [] } = schemaOf(schemas, route, place) as {
    properties?: Record<string, Json>
    required?: string[]
  }
  const examples = (place === 'path' ? route.example.params : route.example.query) ?? {}
  return Object.entries(properties).map(([name, { description, ...schema }]) => ({
    name,
    in: place,
    required: place === 'path' || required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema,
    ...(examples[name] === undefined ? {} : { example: examples[name] }),
  }))
}

function bodyOf(route: Described, schemas: ReadonlyMap<string, Json>): Json {
  const { example } = route
  return {
    required: !route.body.safeParse(undefined).success,
    content: {
      'application/json': {
        schema: schemaOf(schemas, route, 'body'),
        ...(example.body === undefined ? {} : { example: example.body }),
      },
    },
  }
}

function responsesOf(route: Described, schemas: ReadonlyMap<string, Json>): Json {
  const good = Object.entries(route.answers).map(([status, { description, lines = [] }]) => [
    status,
    {
      description,
      content: {
        'application/json': { schema: schemaOf(schemas, route, status) },
        ...Object.fromEntries(lines.map((type) => [type, { schema: { type: 'string' } }])),
      },
    },
  ])
  return Object.fromEntries([...good, ...problemsOf(route).map((status) => [status, problemResponse(status)])])
}

/** The statuses of a route's problems. */
export function problemsOf({ problems, body }: Described): number[] {
  return [...new Set([...problems, ...(body === NO_BODY ? [] : [400, 413, 415]), ...ALWAYS])]
}

function problemResponse(status: number): Json {
  return {
    description: STATUS_CODES[status] ?? 'A problem',
    ...(status === 503 ? { headers: { 'Retry-After': { description: 'Seconds.', schema: { type: 'integer' } } } } : {}),
    content: { 'application/problem+json': { schema: { $ref: `${REFS}Problem` } } },
  }
}

function schemaOf(schemas: ReadonlyMap<string, Json>, route: Described, part: string): Json {
  return schemas.get(`${route.id} ${part}`) ?? {}
}

/** All at once, so that a shape of several routes is one component. As requests write it, and readers may take it. */
function jsonSchemas(routes: readonly Described[]): { schemas: Map<string, Json>; components: Json } {
  const parts = routes.flatMap((route): [string, z.ZodType][] => [
    [`${route.id} path`, route.params],
    [`${route.id} query`, route.query],
    [`${route.id} body`, route.body],
    ...Object.entries(route.answers).map(([status, { json }]): [string, z.ZodType] => [`${route.id} ${status}`, json]),
  ])
  const all = z.object({ ...Object.fromEntries(parts), Problem: ProblemShape })
  const whole = z.toJSONSchema(all, {
    target: 'draft-2020-12',
    io: 'input',
    override: ({ jsonSchema }) => sayAsWritten(jsonSchema),
  })
  const { properties = {}, $defs = {} } = JSON.parse(JSON.stringify(whole).replaceAll('"#/$defs/', `"${REFS}`)) as {
    properties?: Record<string, Json>
    $defs?: Json
  }
  return { schemas: new Map(Object.entries(properties)), components: $defs }
}

/** A check reads numbers and times from texts; callers need not know. */
function sayAsWritten(schema: z.core.JSONSchema.BaseSchema): void {
  const { [WRITTEN]: said, description } = schema
  if (said === undefined) return
  for (const key of Object.keys(schema)) delete schema[key]
  Object.assign(schema, said, description === undefined ? {} : { description })
}
