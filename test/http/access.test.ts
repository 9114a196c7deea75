import { describe, expect, test } from 'vitest'
import { judgeAccess, scopesFor } from '../../src/http/access/access.ts'
import { redisOfFile } from '../support/of-file.ts'
import { BEARER, FORM, openServer } from './open-server.ts'

const redis = redisOfFile()

const OPEN = ['/install', '/healthz', '/readyz', '/sign-in', '/assets/plimsoll.css', '/assets/mark.svg']
const PAGES = [
  '/',
  '/api',
  '/accounts',
  '/accounts/1',
  '/upcoming',
  '/alerts',
  '/changes',
  '/deliveries',
  '/no-such-page',
]
const READS = ['status', 'accounts', 'accounts/1', 'accounts/1/snapshots', 'alerts', 'silences', 'deliveries'].map(
  (path) => `/api/v1/${path}`,
)
describe('with an admin token', () => {
  test('what is open asks for nothing', async () => {
    const { ask } = await openServer(redis)
    for (const path of OPEN) expect((await ask('GET', path)).status, path).toBeLessThan(400)
    expect((await ask('GET', '/oauth/callback')).status).toBe(400)
  })

  test('pages answer 401 to whoever is not signed in, with the form that leads back to them', async () => {
    const { ask } = await openServer(redis)
    for (const path of [...PAGES, '/accounts?q="><b>']) {
      const { status, headers, text } = await ask('GET', path)
      expect([status, headers['www-authenticate']], path).toEqual([401, 'Bearer'])
      expect(text).toContain(`name="next" value="${path.replace('"><b>', '%22%3E%3Cb%3E')}"`)
    }
    // Another host, once a browser has read it.
    expect((await ask('GET', '//evil.example/x')).text).toContain('name="next" value="/"')
  })

  test('a form that is sent without a session gets the one where one signs in', async () => {
    const { ask } = await openServer(redis)
    for (const path of ['/sign-out', '/deliveries/replay', '/no-such-page']) {
      const { status, text } = await ask('POST', path, FORM, 'x=1')
      expect([status, text.includes('name="next" value="/"')], path).toEqual([401, true])
    }
  })

  test('nothing is open because of where a request seems to come from', async () => {
    const { ask } = await openServer(redis)
    for (const headers of [{ host: 'localhost' }, { 'x-forwarded-for': '127.0.0.1' }, { 'sec-fetch-site': 'none' }]) {
      for (const path of [...PAGES, ...READS, '/metrics']) expect((await ask('GET', path, headers)).status).toBe(401)
    }
  })

  test('metrics take a token with the scope read, unless the config has them open', async () => {
    const { ask, get, signIn, addToken } = await openServer(redis)
    expect(await ask('GET', '/metrics')).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Bearer' } })
    expect((await get('/metrics')).text).toContain('plimsoll_alive')
    expect((await ask('GET', '/metrics', await signIn())).status).toBe(200)
    const writer = await addToken('writer', 'write', 'tokens')
    expect((await get('/metrics', { authorization: `Bearer ${writer}` })).status).toBe(403)
    const open = await openServer(redis, { openMetrics: true })
    expect((await open.ask('GET', '/metrics')).status).toBe(200)
    expect((await open.ask('GET', '/api/v1/status')).status).toBe(401)
  })

  test('a daemon without pages asks for a token for its metrics only: there is nothing else', async () => {
    const { ask, get } = await openServer(redis, { probesOnly: true })
    expect((await ask('GET', '/metrics')).status).toBe(401)
    expect((await get('/metrics')).status).toBe(200)
    for (const path of ['/', '/accounts', '/sign-in', '/install']) {
      expect((await ask('GET', path)).status, path).toBe(404)
    }
  })

  test.each([
    ['PUT', '/install', 405, 405],
    ['PUT', '/%69nstall?x=1', 405, 405],
    ['HEAD', '/oauth/callback', 405, 405],
    ['PATCH', '/sign-in', 405, 405],
    ['DELETE', '/healthz', 405, 405],
    ['DELETE', '/healthz/', 405, 405],
    ['POST', '/assets/plimsoll.css', 405, 405],
    ['POST', '/metrics', 401, 405],
    ['PUT', '/', 401, 405],
    ['GET', '/sign-out', 401, 405],
    ['POST', '/accounts/1', 401, 405],
    ['POST', '/accounts/%ff', 400, 400],
    ['PUT', '/api/v1/accounts/1/token', 401, 405],
    ['PUT', '/%61pi/v1/accounts/1/token/', 401, 405],
    ['OPTIONS', '/api/v1/accounts/1/token', 401, 204],
    ['OPTIONS', '/api/v1/accounts/1', 401, 204],
    ['OPTIONS', '/accounts/1', 401, 405],
    ['OPTIONS', '/api/v1/no-such-thing', 401, 404],
    ['PUT', '/no-such-page', 401, 404],
  ])(
    '%s %s, a method that an address does not take, is judged by what is there: %i, and %i with a token',
    async (method, path, anonymous, allowed) => {
      const { ask, addToken } = await openServer(redis)
      const token = await addToken('some', 'read', 'write')
      expect((await ask(method, path)).status).toBe(anonymous)
      const answer = await ask(method, path, { authorization: `Bearer ${token}` })
      expect([answer.status, answer.headers.allow !== undefined]).toEqual([allowed, allowed === 405 || allowed === 204])
    },
  )

  test.each([
    ['another token', 'Bearer another-admin-token-xx'],
    ['the beginning of it', `${BEARER.authorization.slice(0, -1)}`],
    ['more than it', `${BEARER.authorization}x`],
    ['another scheme', BEARER.authorization.replace('Bearer', 'Basic')],
    ['nothing after the scheme', 'Bearer'],
  ])('%s opens nothing', async (_, authorization) => {
    const { get } = await openServer(redis)
    expect((await get('/api/v1/status', { authorization })).status).toBe(401)
    expect((await get('/', { authorization })).status).toBe(401)
  })

  test('a wrong token is refused although a good session comes with it', async () => {
    const { ask, signIn } = await openServer(redis)
    const headers = { ...(await signIn()), authorization: 'Bearer wrong' }
    expect((await ask('GET', '/api/v1/status', headers)).status).toBe(401)
  })

  test('a link from another site is followed by way of our own page, so that a session comes along', async () => {
    const { ask } = await openServer(redis)
    const { status, text } = await ask('GET', '/accounts/1?x="><b>', { 'sec-fetch-site': 'cross-site' })
    expect(status).toBe(401)
    expect(text).toContain('http-equiv="refresh" content="0; url=/accounts/1?x=%22%3E%3Cb%3E"')
    expect((await ask('GET', '//evil.example/x', { 'sec-fetch-site': 'cross-site' })).text).not.toContain('url=//')
    // No address at all once it is read as one.
    for (const odd of ['//', '///', '//[/', '//:x/', '/\\\\']) {
      expect((await ask('GET', odd, { 'sec-fetch-site': 'cross-site' })).text, odd).toContain('url=/"')
    }
  })
})

const SCOPES_OF = [['read'], ['tokens'], ['write'], ['read', 'write'], ['read', 'tokens', 'write']] as const

test('whatever the credentials, a session alone neither writes over the API nor gets a token, and nobody gets in without a token', () => {
  const allowed: string[] = []
  for (const bearer of ['none', 'wrong', ...SCOPES_OF] as const) {
    for (const session of ['none', ...SCOPES_OF] as const) {
      for (const area of ['page', 'action', 'read', 'tokens', 'write'] as const) {
        if (judgeAccess(area, { bearer, session, person: 'none', isFromHere: true }) !== 'allowed') continue
        allowed.push(area)
        const ofPage = area === 'page' || area === 'action'
        const [byBearer, bySession]: [readonly string[], readonly string[]] = [
          typeof bearer === 'object' ? bearer : [],
          typeof session === 'object' && bearer === 'none' ? session : [],
        ]
        const mayBySession =
          bySession.includes('read') &&
          scopesFor(area).every((scope) => bySession.includes(scope)) &&
          (ofPage || area === 'read')
        expect(scopesFor(area).every((scope) => byBearer.includes(scope)) || mayBySession).toBe(true)
      }
    }
  }
  expect(new Set(allowed)).toEqual(new Set(['page', 'action', 'read', 'tokens', 'write']))
})
