import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { expect, onTestFinished, test } from 'vitest'
import type { ProviderOptions } from '../../src/provider/client.ts'
import { proxyIn } from '../../src/runtime/outgoing-proxy.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { openAuthority } from '../delivery/authority.ts'
import { json, startFarSide } from '../support/far-side.ts'
import { eventually } from '../support/fleet.ts'
import { BEYOND, type ForwardProxy, startForwardProxy } from '../support/forward-proxy.ts'
import { CUSTOM_PROPERTIES, connectClient, TOKENS } from './connect-client.ts'

const token = new Secret('access-1')

/** The provider, as only the proxy knows it. */
async function aProvider() {
  const far = await startFarSide()
  onTestFinished(() => far.stop())
  far.answer = (request, response) =>
    (request.method === 'POST' ? json(200, TOKENS) : json(200, CUSTOM_PROPERTIES))(request, response)
  return { far, url: `http://${BEYOND}:${new URL(far.url).port}` }
}

/** The same with TLS, by a certificate that this process trusts for as long as the test runs. */
async function aSecureProvider() {
  const authority = openAuthority('the authority of the test')
  const server = createServer(authority.certify(`DNS:${BEYOND}`), (request, response) => {
    const answer = request.method === 'POST' ? TOKENS : CUSTOM_PROPERTIES
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })
  const trusted = getCACertificates()
  setDefaultCACertificates([...trusted, authority.cert])
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    setDefaultCACertificates(trusted)
    authority.close()
    server.closeAllConnections()
    server.close()
  })
  return `https://${BEYOND}:${(server.address() as AddressInfo).port}`
}

function aClient(baseUrl: string, env: Record<string, string>, options: Partial<ProviderOptions> = {}) {
  const client = connectClient(baseUrl, { ...options, proxyFor: (address) => proxyIn(env, address) })
  onTestFinished(() => client.close())
  return client
}

const at = ({ port }: ForwardProxy, login = '') => `http://${login}127.0.0.1:${port}`

test('a refresh and a poll of an https provider go through CONNECT, by one connection', async () => {
  const url = await aSecureProvider()
  const proxy = await startForwardProxy('us3r:s3/cret')
  const client = aClient(url, { HTTPS_PROXY: at(proxy, 'us3r:s3%2Fcret@') }, { connections: 1 })
  expect(await client.refresh(new Secret('refresh-1'))).toMatchObject({ ok: true })
  expect(await client.customProperties(token)).toMatchObject({ ok: true })
  expect(proxy.seen).toEqual([`CONNECT ${new URL(url).host}`])
})

test('those of an http provider go to the proxy with their whole address, and the login goes no further', async () => {
  const { far, url } = await aProvider()
  const proxy = await startForwardProxy('us3r:s3cret')
  const client = aClient(url, { http_proxy: at(proxy, 'us3r:s3cret@') })
  expect(await client.refresh(new Secret('refresh-1'))).toMatchObject({ ok: true })
  expect(await client.customProperties(token)).toMatchObject({ ok: true })
  expect(proxy.seen).toEqual([`POST ${url}/oauth/v1/token`, `GET ${url}${far.seen[1]?.path}`])
  expect(JSON.stringify(far.seen)).not.toContain('proxy-authorization')
})

test('NO_PROXY leaves the provider out', async () => {
  const { far } = await aProvider()
  const proxy = await startForwardProxy()
  const client = aClient(far.url, { HTTP_PROXY: at(proxy), NO_PROXY: '127.0.0.1' })
  expect(await client.customProperties(token)).toMatchObject({ ok: true })
  expect(proxy.seen).toEqual([])
})

test.each(['http', 'https'])(
  'a 407 of the proxy is named as its own, and tried again, also where the login is wrong: %s',
  async (scheme) => {
    const variable = `${scheme.toUpperCase()}_PROXY`
    const proxy = await startForwardProxy('us3r:s3cret')
    const without = aClient(`${scheme}://${BEYOND}:1`, { [variable]: at(proxy) })
    expect(await without.customProperties(token)).toMatchObject({
      failure: { class: 'transient', message: `the proxy wants a login (407): put user and password into ${variable}` },
    })
    const wrong = aClient(`${scheme}://${BEYOND}:1`, { [variable]: at(proxy, 'us3r:wr0ng@') })
    const answer = await wrong.customProperties(token)
    expect(answer).toMatchObject({
      failure: { message: `the proxy refuses the login (407): correct user and password in ${variable}` },
    })
    expect(JSON.stringify(answer)).not.toMatch(/us3r|wr0ng/)
  },
)

test('a proxy that refuses the address, does not answer or is away is named', async () => {
  const proxy = await startForwardProxy()
  const client = aClient(`https://${BEYOND}:1`, { HTTPS_PROXY: at(proxy) }, { timeoutMs: 300, connections: 1 })
  proxy.refuses = 403
  expect(await client.customProperties(token)).toMatchObject({
    failure: { message: `the proxy ${at(proxy)} refuses to connect (403)` },
  })
  proxy.refuses = 'silent'
  expect(await client.customProperties(token)).toMatchObject({
    failure: { message: expect.stringContaining('within') },
  })
  const away = aClient(`https://${BEYOND}:1`, { HTTPS_PROXY: 'http://127.0.0.1:1' })
  expect(await away.customProperties(token)).toMatchObject({
    failure: { message: 'connection refused, through the proxy http://127.0.0.1:1' },
  })
})

test('a proxy that was silent for a moment is used again, though it holds the only connection', async () => {
  const url = await aSecureProvider()
  const proxy = await startForwardProxy()
  const client = aClient(url, { HTTPS_PROXY: at(proxy) }, { timeoutMs: 300, connections: 1 })
  proxy.refuses = 'silent'
  expect(await client.customProperties(token)).toMatchObject({ ok: false })
  proxy.refuses = undefined
  await eventually('a call that arrives', async () => (await client.customProperties(token)).ok)
})
