import { createServer, type Server } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { checkProvider, checkPublicUrl, judgeClock } from '../../src/doctor/provider.ts'
import { checkReceiver } from '../../src/doctor/receivers.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { selfSignedCertificate } from '../delivery/authority.ts'
import { reply, startMailServer } from '../delivery/email/mail-server.ts'
import { startSmtpLine } from '../delivery/email/smtp-line.ts'
import { type Answer, type FarSide, json, raw, startFarSide } from '../support/far-side.ts'

let far: FarSide
beforeAll(async () => {
  far = await startFarSide()
})
afterAll(() => far.stop())

const never = new AbortController().signal
const NOBODY = 'http://127.0.0.1:1'

describe('the provider', () => {
  /** Half a second in: the header has no halves. */
  const NOW = Date.parse('2026-11-21T10:00:00.500Z')

  test('that answers, whatever it is, is reached without a token, and its clock is compared', async () => {
    far.answer = json(404, { status: 'error' })
    expect(await checkProvider(`${far.url}/proxy`, systemClock)).toEqual([
      { name: 'provider', level: 'ok', detail: expect.stringMatching(/^127\.0\.0\.1:\d+ answers in \d+ ms$/) },
      { name: 'clock', level: 'ok', detail: expect.stringMatching(/^agrees with the provider's within \d s$/) },
    ])
    expect(far.seen.at(-1)).toMatchObject({ method: 'GET', path: '/proxy/' })
    expect(far.seen.at(-1)?.headers.authorization).toBeUndefined()
  })

  test.each([
    [-8_000, 'warn', /^8 s ahead of/],
    [8_000, 'warn', /^8 s behind/],
    [120_000, 'fail', /^120 s behind/],
    [-120_000, 'fail', /^120 s ahead of/],
  ])('whose clock is %i ms from ours: %s', async (offsetMs, level, says) => {
    far.answer = raw(200, '', { date: new Date(NOW + offsetMs).toUTCString() })
    const [, clock] = await checkProvider(far.url, { ...systemClock, now: () => NOW })
    expect(clock).toMatchObject({ level, detail: expect.stringMatching(says) })
    if (level === 'fail') expect(clock?.fix).toContain('ntp')
  })

  test('that says no time, or none that can be read, leaves the clock open', () => {
    for (const date of [undefined, 'soon', ['a', 'b']]) expect(judgeClock({ date }, 0).level).toBe('warn')
  })

  test('that answers from a cache is asked for the age of its answer', () => {
    const date = new Date(NOW - 3_600_000).toUTCString()
    expect(judgeClock({ date, age: '3600' }, NOW).level).toBe('ok')
    expect(judgeClock({ date }, NOW).level).toBe('fail')
  })

  test('that is out of order is a warning, one that is not there a fail', async () => {
    far.answer = raw(503, '<html>')
    expect((await checkProvider(far.url, systemClock))[0]).toMatchObject({ level: 'warn' })
    expect(await checkProvider(NOBODY, systemClock)).toMatchObject([
      { level: 'fail', detail: '127.0.0.1:1: connection refused', fix: expect.stringContaining('provider.baseUrl') },
      { name: 'clock', level: 'warn' },
    ])
  })
})

const HOME = 'https://plimsoll.example.com/'

describe('a mail server', () => {
  const PASSWORD = 'p4ss/word+1'
  const checkMail = (smtp: Secret) =>
    checkReceiver('ops', { type: 'email', smtp, from: 'a@b.c', to: ['d@e.f'], insecure: false }, HOME, never)
  const smtp = (port: number, password = PASSWORD) =>
    new Secret(`smtp://ops:${encodeURIComponent(password)}@127.0.0.1:${port}`)

  async function start() {
    const server = await startMailServer({
      authOptional: false,
      onAuth: ({ username, password }, _session, callback) =>
        password === PASSWORD ? callback(null, { user: username }) : callback(reply(535, `no: ${password} is wrong`)),
    })
    onTestFinished(() => server.close())
    return server
  }

  test('that accepts the login is fine, and gets no mail', async () => {
    const server = await start()
    expect(await checkMail(smtp(server.port))).toMatchObject({
      name: 'receiver.ops',
      level: 'ok',
    })
    expect(server.arrived).toEqual([])
  })

  test('that refuses the login fails with its words, and without the password', async () => {
    const server = await start()
    const found = await checkMail(smtp(server.port, 'wr0ng+pw'))
    expect(found).toMatchObject({ level: 'fail', fix: expect.stringContaining('receivers.ops.smtp') })
    expect(found.detail).toMatch(/login refused: 535/)
    expect(JSON.stringify(found)).not.toContain('wr0ng')
  })

  test('that refuses the name in EHLO fails, and the setting is named', async () => {
    const server = await startSmtpLine('EHLO', { says: '421 4.7.0 plimsoll.example.com: no such host' })
    onTestFinished(server.close)
    expect(await checkMail(smtp(server.port))).toMatchObject({
      level: 'fail',
      detail: expect.stringContaining('refused as plimsoll.example.com (EHLO, setting name): 421 4.7.0'),
      fix: expect.stringContaining('receivers.ops.name'),
    })
  })

  test('that is not there fails', async () => {
    expect(await checkMail(smtp(1))).toMatchObject({
      level: 'fail',
      detail: '127.0.0.1:1: connection refused',
    })
  })
})

describe('a webhook', () => {
  async function listen(server: Server): Promise<number> {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const address = server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }
  const look = (url: string) =>
    checkReceiver('hook', { type: 'slack', url: new Secret(url), insecure: false }, HOME, never)

  test('that takes connections is fine, and nothing is sent to it', async () => {
    const heard: string[] = []
    const ended = Promise.withResolvers<void>()
    const server = createServer((socket) => {
      socket.on('data', (data) => heard.push(String(data)))
      socket.on('close', () => ended.resolve())
    })
    const port = await listen(server)
    expect(await look(`http://127.0.0.1:${port}/s3cret-path`)).toEqual({
      name: 'receiver.hook',
      level: 'ok',
      detail: `127.0.0.1:${port}: connection OK`,
    })
    await ended.promise
    expect(heard).toEqual([])
  })

  test('whose certificate nobody vouches for fails, as does one that speaks no TLS', async () => {
    const tls = await listen(createTlsServer(selfSignedCertificate()))
    expect(await look(`https://127.0.0.1:${tls}/s3cret-path`)).toMatchObject({
      level: 'fail',
      detail: `127.0.0.1:${tls}: certificate is self-signed`,
      fix: expect.stringContaining('receivers.hook.url'),
    })
    const plain = await look(`${far.url.replace('http', 'https')}/s3cret-path`)
    expect(plain).toMatchObject({ level: 'fail' })
    expect(JSON.stringify(plain)).not.toContain('s3cret')
  })

  test('that is not there fails', async () => {
    expect(await look('http://127.0.0.1:1/')).toMatchObject({
      level: 'fail',
      detail: '127.0.0.1:1: connection refused',
    })
  })
})

describe('the public address', () => {
  test('that leads to a daemon at work is fine; to one that stands still, a warning', async () => {
    const health = (status: number, alive: boolean): Answer => {
      const [probe, page] = [json(status, { alive, checks: [] }), raw(401, '<html>sign in')]
      return (request, response) => (request.path === '/healthz' ? probe : page)(request, response)
    }
    far.answer = health(200, true)
    expect(await checkPublicUrl(far.url)).toMatchObject({ level: 'ok' })
    expect(far.seen.find(({ path }) => path === '/accounts')?.headers).not.toHaveProperty('authorization')
    far.answer = health(503, false)
    expect(await checkPublicUrl(far.url)).toMatchObject({
      level: 'warn',
      detail: expect.stringContaining('503'),
    })
  })

  test('that shows the accounts to whoever asks fails', async () => {
    far.answer = json(200, { alive: true, checks: [] })
    expect(await checkPublicUrl(far.url)).toMatchObject({
      level: 'fail',
      detail: `${far.url}/accounts answers 200 without a token`,
      fix: expect.stringContaining('answers 401 there'),
    })
  })

  test('that leads to something else, or nowhere, is a warning with what to look at', async () => {
    far.answer = raw(404, '<html>a parking page')
    expect(await checkPublicUrl(far.url)).toMatchObject({
      level: 'warn',
      detail: expect.stringContaining('not as Plimsoll does'),
      fix: expect.stringContaining('http.publicUrl'),
    })
    expect(await checkPublicUrl(NOBODY)).toMatchObject({
      level: 'warn',
      detail: `${NOBODY}/healthz: connection refused`,
    })
  })
})
