import fastify from 'fastify'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answerError } from '../../src/http/answer-error.ts'
import { BegunInstalls, MOST_BEGUN } from '../../src/http/pages/install/begun-installs.ts'
import { serveInstall } from '../../src/http/pages/install/serve-install.ts'
import type { FailureClass } from '../../src/provider/failure.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'
import { ACCESS_TOKEN, openServer, REFRESH_TOKEN } from './open-server.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const CODE = 'code-that-nobody-may-see'

test('the install link leads to the provider with a fresh state each time', async () => {
  const { ask } = await openServer(redis)
  const answers = [await ask('GET', '/install'), await ask('GET', '/install')]
  const [first, second] = answers.map(({ status, headers }) => {
    expect(status).toBe(302)
    return new URL(String(headers.location)).searchParams
  })
  expect(first?.get('client_id')).toBe('the-client')
  expect(first?.get('scopes')).toBe('oauth crm.objects.contacts.read')
  expect(first?.get('state')).toHaveLength(32)
  expect(second?.get('state')).not.toBe(first?.get('state'))
})

test('a finished install stores the account, says so, and wakes the pollers', async () => {
  const { ask, beginInstall, provider, deps, woken } = await openServer(redis)
  provider.customer = { hubId: 123, hubDomain: 'acme.example.com' }
  const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect(status).toBe(200)
  expect(text).toContain('<b>acme.example.com</b> (account 123) is connected')
  expect(text).not.toContain('None of the scopes')
  expect((await deps.registry.get(123))?.state).toBe('active')
  expect(provider.codes).toEqual([CODE])
  expect(woken).toEqual([123])
})

test('an account that comes back is greeted as one', async () => {
  const { ask, beginInstall, connectAccount } = await openServer(redis)
  await connectAccount({ hubId: 123 })
  const { text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect(text).toContain('Connected again')
  expect(text).toContain('<b>Account 123</b>')
})

test.each([
  [['oauth'], true],
  [[], true],
  [['oauth', 'crm.schemas.contacts.read'], true],
  [['oauth', 'tickets'], false],
  [['e-commerce'], false],
  [['media_bridge.read'], false],
  [['crm.objects.custom.write'], false],
])('with the scopes %j the page warns that limits cannot be read: %s', async (scopes, warns) => {
  const { ask, beginInstall, provider } = await openServer(redis)
  provider.customer = { hubId: 5, scopes }
  const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect([status, text.includes('None of the scopes')]).toEqual([200, warns])
})

test('pollers that cannot be woken do not spoil a finished install', async () => {
  const connected = () => Promise.reject(new Error('the queue is away'))
  const uninstall = () => Promise.resolve('unknown' as const)
  const accessToken = () => Promise.resolve({ is: 'unknown' as const })
  const { ask, beginInstall } = await openServer(redis, { actions: { connected, uninstall, accessToken } })
  const { status, text } = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect([status, text.includes('the queue is away')]).toEqual([200, false])
})

test('a refusal is told, escaped, and stores nothing', async () => {
  const { ask, beginInstall, provider } = await openServer(redis)
  const error = encodeURIComponent('access_denied<script>alert(1)</script>')
  const { status, text } = await ask('GET', `/oauth/callback?error=${error}&state=${await beginInstall()}`)
  expect(status).toBe(403)
  expect(text).toContain('access_denied&lt;script&gt;')
  expect(provider.codes).toEqual([])
})

test('a state works once, and none that we did not make works at all', async () => {
  const { ask, beginInstall, provider } = await openServer(redis)
  const state = await beginInstall()
  expect((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).status).toBe(200)
  const forged = [state, 'A'.repeat(32), '', 'x', `${state}&state=${await beginInstall()}`, '*'.repeat(32)]
  for (const bad of forged) {
    const answer = await ask('GET', `/oauth/callback?code=${CODE}&state=${bad}`)
    expect(answer.status, bad).toBe(400)
    expect(answer.text).toContain('no longer works')
  }
  expect((await ask('GET', `/oauth/callback?code=${CODE}`)).status).toBe(400)
  expect(provider.codes).toHaveLength(1)
})

test('looking at the addresses with HEAD uses nothing up', async () => {
  const { ask, beginInstall } = await openServer(redis)
  const state = await beginInstall()
  expect((await ask('HEAD', `/oauth/callback?code=${CODE}&state=${state}`)).status).toBe(405)
  expect((await ask('HEAD', '/install')).status).toBe(405)
  expect((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).status).toBe(200)
})

test.each(['', '&code=', '&code=a&code=b'])('without one code (%j) it says that something is missing', async (code) => {
  const { ask, beginInstall } = await openServer(redis)
  const { status, text } = await ask('GET', `/oauth/callback?state=${await beginInstall()}${code}`)
  expect([status, text.includes('without the code')]).toEqual([400, true])
})

test.each<[FailureClass, number, string]>([
  ['rejected', 422, 'did not accept the code'],
  ['client', 502, 'check the client id, the client secret'],
  ['forbidden', 502, 'check the client id, the client secret'],
  ['unauthorized', 502, 'check the client id, the client secret'],
  ['transient', 503, 'does not answer'],
  ['parked', 503, 'does not answer'],
])('when the provider says %s the page says %i: %s', async (failure, status, words) => {
  const { ask, beginInstall, provider, woken } = await openServer(redis)
  const message = 'words of the provider that are for the log'
  provider.tokenFailure = { class: failure, code: 'x', message, status: 400, retryAfterMs: 7_200 }
  const answer = await ask('GET', `/oauth/callback?code=${CODE}&state=${await beginInstall()}`)
  expect(answer.status).toBe(status)
  expect(answer.text).toContain(words)
  expect(answer.text).not.toContain(message)
  expect(answer.headers['retry-after']).toBe(status === 503 ? '8' : undefined)
  expect(woken).toEqual([])
})

test('neither pages nor the log ever show a token, a code or a state', async () => {
  const { ask, beginInstall, provider, logs } = await openServer(redis)
  const [used, unused] = [await beginInstall(), await beginInstall()]
  const texts: string[] = []
  for (const failure of [undefined, 'rejected', 'client', 'transient'] as const) {
    provider.tokenFailure =
      failure === undefined ? undefined : { class: failure, code: 'x', message: failure, status: 400 }
    const state = failure === undefined ? used : await beginInstall()
    texts.push((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).text)
    texts.push((await ask('GET', `/oauth/callback?code=${CODE}&state=${state}`)).text)
  }
  texts.push((await ask('GET', `/oauth/callback?error=no&code=${CODE}&state=${unused}`)).text)
  for (const secret of [ACCESS_TOKEN, REFRESH_TOKEN, CODE, used, unused]) {
    expect(texts.join()).not.toContain(secret)
    expect(logs.text()).not.toContain(secret)
  }
  expect(logs.lines()).toContainEqual(
    expect.objectContaining({ code: 'http.request', method: 'GET', route: '/oauth/callback', status: 200 }),
  )
})

test('a flood of installs that are begun is stopped for the rest of a minute, and none of it is stored', () => {
  const begun = new BegunInstalls()
  for (let n = 0; n < MOST_BEGUN; n++) expect(begun.begin(1_000)).toBe(0)
  expect(begun.begin(2_000)).toBe(59_000)
  expect(begun.begin(61_000)).toBe(0)
  expect(begun.begin(500)).toBe(0)
})

test('whoever comes in a flood is told to wait, and nothing is kept of it', async () => {
  const { deps, steps, keys } = await openServer(redis)
  const app = fastify()
  serveInstall(app, { ...deps, begun: { begin: () => 59_000 } })
  app.setErrorHandler((error, request, reply) => answerError(deps.log, error, request, reply))
  const { statusCode, headers } = await app.inject('/install')
  expect([statusCode, headers['retry-after']]).toEqual([429, '59'])
  expect(await steps.keys(keys.installState('*'))).toEqual([])
})
