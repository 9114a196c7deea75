import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { scopesFor } from '../../src/http/access/access.ts'
import { SCOPES } from '../../src/http/access/scopes.ts'
import { PROBLEM_KINDS } from '../../src/http/problem.ts'
import { OPERATIONS } from '../../src/operations/all-operations.ts'
import { foresee } from '../support/forecasts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { exampleAddress } from './as-documented.ts'
import { BEARER, JSON_BODY, openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()

interface Operation {
  operationId: string
  summary: string
  security: { adminToken: string[] }[]
  parameters?: { name: string; in: string; schema: Record<string, unknown>; description?: string }[]
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
    url.startsWith('/api/')
      ? [...methods].filter((method) => method !== 'HEAD').map((method) => `${method} ${url}`)
      : [],
  )
  expect(documented.toSorted()).toEqual(answering.toSorted())
  expect(documented.length).toBeGreaterThan(20)
})

test('names are unique, and everything is described: operations, components, their fields, parameters', async () => {
  const { document } = await read()
  const operations = Object.values(document.paths).flatMap((one) => Object.values(one))
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  for (const { operationId, summary, parameters = [] } of operations) {
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
    document.paths[path]?.get?.parameters?.find((one) => one.name === name)?.schema
  expect(parameter('/accounts', 'limit')).toEqual({ type: 'integer', minimum: 1, maximum: 500, default: 100 })
  expect(parameter('/accounts', 'after')).toEqual({ type: 'string' })
  expect(parameter('/accounts', 'state')).toMatchObject({ enum: expect.arrayContaining(['active', 'parked']) })
  expect(parameter('/accounts/{hubId}/snapshots', 'from')).toMatchObject({ type: 'string' })
  expect(document.paths['/accounts/{hubId}']?.get?.parameters).toMatchObject([
    { name: 'hubId', in: 'path', required: true, schema: { type: ['integer', 'string'], minimum: 1 } },
  ])
  const body = document.paths['/silences']?.post?.requestBody
  expect(body?.required).toBe(true)
  expect(body?.content['application/json']?.schema).toMatchObject({
    required: ['comment'],
    properties: { endsAt: { type: 'string' } },
  })
  expect(document.paths['/accounts/{hubId}/uninstall']?.post?.requestBody?.required).toBe(false)
})

test('the kinds of problems are never renamed', () => {
  expect(PROBLEM_KINDS).toEqual([
    'invalid-request',
    'unauthorized',
    'forbidden',
    'not-found',
    'method-not-allowed',
    'request-timeout',
    'conflict',
    'gone',
    'body-too-large',
    'address-too-long',
    'unsupported-media-type',
    'too-many-requests',
    'headers-too-large',
    'internal-error',
    'provider-error',
    'unavailable',
    'reauthorize',
    'ambiguous',
    'redis-away',
  ])
})

/** Two accounts, of one a critical series that is full soon, a silence, and a delivery that was given up. */
async function seeded() {
  const tested = { outcome: { outcome: 'retry', reason: 'no answer', answer: 503 }, ms: 4, fix: 'try again' } as const
  const server = await openServer(redis, {
    actions: { testReceiver: async () => ({ ...tested, noted: 'recorded' }) },
  })
  const { clock, connectAccount, poll, steps, keys, deps } = server
  const now = clock.now()
  await deps.audit.note({ action: 'silence.added', who: { name: 'ann', via: 'token' }, subject: 's-4k7mp' })
  await connectAccount({ hubId: 1234567, hubDomain: 'acme.example.com', user: 'ann@example.com' })
  await connectAccount({ hubId: 7654321, hubDomain: 'globex.example.com' })
  const full = openState('critical', 'full', now)
  const shown = { 'associations/0-1/0-2': { at: now, atLimit: [{ objectId: 31, label: 'Ann' }], nearLimit: [] } }
  await poll(1234567, readings(now, 960), { overall: full }, shown)
  const pace = { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 }
  await foresee(steps, keys, 1234567, { at: now, rising: { overall: pace } })
  const silence = {
    matchers: [{ name: 'kind', value: 'token' }],
    author: 'ann',
    comment: 'x',
    createdAt: now,
    endsAt: now + 600_000,
  }
  await steps.hset(keys.delivery.silences, 's-4k7mp', JSON.stringify(silence))
  await deps.receiverStore.see(['ops-hook'], now)
  const attempt = { at: now, id: 'd1', receiver: 'ops-hook', type: 'alert.firing', attempt: 1, outcome: 'retry' }
  await server.addToken('billing', 'tokens')
  await steps.xadd(keys.delivery.log, '*', ...Object.entries({ ...attempt, reason: 'no' }).flat())
  clock.move(60_000)
  return server
}

const withExample = OPERATIONS.filter(({ example }) => example !== undefined)

test.each(withExample.map((operation) => [operation.id, operation] as const))(
  'the example of %s works, with its scope and no other, and for nobody without a token',
  async (_id, operation) => {
    const { ask, addToken, signIn, steps, keys, clock } = await seeded()
    const { method, example, answers, scope } = operation
    const body = example?.body && JSON.stringify(example.body)
    // node leaves the length of what a DELETE carries to whoever sends it.
    const more = body === undefined ? {} : { ...JSON_BODY, 'content-length': String(Buffer.byteLength(body)) }
    const other = await addToken('other', ...SCOPES.filter((one) => one !== scope).slice(0, 3))
    const refused = await ask(method, exampleAddress(operation), { ...more, authorization: `Bearer ${other}` }, body)
    expect(refused.status, refused.text).toBe(403)
    const needed = scopesFor(scope).join(' ')
    expect(refused.headers['www-authenticate']).toBe(`Bearer error="insufficient_scope", scope="${needed}"`)
    // A session reads, but changes nothing and gets no token.
    if (scope === 'write' || scope === 'tokens') {
      const bySession = await ask(method, exampleAddress(operation), { ...more, ...(await signIn()) }, body)
      expect(bySession).toMatchObject({ status: 403, json: { detail: expect.stringContaining('Bearer') } })
    }
    await steps.hdel(keys.adminTokens, 'other')
    clock.move(1_000)
    for (const who of [{}, { authorization: 'Bearer wrong' }, { authorization: `Bearer ${other}` }]) {
      const strange = await ask(method, exampleAddress(operation), { ...more, ...who }, body)
      expect(strange).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
    }
    const answer = await ask(method, exampleAddress(operation), { ...BEARER, ...more }, body)
    expect(Object.keys(answers), answer.text).toContain(String(answer.status))
    const { items } = answer.json ?? {}
    const mayBeEmpty = ['listTransitions', 'listAdminTokens'].includes(operation.id)
    if (items !== undefined && !mayBeEmpty) expect(items.length).toBeGreaterThan(0)
  },
)

test('what a body may not have is refused by name, with the way it should be', async () => {
  const { ask } = await seeded()
  const post = (path: string, body: string, type = 'application/json') =>
    ask('POST', `/api/v1${path}`, { ...BEARER, 'content-type': type }, body)
  expect((await post('/deliveries/replay', '{"since":"yesterday","reciever":"x"}')).json).toMatchObject({
    type: 'urn:plimsoll:problem:invalid-request',
    errors: [
      {
        parameter: 'since',
        detail: 'must be a time like 2026-11-21T18:00 (in http.timeZone) or 2026-11-21T18:00:00Z, or how long ago: 24h',
      },
      { parameter: 'reciever', detail: 'is not known here' },
    ],
  })
  expect((await post('/deliveries/replay', '{"since":"2031-01-01"}')).json.errors).toEqual([
    { parameter: 'since', detail: 'lies in the future' },
  ])
  expect((await post('/receivers/ops-hook/test', '{', 'application/json')).json).toMatchObject({ status: 400 })
})
