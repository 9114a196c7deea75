import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { areaOf, scopeFor } from '../../src/http/access/access.ts'
import { API_ROUTES } from '../../src/http/api/serve-api.ts'
import { PROBLEM_KINDS } from '../../src/http/problem.ts'
import { redisOfFile } from '../support/of-file.ts'
import { openServer } from './open-server.ts'

const redis = redisOfFile()

interface Operation {
  operationId: string
  summary: string
  security: { adminToken: string[] }[]
  parameters: { name: string; in: string; schema: Record<string, unknown>; description?: string }[]
  responses: Record<string, { content: Record<string, { schema: object }> }>
  requestBody?: { required: boolean; content: Record<string, { schema: Record<string, unknown> }> }
}
interface Document {
  openapi: string
  info: { version: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, { description?: string; properties?: Record<string, object> }> }
}

const read = async () => {
  const { get, server } = await openServer(redis)
  const { status, headers, json } = await get('/api/v1/openapi.json')
  expect([status, headers['content-type']]).toEqual([200, 'application/json; charset=utf-8'])
  return { document: json as Document, server }
}

test('the document is valid OpenAPI 3.1', async () => {
  const { document } = await read()
  const result = await new Validator().validate(structuredClone({ ...document }) as Record<string, unknown>)
  expect(result).toMatchObject({ valid: true })
  expect(document.openapi).toMatch(/^3\.1\./)
  expect(document.servers).toEqual([{ url: 'http://127.0.0.1/api/v1' }])
})

test('it has every address of the API with its methods, and no other', async () => {
  const { document, server } = await read()
  const documented = Object.entries(document.paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((method) => `${method.toUpperCase()} /api/v1${path.replace(/\{(\w+)\}/g, ':$1')}`),
  )
  const answering = [...server.routes].flatMap(([url, methods]) =>
    url.startsWith('/api')
      ? [...methods].filter((method) => method !== 'HEAD').map((method) => `${method} ${url}`)
      : [],
  )
  expect(documented.toSorted()).toEqual(answering.toSorted())
  expect(documented.length).toBeGreaterThan(20)
})

test('each operation asks for the scope that the guard asks for', async () => {
  const { document } = await read()
  for (const { method, path, id } of API_ROUTES) {
    const url = `/api/v1${path.replace(/\{(\w+)\}/g, ':$1')}`
    const area = areaOf(url, method, url, false)
    if (area === 'open') throw new Error(`${url} is open to all`)
    const operation = document.paths[path]?.[method.toLowerCase()]
    expect([id, operation?.security]).toEqual([id, [{ adminToken: [scopeFor(area)] }]])
  }
})

test('names are unique, and everything is described: operations, components, their fields, parameters', async () => {
  const { document } = await read()
  const operations = Object.values(document.paths).flatMap((one) => Object.values(one))
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  for (const { operationId, summary, parameters } of operations) {
    expect(summary, operationId).toMatch(/^[A-Z]/)
    for (const { name, schema, description } of parameters) {
      expect(schema, `${operationId} ${name}`).not.toEqual({})
      expect(description, `${operationId} ${name}`).toMatch(/./)
    }
  }
  for (const [name, { description }] of Object.entries(document.components.schemas)) {
    expect(description, name).toMatch(/./)
  }
})

test('objects that are answered are open: later versions add fields', async () => {
  const { document } = await read()
  for (const [name, schema] of Object.entries(document.components.schemas)) {
    expect(JSON.stringify(schema), name).not.toContain('"additionalProperties":false')
  }
})

test('a query says numbers and times as whoever asks writes them', async () => {
  const { document } = await read()
  const parameter = (path: string, name: string) =>
    document.paths[path]?.get?.parameters.find((one) => one.name === name)?.schema
  expect(parameter('/accounts', 'limit')).toEqual({ type: 'integer', minimum: 1, maximum: 500, default: 100 })
  expect(parameter('/accounts', 'after')).toEqual({ type: 'string' })
  expect(parameter('/accounts', 'state')).toMatchObject({ enum: expect.arrayContaining(['active', 'parked']) })
  expect(parameter('/accounts/{hubId}/snapshots', 'from')).toMatchObject({ type: 'string' })
  expect(document.paths['/accounts/{hubId}']?.get?.parameters).toMatchObject([
    { name: 'hubId', in: 'path', required: true, schema: { type: 'integer', minimum: 1 } },
  ])
  const body = document.paths['/silences']?.post?.requestBody
  expect(body?.required).toBe(true)
  expect(body?.content['application/json']?.schema).toMatchObject({
    required: ['matchers', 'comment', 'endsAt'],
    properties: { endsAt: { type: ['string', 'integer'] } },
  })
  expect(document.paths['/accounts/{hubId}/uninstall']?.post?.requestBody?.required).toBe(false)
})

test('who may not read the API may not read the document', async () => {
  const { ask } = await openServer(redis)
  expect((await ask('GET', '/api/v1/openapi.json')).status).toBe(401)
})

test('the kinds of problems are never renamed', () => {
  expect(PROBLEM_KINDS).toEqual([
    ...['invalid-request', 'unauthorized', 'forbidden', 'not-found', 'method-not-allowed', 'request-timeout'],
    ...['conflict', 'gone', 'body-too-large', 'address-too-long', 'unsupported-media-type', 'too-many-requests'],
    ...['headers-too-large', 'internal-error', 'provider-error', 'unavailable'],
    ...['reauthorize', 'ambiguous', 'redis-away'],
  ])
})
