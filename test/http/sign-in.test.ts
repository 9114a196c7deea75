import { expect, test } from 'vitest'
import { hashOf } from '../../src/http/access/admin-tokens.ts'
import { forwardedFor, networkOf } from '../../src/http/access/client.ts'
import { SCOPES } from '../../src/http/access/scopes.ts'
import { createSessions } from '../../src/http/access/session.ts'
import { localPath } from '../../src/http/pages/sign-in.ts'
import { createVault } from '../../src/tokens/vault.ts'
import { redisOfFile } from '../support/of-file.ts'
import { otherSpellings } from '../support/spare-bits.ts'
import { ADMIN_TOKEN, FORM, openServer } from './open-server.ts'

const redis = redisOfFile()

test('the right token signs in and leads to where one wanted to go', async () => {
  const { ask } = await openServer(redis)
  const form = await ask('GET', '/sign-in?next=%2Faccounts%3Fq%3Dacme')
  expect(form.text).toContain('name="next" value="/accounts?q=acme"')
  const answer = await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}&next=%2Faccounts%3Fq%3Dacme`)
  expect(answer).toMatchObject({ status: 303, headers: { location: '/accounts?q=acme' } })
  const [cookie = ''] = answer.headers['set-cookie'] ?? []
  expect(cookie).toMatch(/^plimsoll=config\.\d+\.[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/)
})

test('where people come over https the cookie is for https only', async () => {
  const { ask } = await openServer(redis, { publicUrl: 'https://plimsoll.example.com' })
  const { headers } = await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`)
  expect(headers['set-cookie']?.[0]).toMatch(/^__Host-plimsoll=.*; Secure$/)
})

test('a wrong token gets the form again, and a cookie never', async () => {
  const { ask } = await openServer(redis)
  for (const body of ['token=wrong', 'token=', '', 'next=%2F']) {
    const answer = await ask('POST', '/sign-in', FORM, body)
    expect(answer.status).toBe(401)
    expect(answer.headers['set-cookie']).toBeUndefined()
    expect(answer.text).toContain('Wrong admin token.')
  }
})

test('the link of the daemon signs in once, and who only looks where it leads does not use it up', async () => {
  const { ask, server, clock } = await openServer(redis)
  const { signInPath } = server
  expect(signInPath).toMatch(/^\/sign-in\?code=[\w-]{43}$/)
  expect((await ask('GET', '/sign-in?code=another')).status).toBe(401)
  expect((await ask('HEAD', signInPath)).status).toBe(401)
  const { status, headers } = await ask('GET', signInPath)
  expect([status, headers.location]).toEqual([303, '/'])
  const cookie = String(headers['set-cookie']).split(';')[0] ?? ''
  expect((await ask('GET', '/', { cookie })).status).toBe(200)
  const again = await ask('GET', signInPath)
  expect([again.status, again.headers['set-cookie']]).toEqual([401, undefined])
  expect(again.text).toContain('This link was used before')
  clock.move(12 * 3_600_000)
  expect((await ask('GET', '/', { cookie })).status).toBe(401)
})

test('signing out takes the cookie away', async () => {
  const { signedIn } = await openServer(redis)
  const { send } = await signedIn()
  const answer = await send('/sign-out')
  expect(answer).toMatchObject({ status: 303, headers: { location: '/sign-in' } })
  expect(answer.headers['set-cookie']?.[0]).toContain('Max-Age=0')
})

test('who signed out is out with a copy of the cookie too, at every daemon; other sessions go on', async () => {
  const { ask, signIn, signedIn, clock, steps, keys } = await openServer(redis)
  const other = await openServer(redis, { keys, clock })
  const { cookie: copied, send } = await signedIn()
  clock.move(1)
  const going = await signIn()
  const opens = async (server: typeof other, cookie: { cookie: string }) =>
    (await server.ask('GET', '/', cookie)).status
  expect([await opens(other, copied), await opens(other, going)]).toEqual([200, 200])
  await send('/sign-out')
  expect((await ask('GET', '/', copied)).status).toBe(401)
  clock.move(1_000)
  expect([await opens(other, copied), await opens(other, going)]).toEqual([401, 200])
  expect(JSON.stringify(await steps.zrange(keys.endedSessions, 0, '-1'))).not.toContain(copied.cookie.split('=')[1])
  expect(await steps.pttl(keys.endedSessions)).toBeGreaterThan(0)
})

test('a cookie is good in the spelling in which it was given only, so that signing out ends each copy', async () => {
  const { ask, signedIn } = await openServer(redis)
  const { cookie, send } = await signedIn()
  const [name = '', value = ''] = cookie.cookie.split('=')
  const signatures = otherSpellings(value.slice(-43))
  expect(signatures.length).toBeGreaterThan(0)
  const copies = signatures.map((signature) => ({ cookie: `${name}=${value.slice(0, -43)}${signature}` }))
  const open = async () => (await Promise.all(copies.map((copy) => ask('GET', '/', copy)))).map(({ status }) => status)
  expect(new Set(await open())).toEqual(new Set([401]))
  await send('/sign-out')
  expect(new Set(await open())).toEqual(new Set([401]))
})

test('a session ends after twelve hours', async () => {
  const { ask, signIn, clock } = await openServer(redis)
  const cookie = await signIn()
  clock.move(12 * 3_600_000 - 1)
  expect((await ask('GET', '/', cookie)).status).toBe(200)
  clock.move(1)
  expect((await ask('GET', '/', cookie)).status).toBe(401)
})

test('a session outlives a restart: another daemon with the same encryption key takes it', async () => {
  const cookie = await (await openServer(redis)).signIn()
  expect((await (await openServer(redis)).ask('GET', '/', cookie)).status).toBe(200)
})

test('a session ends when another key comes first: whoever had the old one signs in nobody', async () => {
  const { ask, signIn, deps } = await openServer(redis)
  const cookie = await signIn()
  const k1 = { id: 'k1', key: Buffer.alloc(32, 1) }
  const k2 = { id: 'k2', key: Buffer.alloc(32, 2) }
  deps.connect.vault.replace([k2, k1])
  expect((await ask('GET', '/', cookie)).status).toBe(401)
  expect((await ask('GET', '/', await signIn())).status).toBe(200)
  deps.connect.vault.replace([k2])
  expect((await ask('GET', '/', cookie)).status).toBe(401)
})

test('no session can be made up, stretched, renamed, or carried over to another admin token', () => {
  const ann = { name: 'ann', hash: hashOf('one admin token'), scopes: SCOPES }
  const bob = { name: 'bob', hash: hashOf('another one'), scopes: SCOPES }
  const vaultOf = (key: number) => createVault([{ id: 'k', key: Buffer.alloc(32, key) }])
  const sessions = createSessions(vaultOf(1), 'http://127.0.0.1')
  const [pair = ''] = sessions.begin(ann, 1_000).split(';')
  const [, expires = '', signature = ''] = /=ann\.(\d+)\.(.*)/.exec(pair) ?? []
  const owner = (cookie?: string, tokens = [bob, ann]) => sessions.ownerOf(cookie, tokens, 1_000)?.name
  expect(owner(`other=1; ${pair}`)).toBe('ann')
  expect(owner(`plimsoll=ann.${Number(expires) + 1}.${signature}`)).toBeUndefined()
  expect(owner(`plimsoll=bob.${expires}.${signature}`)).toBeUndefined()
  expect(owner(`plimsoll=ann.${expires}.${'A'.repeat(43)}`)).toBeUndefined()
  expect(owner(`plimsoll=ann.${expires}.`)).toBeUndefined()
  expect(owner('plimsoll=')).toBeUndefined()
  expect(owner(undefined)).toBeUndefined()
  expect(owner(pair, [bob])).toBeUndefined()
  expect(owner(pair, [{ ...ann, hash: bob.hash }])).toBeUndefined()
  expect(createSessions(vaultOf(2), 'http://127.0.0.1').ownerOf(pair, [ann], 1_000)).toBeUndefined()
})

test('however many fail, the right token signs in', async () => {
  const { ask, get } = await openServer(redis)
  const headers = { ...FORM, 'x-forwarded-for': '203.0.113.9' }
  for (let n = 0; n < 100; n++) expect((await ask('POST', '/sign-in', headers, 'token=wrong')).status).toBe(401)
  expect((await ask('POST', '/sign-in', headers, `token=${ADMIN_TOKEN}`)).status).toBe(303)
  expect((await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`)).status).toBe(303)
  expect((await get('/metrics')).text).toContain('plimsoll_sign_in_failures_total 100')
})

test.each<[code: string, method: string, path: string, headers: Record<string, string>, body?: string]>([
  ['http.sign-in', 'POST', '/sign-in', FORM, 'token=a-guess-of-somebody'],
  ['http.token-refused', 'GET', '/api/v1/status', { authorization: 'Bearer a-guess-of-somebody' }],
])(
  'a guess is a line %s, with who sent it and not with the guess: 60 a minute, the rest is counted',
  async (code, ...guess) => {
    const { ask, clock, logs } = await openServer(redis)
    const [method, path, headers, body] = guess
    const send = () => ask(method, path, { ...headers, 'x-forwarded-for': 'made up, 203.0.113.9' }, body)
    for (let n = 0; n < 70; n++) expect((await send()).status).toBe(401)
    clock.move(60_000)
    await send()
    const lines = logs.lines().filter((line) => line.code === code)
    expect(lines.length).toBe(61)
    expect(lines[0]).toMatchObject({ address: '203.0.113.9', peer: expect.stringContaining('127.0.0.1'), unlogged: 0 })
    expect(lines[60]).toMatchObject({ unlogged: 10 })
    expect(JSON.stringify(logs.lines())).not.toContain('a-guess')
  },
)

test.each([
  ['192.0.2.1', '192.0.2.1'],
  ['192.0.2.1:49152', '192.0.2.1'],
  ['::ffff:192.0.2.1', '192.0.2.1'],
  ['2001:db8:1:2:aaaa::1', '2001:db8:1:2::/64'],
  ['2001:DB8:1:2::9', '2001:db8:1:2::/64'],
  ['[2001:db8:1:2::9]:49152', '2001:db8:1:2::/64'],
  ['2001:db8::9', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['unknown', 'unknown'],
  ['', ''],
])('an attempt from %j counts for %j: who has one address of IPv6 has all beside it', (address, counted) => {
  expect(networkOf(address)).toBe(counted)
})

test.each([
  [undefined, undefined],
  ['', undefined],
  ['192.0.2.1', '192.0.2.1'],
  ['made up, 192.0.2.1', '192.0.2.1'],
  [['made up', '192.0.2.1'], '192.0.2.1'],
])('of X-Forwarded-For %j only what the nearest proxy added is believed: %s', (header, client) => {
  expect(forwardedFor(header)).toBe(client)
})

test.each([
  ['/accounts?q=a&b=c', '/accounts?q=a&b=c'],
  ['/accounts/../alerts', '/alerts'],
  ['//evil.example', '/'],
  ['/\\evil.example', '/'],
  ['/.//evil.example', '/'],
  ['/%2e//evil.example', '/'],
  ['/\t/evil.example', '/'],
  ['https://evil.example', '/'],
  ['javascript:alert(1)', '/'],
  ['accounts', '/'],
  ['', '/'],
  [undefined, '/'],
])('after signing in %j leads to %s', (next, path) => {
  expect(localPath(next)).toBe(path)
})

test('only the form may be sent as a form', async () => {
  const { ask, signIn } = await openServer(redis)
  const answer = await ask('POST', '/api/v1/accounts/1/uninstall', { ...FORM, ...(await signIn()) }, 'reason=x')
  expect(answer.status).toBe(403)
})
