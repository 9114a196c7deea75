import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Credentials, judgeAccess, scopeFor } from '../../src/http/access/access.ts'
import { isDirectFromThisMachine } from '../../src/http/access/loopback.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'
import { BEARER, JSON_BODY, openServer } from './open-server.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const OPEN = ['/install', '/healthz', '/readyz', '/metrics', '/sign-in', '/assets/plimsoll.css', '/assets/mark.svg']
const PAGES = ['/', '/accounts', '/accounts/1', '/alerts', '/deliveries', '/queues', '/no-such-page']
const READS = ['status', 'accounts', 'accounts/1', 'accounts/1/snapshots', 'alerts', 'silences', 'deliveries'].map(
  (path) => `/api/v1/${path}`,
)
const WRITES = [
  ['POST', '/api/v1/accounts/1/uninstall'],
  ['DELETE', '/api/v1/accounts/1'],
  ['POST', '/api/v1/silences'],
  ['DELETE', '/api/v1/silences/s-23456'],
  ['POST', '/api/v1/alerts/0123456789abcdef/acknowledge'],
] as const
/** Refused where a write would be. */
const TOKEN = ['GET', '/api/v1/accounts/1/token'] as const

describe('with an admin token', () => {
  test('what is open asks for nothing', async () => {
    const { ask } = await openServer(redis)
    for (const path of OPEN) expect((await ask('GET', path)).status, path).toBeLessThan(400)
    expect((await ask('GET', '/oauth/callback')).status).toBe(400)
  })

  test('pages send whoever is not signed in to the form, and back afterwards', async () => {
    const { ask } = await openServer(redis)
    for (const path of PAGES) {
      const { status, headers } = await ask('GET', path)
      expect([status, headers.location], path).toEqual([302, `/sign-in?next=${encodeURIComponent(path)}`])
    }
  })

  test('a form that is sent without a session ends at the sign-in page', async () => {
    const { ask } = await openServer(redis)
    expect(await ask('POST', '/sign-out')).toMatchObject({ status: 303, headers: { location: '/sign-in' } })
  })

  test('the API answers 401 as problem details, unknown addresses and odd methods included', async () => {
    const { ask } = await openServer(redis)
    const requests = [...READS, '/api', '/api/v1/no-such-thing', '/api?x=1'].map((path) => ['GET', path] as const)
    for (const [method, path] of [...requests, ...WRITES, TOKEN, ['PUT', '/api/v1/accounts'] as const]) {
      const answer = await ask(method, path)
      expect(answer.status, path).toBe(401)
      expect(answer.headers['www-authenticate']).toBe('Bearer')
      expect(answer.headers['content-type']).toContain('application/problem+json')
      expect(answer.json).toMatchObject({ title: 'Unauthorized', status: 401 })
    }
  })

  test('the admin token opens everything', async () => {
    const { get, ask, connectAccount } = await openServer(redis)
    await connectAccount({ hubId: 1 })
    for (const path of [...PAGES.slice(0, -1), ...READS]) expect((await get(path)).status, path).toBe(200)
    expect((await get('/no-such-page')).status).toBe(404)
    expect((await ask('POST', '/api/v1/accounts/1/uninstall', BEARER)).status).toBe(202)
  })

  test.each([
    ['another token', 'Bearer another-admin-token-xx'],
    ['the beginning of it', `${BEARER.authorization.slice(0, -1)}`],
    ['more than it', `${BEARER.authorization}x`],
    ['another scheme', BEARER.authorization.replace('Bearer', 'Basic')],
    ['nothing after the scheme', 'Bearer'],
  ])('%s opens nothing', async (_, authorization) => {
    const { get } = await openServer(redis)
    expect((await get('/api/v1/status', { authorization })).status).toBe(401)
    expect((await get('/', { authorization })).status).toBe(302)
  })

  test('a session opens pages and reads, and changes nothing', async () => {
    const { ask, signIn, connectAccount } = await openServer(redis)
    await connectAccount({ hubId: 1 })
    const cookie = await signIn()
    for (const path of [...PAGES.slice(0, -1), ...READS]) expect((await ask('GET', path, cookie)).status).toBe(200)
    for (const [method, path] of [...WRITES, TOKEN]) {
      const answer = await ask(method, path, { ...cookie, ...JSON_BODY })
      expect(answer).toMatchObject({ status: 403, json: { detail: expect.stringContaining('Bearer') } })
    }
    expect((await ask('GET', '/api/v1/accounts/1', cookie)).json.state).toBe('active')
  })

  test('a wrong token is refused although a good session comes with it', async () => {
    const { ask, signIn } = await openServer(redis)
    const headers = { ...(await signIn()), authorization: 'Bearer wrong' }
    expect((await ask('GET', '/api/v1/status', headers)).status).toBe(401)
  })

  test('a link from another site is followed by way of our own page, so that a session comes along', async () => {
    const { ask } = await openServer(redis)
    const { status, text } = await ask('GET', '/accounts/1?x="><b>', { 'sec-fetch-site': 'cross-site' })
    expect(status).toBe(200)
    expect(text).toContain('http-equiv="refresh" content="0; url=/accounts/1?x=%22%3E%3Cb%3E"')
    expect((await ask('GET', '//evil.example/x', { 'sec-fetch-site': 'cross-site' })).text).not.toContain('url=//')
    // No address at all once it is read as one.
    for (const odd of ['//', '///', '//[/', '//:x/', '/\\\\']) {
      expect((await ask('GET', odd, { 'sec-fetch-site': 'cross-site' })).text, odd).toContain('url=/"')
    }
  })
})

describe('without an admin token', () => {
  const unguarded = () => openServer(redis, { adminToken: undefined })

  test('everything answers whoever asks directly on this machine', async () => {
    const { ask, connectAccount } = await unguarded()
    await connectAccount({ hubId: 1 })
    for (const path of [...PAGES.slice(0, -1), ...READS]) expect((await ask('GET', path)).status, path).toBe(200)
    expect((await ask('DELETE', '/api/v1/accounts/1')).status).toBe(202)
  })

  test.each([
    ['host', 'plimsoll.example.com'],
    ['host', '127.0.0.1.evil.example'],
    ['host', 'localhost.evil.example:80'],
    ['forwarded', 'for=192.0.2.1'],
    ['x-forwarded-for', '127.0.0.1'],
    ['x-forwarded-proto', 'https'],
    ['x-real-ip', '127.0.0.1'],
    ['via', '1.1 proxy'],
  ])('a request with %s: %s is refused, and told what to set', async (name, value) => {
    const { ask } = await unguarded()
    for (const path of [...PAGES, ...READS, '/api/v1/no-such-thing']) {
      const { status, text } = await ask('GET', path, { [name]: value })
      expect([status, text.includes('http.adminToken')], path).toEqual([403, true])
    }
    for (const [method, path] of [...WRITES, TOKEN]) {
      expect((await ask(method, path, { [name]: value })).status).toBe(403)
    }
    for (const path of OPEN) expect((await ask('GET', path, { [name]: value })).status, path).toBeLessThan(400)
  })

  test('a page in a browser can change nothing', async () => {
    const { ask, connectAccount } = await unguarded()
    await connectAccount({ hubId: 1 })
    for (const [method, path] of WRITES) {
      expect((await ask(method, path, { origin: 'http://evil.example' })).status).toBe(403)
    }
    expect((await ask('GET', '/api/v1/accounts/1')).json.state).toBe('active')
  })

  test('there is nothing to sign in to', async () => {
    const { ask } = await unguarded()
    expect(await ask('GET', '/sign-in')).toMatchObject({ status: 303, headers: { location: '/' } })
  })
})

test.each([
  ['127.0.0.1', 'localhost:8088', '1.1', true],
  ['127.8.9.1', '127.0.0.1', '1.1', true],
  ['::1', '[::1]:8088', '1.1', true],
  ['::ffff:127.0.0.1', 'LOCALHOST', '1.1', true],
  ['192.0.2.1', 'localhost', '1.1', false],
  ['::ffff:192.0.2.1', 'localhost', '1.1', false],
  [undefined, 'localhost', '1.1', false],
  ['127.0.0.1', '', '1.1', false],
  ['127.0.0.1', 'localhost:8088', '1.0', false],
])('a request from %s to host %s over HTTP/%s counts as direct from this machine: it is %s that', (...given) => {
  const [remoteAddress, host, httpVersion, direct] = given
  expect(isDirectFromThisMachine({ remoteAddress, httpVersion, headers: { host } })).toBe(direct)
})

const SCOPES_OF = [['read'], ['tokens'], ['write'], ['read', 'write'], ['read', 'tokens', 'write']] as const

test('whatever the credentials, a session alone neither writes over the API nor gets a token, and nobody from afar gets in without a token', () => {
  const allowed: string[] = []
  for (const bearer of ['none', 'wrong', ...SCOPES_OF] as const) {
    for (const session of ['none', ...SCOPES_OF] as const) {
      for (const bits of Array.from({ length: 8 }, (_, n) => n)) {
        const [guarded, direct, fromPage] = [1, 2, 4].map((bit) => (bits & bit) !== 0) as [boolean, boolean, boolean]
        const credentials: Credentials = { guarded, bearer, session, direct, fromPage }
        for (const area of ['page', 'action', 'read', 'tokens', 'write'] as const) {
          if (judgeAccess(area, credentials) !== 'allowed') continue
          allowed.push(area)
          const ofPage = area === 'page' || area === 'action'
          const [byBearer, bySession]: [readonly string[], readonly string[]] = [
            typeof bearer === 'object' ? bearer : [],
            typeof session === 'object' && bearer === 'none' ? session : [],
          ]
          const mayBySession =
            bySession.includes('read') && bySession.includes(scopeFor(area)) && (ofPage || area === 'read')
          if (guarded) expect(byBearer.includes(scopeFor(area)) || mayBySession).toBe(true)
          else expect(direct && (ofPage || area === 'read' || !fromPage)).toBe(true)
        }
      }
    }
  }
  expect(new Set(allowed)).toEqual(new Set(['page', 'action', 'read', 'tokens', 'write']))
})
