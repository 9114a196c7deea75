import { describe, expect, test } from 'vitest'
import { redisOfFile } from '../support/of-file.ts'
import { AWAY_MS, startRedis } from '../support/redis-server.ts'
import { ACCESS_TOKEN, BEARER, openServer } from './open-server.ts'

const redis = redisOfFile()

const PATH = '/api/v1/accounts/7/token'
const HALF_HOUR = 1_800_000

async function connected(options: Parameters<typeof openServer>[1] = {}) {
  const world = await openServer(redis, options)
  await world.connectAccount({ hubId: 7, hubDomain: 'acme.example.com' })
  return world
}

describe('an access token', () => {
  test('is told with its end and its scopes, for nobody to keep', async () => {
    const { get, clock } = await connected()
    clock.move(500)
    const { status, headers, json } = await get(PATH)
    expect([status, headers['cache-control'], headers['content-encoding']]).toEqual([200, 'no-store', undefined])
    expect(json).toEqual({
      accessToken: ACCESS_TOKEN,
      expiresAt: '2026-11-21T10:30:00.000Z',
      expiresIn: 1799,
      scopes: ['oauth', 'crm.objects.contacts.read'],
    })
  })

  test('leaves a note of who asked: on the account, in the log, in the metrics - and is itself in none of them', async () => {
    const { ask, get, addToken, logs } = await connected()
    const token = await addToken('billing', 'tokens')
    expect((await ask('GET', PATH, { authorization: `Bearer ${token}` })).status).toBe(200)
    const account = await get('/api/v1/accounts/7')
    expect(account.json).toMatchObject({ tokenServedAt: '2026-11-21T10:00:01.000Z', tokenServedTo: 'billing' })
    const page = await get('/accounts/7')
    expect(page.text).toMatch(/Token last served<\/dt><dd>.*to billing<\/dd>/)
    const { text: metrics } = await get('/metrics')
    expect(metrics).toContain('plimsoll_access_tokens_served_total{to="billing"} 1')
    expect(logs.lines().find(({ code }) => code === 'token.served')).toMatchObject({ hubId: 7, to: 'billing' })
    for (const text of [account.text, page.text, metrics, logs.text()]) {
      expect(text).not.toMatch(new RegExp(`${ACCESS_TOKEN}|${token}`))
    }
  })

  test('that has expired is refreshed first, once for all who ask', async () => {
    const { get, clock, provider } = await connected()
    clock.move(HALF_HOUR)
    const answers = await Promise.all(Array.from({ length: 50 }, () => get(PATH)))
    for (const { status, json } of answers) expect([status, json.expiresIn]).toEqual([200, 1800])
    expect(provider.refreshes).toBe(1)
  })

  test('is not handed out by HEAD, nor by another method', async () => {
    const { ask } = await connected()
    for (const method of ['HEAD', 'POST', 'PUT', 'DELETE']) {
      const { status, headers, text } = await ask(method, PATH, BEARER)
      expect([method, status, headers.allow]).toEqual([method, 405, 'GET, OPTIONS'])
      expect(text).not.toContain(ACCESS_TOKEN)
    }
  })
})

describe('there is none', () => {
  test.each(['8', '0', 'abc', '1%2F7'])('of the account %s that nobody knows', async (hubId) => {
    const { get } = await connected()
    const { status, headers } = await get(`/api/v1/accounts/${hubId}/token`)
    expect([status, headers['cache-control']]).toEqual([404, 'no-store'])
  })

  test('of an account that was uninstalled', async () => {
    const { get, ask } = await connected()
    await ask('DELETE', '/api/v1/accounts/7', BEARER)
    expect((await get(PATH)).json).toMatchObject({ status: 410, title: 'Gone' })
  })

  test('once the provider refuses for good: the customer must connect again, and the answer says where', async () => {
    const { get, clock, steps, keys } = await connected({ publicUrl: 'https://plimsoll.example.com' })
    await steps.hset(keys.account(7).account, 'state', 'reauthorize')
    expect((await get(PATH)).status).toBe(200) // What was granted is good to its end.
    clock.move(HALF_HOUR)
    const { headers, json } = await get(PATH)
    expect(json).toMatchObject({ status: 409, detail: expect.stringContaining('https://plimsoll.example.com/install') })
    expect(headers['content-type']).toContain('application/problem+json')
    expect(headers['cache-control']).toBe('no-store')
  })

  test('of an imported account whose token is another one: two lines of the file were swapped', async () => {
    const { get, provider, steps, keys } = await connected()
    await steps.hset(keys.account(7).account, 'metadataDue', '1')
    provider.customer = { hubId: 8 }
    const { status, text } = await get(PATH)
    expect([status, text.includes(ACCESS_TOKEN)]).toEqual([409, false])
    expect(await steps.hget(keys.account(7).account, 'tokenOf')).toBe('8')
    expect((await get(PATH)).status).toBe(409)
  })

  test('of an imported account before the provider has told whose it is: it says when to come back', async () => {
    const { get, steps, keys, provider } = await connected()
    await steps.hset(keys.account(7).account, 'metadataDue', '1')
    provider.metadataFailure = { class: 'transient', code: '502', message: 'bad gateway', status: 502 }
    const { status, headers, text } = await get(PATH)
    expect([status, headers['retry-after'], text.includes(ACCESS_TOKEN)]).toEqual([503, '2', false])
    provider.metadataFailure = undefined
    expect((await get(PATH)).status).toBe(200)
    expect(await steps.hexists(keys.account(7).account, 'metadataDue')).toBe(0)
  })

  test('while the provider has trouble: it says when to come back', async () => {
    const { get, clock, provider, logs } = await connected()
    clock.move(HALF_HOUR)
    provider.tokenFailure = { class: 'parked', code: '477', message: 'moving', status: 477, retryAfterMs: 90_000 }
    const first = await get(PATH)
    expect(first).toMatchObject({ status: 503, headers: { 'cache-control': 'no-store' } })
    clock.move(10_000)
    const second = await get(PATH)
    expect(Number(second.headers['retry-after'])).toBe(Number(first.headers['retry-after']) - 10)
    expect(provider.refreshes).toBe(1)
    expect(logs.lines().filter(({ code }) => code === 'token.served')).toEqual([])
  })

  test('if it can neither be read nor noted who got it', async () => {
    const own = await startRedis(undefined, [], AWAY_MS)
    const { get, connectAccount } = await openServer(own)
    await connectAccount({ hubId: 7 })
    await own.end('SIGKILL')
    const { status, text, headers } = await get(PATH)
    expect([status, headers['cache-control'], text.includes(ACCESS_TOKEN)]).toEqual([503, 'no-store', false])
    await own.stop()
  })
})
