import { createServer } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import * as z from 'zod'
import { openReceiver, RECEIVER_SETTINGS, receiverKind } from '../../../src/delivery/receivers/all-receivers.ts'
import { type ProxyVariables, proxyIn } from '../../../src/runtime/outgoing-proxy.ts'
import { BEYOND, startForwardProxy } from '../../support/forward-proxy.ts'
import { selfSignedCertificate } from '../authority.ts'
import { startMailServer } from '../email/mail-server.ts'
import { aMessage, NOW } from '../example-messages.ts'
import { aFarSide, answers, expectNothingOf, never } from './far-side.ts'

const HOME = 'https://plimsoll.example.com/'
const settings = z.discriminatedUnion('type', RECEIVER_SETTINGS)
type Given = { type: string } & Record<string, unknown>

async function sendThrough(given: Given, env: ProxyVariables) {
  const proxyFor = (address: URL) => proxyIn(env, address)
  const context = { receiver: 'ops', home: HOME, groupBy: ['account' as const], proxyFor }
  const receiver = openReceiver(settings.parse({ insecure: true, ...given }), context)
  try {
    return await receiver.send({ id: 'd-1', message: aMessage(), now: NOW }, never)
  } finally {
    await receiver.close()
  }
}

function reachThrough(given: Given, env: ProxyVariables) {
  const parsed = settings.parse({ insecure: true, ...given })
  const proxyFor = (address: URL) => proxyIn(env, address)
  const how = { place: 'receivers.ops', home: HOME, timeoutMs: 4_000, signal: never, proxyFor }
  return receiverKind(parsed).reach(parsed, how)
}

/** A service as only the proxy knows it. */
async function aServiceBeyond() {
  const { arrived, url } = await aFarSide(answers(202, {}))
  return { arrived, url: url.replace('127.0.0.1', BEYOND) }
}

test.each<Given>([
  { type: 'webhook', secrets: [Buffer.alloc(32, 1).toString('base64')] },
  { type: 'slack' },
  { type: 'teams' },
  { type: 'ntfy', topic: 't' },
  { type: 'telegram', botToken: '1:abc', chat: '7' },
  { type: 'apprise' },
  { type: 'pagerduty', routingKey: 'k' },
])('$type posts through the proxy, with its login, and not where NO_PROXY says so', async (given) => {
  const { arrived, url } = await aServiceBeyond()
  const proxy = await startForwardProxy('us3r:s3cret')
  const env = { HTTP_PROXY: `http://us3r:s3cret@127.0.0.1:${proxy.port}` }
  expect(await sendThrough({ ...given, url }, env)).toMatchObject({ outcome: 'delivered' })
  expect(proxy.seen).toEqual([expect.stringMatching(`^POST ${url}/`)])
  expect(arrived[0]?.headers).not.toHaveProperty('proxy-authorization')

  const direct = url.replace(BEYOND, '127.0.0.1')
  await sendThrough({ ...given, url: direct }, { ...env, NO_PROXY: 'x.example,127.0.0.1' })
  expect(arrived).toHaveLength(2)
  expect(proxy.seen).toHaveLength(1)
})

test.each(['http', 'https'])('a 407 of the proxy is tried again, and named as its own: %s', async (scheme) => {
  const proxy = await startForwardProxy('us3r:s3cret')
  const variable = `${scheme.toUpperCase()}_PROXY`
  const slack = { type: 'slack', url: `${scheme}://${BEYOND}:1/s3cret-path` }
  const address = (login: string) => ({ [variable]: `http://${login}127.0.0.1:${proxy.port}` })
  expect(await sendThrough(slack, address(''))).toEqual({
    outcome: 'retry',
    reason: `the proxy wants a login (407): put user and password into ${variable}`,
  })
  const wrong = await sendThrough(slack, address('us3r:wr0ng@'))
  expect(wrong).toMatchObject({ reason: `the proxy refuses the login (407): correct user and password in ${variable}` })
  expectNothingOf(wrong, 'us3r', 'wr0ng', 's3cret-path')
})

test('access tokens for the mail login come through the proxy, the mail does not go there', async () => {
  const { url } = await aServiceBeyond()
  const proxy = await startForwardProxy()
  const server = await startMailServer({ authOptional: false, authMethods: ['XOAUTH2'] })
  onTestFinished(() => server.close())
  const oauth2 = { tokenUrl: `${url}/token`, clientId: 'c', clientSecret: 's3cret', scope: 's', user: 'u@example.com' }
  const mail = { type: 'email', smtp: `smtp://127.0.0.1:${server.port}`, from: 'a@b.example', to: ['d@e.example'] }
  const env = { HTTP_PROXY: `http://127.0.0.1:${proxy.port}` }
  expect(await sendThrough({ ...mail, oauth2 }, env)).toMatchObject({
    reason: expect.stringContaining('no access token'),
  })
  expect(await reachThrough({ ...mail, oauth2 }, env)).toMatchObject({
    why: expect.stringContaining('no access token'),
  })
  expect(proxy.seen).toEqual([`POST ${url}/token`, `POST ${url}/token`])
})

test('a receiver is reached through the proxy: nothing is posted, and its own certificate counts', async () => {
  const proxy = await startForwardProxy('us3r:s3cret')
  const server = createServer(selfSignedCertificate())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const bound = server.address()
  const host = `${BEYOND}:${typeof bound === 'object' && bound !== null ? bound.port : 0}`
  const slack = { type: 'slack', url: `https://${host}/s3cret-path` }
  const name = `http://127.0.0.1:${proxy.port}`
  const env = { HTTPS_PROXY: name.replace('//', '//us3r:s3cret@') }
  expect(await reachThrough(slack, env)).toMatchObject({
    is: 'failed',
    host,
    why: `certificate is self-signed, through the proxy ${name}`,
  })
  expect(proxy.seen).toEqual([`CONNECT ${host}`])
  expect(await reachThrough(slack, { HTTPS_PROXY: name })).toMatchObject({
    is: 'failed',
    why: 'the proxy wants a login (407): put user and password into HTTPS_PROXY',
  })
  expect(await reachThrough({ type: 'slack', url: `http://${BEYOND}:1/` }, { HTTP_PROXY: env.HTTPS_PROXY })).toEqual({
    is: 'ok',
    host: `${BEYOND}:1`,
    result: `only the proxy ${name} (HTTP_PROXY, with a login) was tried`,
  })
  expect(await reachThrough(slack, { HTTPS_PROXY: 'http://127.0.0.1:1' })).toMatchObject({
    why: 'connection refused, through the proxy http://127.0.0.1:1',
  })
})
