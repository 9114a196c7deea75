import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, test } from 'vitest'
import { ProblemShape } from '../../src/http/problem-shape.ts'
import { isRedisAway } from '../../src/redis/away.ts'
import { faultsOf } from '../support/json-schemas.ts'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, FORM, JSON_BODY, openServer } from './open-server.ts'

const redis = redisOfFile()

/** What stands on the connection, word for word. */
async function raw(url: string, request: string): Promise<{ status: number; type: string; json: object }> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(request)
  const [head = '', body = ''] = (await text(socket)).split('\r\n\r\n')
  const [, status] = /^HTTP\/1\.1 (\d+) /.exec(head) ?? []
  const [, type = ''] = /^content-type: (.*)$/im.exec(head) ?? []
  return { status: Number(status), type: type.trim(), json: JSON.parse(body) }
}

describe('whatever is wrong is told as a problem', () => {
  test.each(['/%61pi/v1/accounts', '/api/v1/%61ccounts', 'http://elsewhere.example/api/v1/accounts'])(
    'of an address of the API too that is written otherwise: %s',
    async (path) => {
      const { ask } = await openServer(redis)
      const { status, headers } = await ask('GET', path)
      expect(status).toBe(401)
      expect(headers['content-type']).toContain('application/problem+json')
    },
  )

  test.each([
    [
      'headers too long',
      `GET /api/v1/status HTTP/1.1\r\nhost: x\r\nx-long: ${'x'.repeat(20_000)}\r\n\r\n`,
      431,
      'headers-too-large',
    ],
    [
      'an address too long',
      `GET /api/v1/status?${'x'.repeat(20_000)} HTTP/1.1\r\nhost: x\r\n\r\n`,
      431,
      'headers-too-large',
    ],
    ['no HTTP', 'GET\r\n\r\n', 400, 'invalid-request'],
    ['another protocol', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc', 400, 'invalid-request'],
  ])('%s', async (_what, request, status, kind) => {
    const { server } = await openServer(redis)
    const answer = await raw(server.url, request)
    expect(answer).toMatchObject({
      status,
      type: 'application/problem+json',
      json: { type: `urn:plimsoll:problem:${kind}`, status, title: expect.any(String), detail: expect.any(String) },
    })
    expect(faultsOf(ProblemShape, answer.json)).toEqual([])
  })

  test.each([
    ['an address that there is not', 'GET', '/api/v1/nothing', {}, undefined, 404, 'not-found'],
    ['another method', 'PUT', '/api/v1/accounts', {}, undefined, 405, 'method-not-allowed'],
    ['no JSON', 'POST', '/api/v1/silences', JSON_BODY, '{"a":', 400, 'invalid-request'],
    ['another type', 'POST', '/api/v1/silences', { 'content-type': 'text/plain' }, '{}', 415, 'unsupported-media-type'],
    ['too much', 'POST', '/api/v1/silences', JSON_BODY, `"${'x'.repeat(70_000)}"`, 413, 'body-too-large'],
    ['an odd query', 'GET', '/api/v1/alerts?lebel=critical', {}, undefined, 400, 'invalid-request'],
    ['a cursor of another list', 'GET', '/api/v1/deliveries?after=7', {}, undefined, 400, 'invalid-request'],
    ['a cursor that is none', 'GET', '/api/v1/transitions?after=x', {}, undefined, 400, 'invalid-request'],
    ['a list where there is one thing', 'POST', '/api/v1/silences', JSON_BODY, '[]', 400, 'invalid-request'],
    ['nothing where there is something', 'POST', '/api/v1/silences', JSON_BODY, '', 400, 'invalid-request'],
    ['a form', 'POST', '/api/v1/silences', FORM, 'comment=x', 415, 'unsupported-media-type'],
    ['an odd id', 'DELETE', '/api/v1/silences/%00%0d%0a%1b%5b31m', {}, undefined, 404, 'not-found'],
    ['a prototype for an id', 'DELETE', '/api/v1/silences/__proto__', {}, undefined, 404, 'not-found'],
    ['an id that cannot be decoded', 'DELETE', '/api/v1/silences/%ff', {}, undefined, 400, 'invalid-request'],
    ['a query given twice', 'GET', '/api/v1/silences?all=1&all=2', {}, undefined, 400, 'invalid-request'],
    ['an unknown silence', 'GET', '/api/v1/silences/s-4k7mp', {}, undefined, 404, 'not-found'],
    ['an account to uninstall', 'DELETE', '/api/v1/accounts/99', {}, undefined, 404, 'not-found'],
    ['an unknown receiver', 'POST', '/api/v1/receivers/nobody/test', {}, undefined, 404, 'not-found'],
    ['an unknown alert', 'GET', '/api/v1/alerts/0123456789abcdef', {}, undefined, 404, 'not-found'],
    ['an account to refresh', 'POST', '/api/v1/accounts/99/refresh', {}, undefined, 404, 'not-found'],
    ['an account to poll', 'POST', '/api/v1/accounts/99/poll', {}, undefined, 404, 'not-found'],
    ['an account to explain', 'GET', '/api/v1/accounts/99/explanation', {}, undefined, 404, 'not-found'],
  ] as const)('%s', async (_what, method, path, headers, body, status, kind) => {
    const { ask } = await openServer(redis)
    const answer = await ask(method, path, { ...BEARER, ...headers }, body)
    expect(answer).toMatchObject({ status, json: { type: `urn:plimsoll:problem:${kind}` } })
  })
})

describe('of an account that is not refreshed', () => {
  test.each([
    ['gone', 410, undefined],
    ['held', 409, undefined],
    ['planned', 409, undefined],
    ['closed', 503, '30'],
    ['failed', 502, undefined],
  ] as const)('%s is answered with %i', async (is, status, retryAfter) => {
    const { ask, clock } = await openServer(redis, {
      actions: {
        refresh: async () => ({ is, why: 'it is so', ...(is === 'closed' ? { until: clock.now() + 29_500 } : {}) }),
      },
    })
    const answer = await ask('POST', '/api/v1/accounts/7/refresh', BEARER)
    expect([answer.status, answer.json.detail]).toEqual([status, 'Account 7 was not refreshed: it is so.'])
    expect(answer.headers['retry-after']).toBe(retryAfter)
  })
})

test('an address of the API tells by OPTIONS which methods it takes, to whoever may read', async () => {
  const { ask, addToken } = await openServer(redis)
  const token = await addToken('reader', 'read')
  const answer = await ask('OPTIONS', '/api/v1/silences', { authorization: `Bearer ${token}` })
  expect([answer.status, answer.headers.allow?.split(', ').toSorted()]).toEqual([
    204,
    ['GET', 'HEAD', 'OPTIONS', 'POST'],
  ])
  expect((await ask('OPTIONS', '/api/v1/silences', { origin: 'https://evil.example' })).status).toBe(401)
})

test.each([
  ['a file that is missing', { code: 'ENOENT', syscall: 'open' }, false],
  ['a socket that is missing', { code: 'ENOENT', syscall: 'connect' }, true],
  ['a port that nobody listens at', { code: 'ECONNREFUSED', syscall: 'connect' }, true],
  ['a host that has no address', { code: 'ENOTFOUND', syscall: 'getaddrinfo' }, true],
])('%s is taken for a Redis that is away where it is one', (_, error, isAway) => {
  expect(isRedisAway(Object.assign(new Error('x'), error))).toBe(isAway)
})

test('HEAD is answered as GET is, without the body', async () => {
  const { ask } = await openServer(redis)
  const [head, get] = [await ask('HEAD', '/api/v1/status', BEARER), await ask('GET', '/api/v1/status', BEARER)]
  expect([head.status, head.text]).toEqual([200, ''])
  expect(head.headers['content-length']).toBe(get.headers['content-length'])
})
