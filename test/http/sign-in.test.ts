import { afterAll, beforeAll, expect, test } from 'vitest'
import { hashOf, SCOPES } from '../../src/http/access/admin-token.ts'
import { localPath } from '../../src/http/access/local-path.ts'
import { createSessions } from '../../src/http/access/session.ts'
import { forwardedFor, SignInAttempts } from '../../src/http/access/sign-in-attempts.ts'
import { whoseIs } from '../../src/http/access/whose-is.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'
import { ADMIN_TOKEN, FORM, openServer } from './open-server.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

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
    expect(answer.text).toContain('That is no admin token.')
  }
})

test('signing out takes the cookie away', async () => {
  const { ask, signIn } = await openServer(redis)
  const cookie = await signIn()
  const { text } = await ask('GET', '/', cookie)
  const [, token = ''] = /action="\/sign-out"><input type="hidden" name="csrf" value="([\w-]+)"/.exec(text) ?? []
  const answer = await ask('POST', '/sign-out', { ...cookie, ...FORM }, `csrf=${token}`)
  expect(answer).toMatchObject({ status: 303, headers: { location: '/sign-in' } })
  expect(answer.headers['set-cookie']?.[0]).toContain('Max-Age=0')
})

test('a session ends after twelve hours', async () => {
  const { ask, signIn, clock } = await openServer(redis)
  const cookie = await signIn()
  clock.move(12 * 3_600_000 - 1)
  expect((await ask('GET', '/', cookie)).status).toBe(200)
  clock.move(1)
  expect((await ask('GET', '/', cookie)).status).toBe(302)
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
  expect((await ask('GET', '/', cookie)).status).toBe(302)
  expect((await ask('GET', '/', await signIn())).status).toBe(200)
  deps.connect.vault.replace([k2])
  expect((await ask('GET', '/', cookie)).status).toBe(302)
})

test('no session can be made up, stretched, renamed, or carried over to another admin token', () => {
  const ann = { name: 'ann', hash: hashOf('one admin token'), scopes: SCOPES }
  const bob = { name: 'bob', hash: hashOf('another one'), scopes: SCOPES }
  const key = () => Buffer.alloc(32, 1)
  const sessions = createSessions(key, 'http://127.0.0.1')
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
  expect(createSessions(() => Buffer.alloc(32, 2), 'http://127.0.0.1').ownerOf(pair, [ann], 1_000)).toBeUndefined()
})

test('after ten failures in a minute not even the right token gets in, until the minute is over', async () => {
  const { ask, clock } = await openServer(redis)
  for (let n = 0; n < 10; n++) expect((await ask('POST', '/sign-in', FORM, 'token=wrong')).status).toBe(401)
  const answer = await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`)
  expect(answer).toMatchObject({ status: 429, headers: { 'retry-after': '60' } })
  expect(answer.headers['set-cookie']).toBeUndefined()
  expect(answer.text).toContain('Wait 60 seconds')
  clock.move(60_000)
  expect((await ask('POST', '/sign-in', FORM, `token=${ADMIN_TOKEN}`)).status).toBe(303)
})

test('failures are counted by address, and behind a proxy by the address that it tells', () => {
  const attempts = new SignInAttempts()
  const [here, there] = [
    { peer: '192.0.2.1', forwardedFor: undefined },
    { peer: '192.0.2.2', forwardedFor: undefined },
  ]
  for (let n = 0; n < 10; n++) attempts.failed(here, 0)
  expect(attempts.waitMs(here, 1_000)).toBe(59_000)
  expect(attempts.waitMs(there, 1_000)).toBe(0)

  const [guesser, operator] = ['203.0.113.9', '203.0.113.7'].map((forwardedFor) => ({
    peer: '127.0.0.1',
    forwardedFor,
  }))
  if (guesser === undefined || operator === undefined) throw new Error('not reached')
  for (let n = 0; n < 10; n++) attempts.failed(guesser, 0)
  expect(attempts.waitMs(guesser, 1_000)).toBe(59_000)
  expect(attempts.waitMs(operator, 1_000)).toBe(0)
})

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
  expect(whoseIs(address)).toBe(counted)
})

test('a new address of the same network, or a new port, is no new guess', () => {
  const attempts = new SignInAttempts()
  for (let n = 0; n < 10; n++) attempts.failed({ peer: `2001:db8:1:2::${n}`, forwardedFor: undefined }, 0)
  expect(attempts.waitMs({ peer: '2001:db8:1:2::ffff', forwardedFor: undefined }, 1_000)).toBe(59_000)
  expect(attempts.waitMs({ peer: '2001:db8:1:3::1', forwardedFor: undefined }, 1_000)).toBe(0)
  for (let n = 0; n < 10; n++) attempts.failed({ peer: '127.0.0.1', forwardedFor: `192.0.2.1:${n}` }, 0)
  expect(attempts.waitMs({ peer: '127.0.0.1', forwardedFor: '192.0.2.1:99' }, 1_000)).toBe(59_000)
})

test('whoever makes up a new address for each guess is stopped all the same, for a minute', () => {
  const attempts = new SignInAttempts()
  for (let n = 0; n < 60; n++) attempts.failed({ peer: '192.0.2.1', forwardedFor: `198.51.100.${n}` }, 0)
  const next = { peer: '192.0.2.1', forwardedFor: 'another' }
  expect(attempts.waitMs(next, 1_000)).toBe(59_000)
  expect(attempts.waitMs(next, 60_000)).toBe(0)
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
