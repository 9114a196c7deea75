import { createServer } from 'node:net'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createPinger, type Pinger, pingAddress } from '../../src/heartbeat/ping.ts'
import { proxyIn } from '../../src/runtime/outgoing-proxy.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type FarSide, raw, startFarSide } from '../support/far-side.ts'
import { freePort } from '../support/fleet.ts'
import { BEYOND, startForwardProxy } from '../support/forward-proxy.ts'

let service: FarSide
const pingers: Pinger[] = []
beforeEach(async () => {
  service = await startFarSide()
  service.answer = raw(200, 'OK')
})
afterEach(async () => {
  await Promise.all(pingers.splice(0).map((pinger) => pinger.close()))
  await service.stop()
})

function aPinger(address = `${service.url}/ping/key`, timeoutMs?: number): Pinger {
  const pinger = createPinger(new Secret(address), { timeoutMs })
  pingers.push(pinger)
  return pinger
}

describe('where a ping goes', () => {
  test.each([
    ['https://hc.example.com/KEY', 'https://hc.example.com/KEY', 'https://hc.example.com/KEY/fail'],
    ['https://hc.example.com/KEY/', 'https://hc.example.com/KEY/', 'https://hc.example.com/KEY/fail'],
    [
      'https://hc.example.com/ping/a/b?create=1&x=%20',
      'https://hc.example.com/ping/a/b?create=1&x=%20',
      'https://hc.example.com/ping/a/b/fail?create=1&x=%20',
    ],
    ['https://hc.example.com', 'https://hc.example.com/', 'https://hc.example.com/fail'],
  ])('%s', (url, well, failed) => {
    expect(pingAddress(new Secret(url), true).href).toBe(well)
    expect(pingAddress(new Secret(url), false).href).toBe(failed)
  })
})

test('says that all is well to the address, and what is not to /fail, each with its words', async () => {
  const pinger = aPinger(`${service.url}/ping/key?create=1`)
  expect(await pinger.ping(true, 'fine')).toEqual({ outcome: 'sent' })
  expect(await pinger.ping(false, 'a reason\nanother: ü')).toEqual({ outcome: 'sent' })
  expect(service.seen).toMatchObject([
    { method: 'POST', path: '/ping/key?create=1', body: 'fine' },
    { method: 'POST', path: '/ping/key/fail?create=1', body: 'a reason\nanother: ü' },
  ])
  expect(service.seen[0]?.headers).toMatchObject({
    'content-type': 'text/plain; charset=utf-8',
    'user-agent': expect.stringMatching(/^plimsoll\//),
  })
})

test('says no more than a service keeps, and ends with a whole character', async () => {
  await aPinger().ping(false, `a${'ü'.repeat(10_000)}`)
  expect(service.seen[0]?.body).toBe(`a${'ü'.repeat(4_999)}`)
})

describe('an answer', () => {
  test.each([
    [204, '', { outcome: 'sent' }],
    [200, 'OK (not found)', { outcome: 'failed', reason: expect.stringContaining('no such check') }],
    [200, 'OK (rate limited)', { outcome: 'failed', reason: expect.stringContaining('too many pings') }],
    [404, 'not found', { outcome: 'failed', reason: 'answered 404: Not Found' }],
    [500, '', { outcome: 'failed', reason: 'answered 500: Internal Server Error' }],
  ])('%i %s', async (status, body, outcome) => {
    service.answer = raw(status, body)
    expect(await aPinger().ping(true, '')).toEqual(outcome)
  })

  test('that leads elsewhere is not followed', async () => {
    service.answer = raw(302, '', { location: `${service.url}/elsewhere` })
    expect(await aPinger().ping(true, '')).toEqual({
      outcome: 'failed',
      reason: 'answered 302: redirects are not followed',
    })
    expect(service.seen).toHaveLength(1)
  })

  test('that never ends is not read to its end', async () => {
    service.answer = (_, response) => {
      response.writeHead(200)
      response.write('x'.repeat(100_000))
    }
    expect(await aPinger().ping(true, '')).toEqual({ outcome: 'sent' })
  })

  test('that does not come is waited for no longer than the deadline', async () => {
    service.answer = () => {}
    expect(await aPinger(undefined, 200).ping(true, '')).toEqual({ outcome: 'failed', reason: 'no answer within 0 s' })
  })
})

test('closing cuts off a ping under way', async () => {
  service.answer = () => {}
  const pinger = aPinger()
  const outcome = pinger.ping(true, '')
  await service.came(1)
  await pinger.close()
  expect(await outcome).toMatchObject({ outcome: 'failed', reason: expect.stringContaining('interrupted') })
})

test('a service that is not there, or speaks no HTTP, is told in words without the address', async () => {
  const nobody = await aPinger(`http://127.0.0.1:${await freePort()}/secret-key`).ping(true, '')
  expect(nobody).toEqual({ outcome: 'failed', reason: 'connection refused' })
  const babbler = createServer((socket) => socket.on('error', () => {}).end('220 mail.example.com ESMTP\r\n'))
  await new Promise<void>((resolve) => babbler.listen(0, '127.0.0.1', resolve))
  const address = babbler.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const babbled = await aPinger(`http://127.0.0.1:${port}/secret-key`).ping(true, '')
  expect(babbled).toEqual({ outcome: 'failed', reason: 'the answer is not HTTP' })
  babbler.close()
})

test('goes through a proxy, whose own 407 is named', async () => {
  const proxy = await startForwardProxy('us3r:s3cret')
  const beyond = new Secret(`${service.url.replace('127.0.0.1', BEYOND)}/ping/key`)
  const through = (login: string) => {
    const env = { HTTP_PROXY: `http://${login}127.0.0.1:${proxy.port}` }
    const pinger = createPinger(beyond, { proxyFor: (address) => proxyIn(env, address) })
    pingers.push(pinger)
    return pinger
  }
  expect(await through('us3r:s3cret@').ping(true, 'fine')).toEqual({ outcome: 'sent' })
  expect(service.seen).toMatchObject([{ method: 'POST', path: '/ping/key', body: 'fine' }])
  expect(await through('').ping(true, 'fine')).toEqual({
    outcome: 'failed',
    reason: 'the proxy wants a login (407): put user and password into HTTP_PROXY',
  })
})
