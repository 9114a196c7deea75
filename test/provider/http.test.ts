import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ProviderOptions } from '../../src/provider/client.ts'
import { Deadlines } from '../../src/provider/http.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type Answer, type FarSide, json, raw, startFarSide } from '../support/far-side.ts'
import { CUSTOM_PROPERTIES, connectClient, type TestedClient } from './connect-client.ts'

const token = new Secret('access-1')
let far: FarSide
const clients: TestedClient[] = []
beforeAll(async () => {
  far = await startFarSide()
})
afterAll(() => far.stop())
afterEach(async () => {
  far.seen.length = 0
  await Promise.all(clients.splice(0).map((client) => client.close()))
})

function client(options: Partial<ProviderOptions> = {}, base = far.url): TestedClient {
  const one = connectClient(base, options)
  clients.push(one)
  return one
}

/** A server that does with a connection whatever a test says. */
async function rawServer(onConnection: (socket: Socket) => void) {
  const server = createServer((socket) => {
    socket.on('error', () => {})
    onConnection(socket)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.dispose]: () => void server.close(),
  }
}

const timeout = { ok: false, failure: { class: 'transient', code: 'timeout', status: 0 } }
const network = { ok: false, failure: { class: 'transient', code: 'network', status: 0 } }

describe('a call ends by its deadline', () => {
  const begun = { 'content-type': 'application/json' }
  test.each<[when: string, answer: Answer]>([
    ['no answer begins', () => {}],
    [
      'the headers come and the body does not',
      (_request, response) =>
        response.writeHead(200, { ...begun, 'content-length': '100' }).write('{"overallLimit": 1'),
    ],
    [
      'the body comes in drops, each of them soon enough',
      (_request, response) => {
        response.writeHead(200, begun)
        const drip = setInterval(() => response.write(' '), 10)
        response.on('close', () => clearInterval(drip))
      },
    ],
  ])('when %s', async (_, answer) => {
    far.answer = answer
    const result = await client({ timeoutMs: 150 }).customProperties(token)
    expect(result).toMatchObject(timeout)
    expect(!result.ok && result.failure.message).toBe('no complete answer within 0.15 s')
  })

  test('when nobody takes the connection further than TCP', async () => {
    using server = await rawServer(() => {})
    expect(await client({ timeoutMs: 100 }, server.url).customProperties(token)).toMatchObject(timeout)
  })

  test('also while it waits for a connection that another call holds', async () => {
    far.answer = () => {}
    const busy = client({ timeoutMs: 150, connections: 1 })
    const results = await Promise.all([busy.customProperties(token), busy.customProperties(token)])
    expect(results).toMatchObject([timeout, timeout])
  })

  test('and its connection is not used for the next call', async () => {
    far.answer = () => {}
    const one = client({ timeoutMs: 100, connections: 1 })
    await one.customProperties(token)
    far.answer = json(200, CUSTOM_PROPERTIES)
    expect(await one.customProperties(token)).toMatchObject({ ok: true })
  })
})

describe('a connection that fails is a failure', () => {
  test('when it is refused', async () => {
    const gone = await startFarSide()
    await gone.stop()
    const result = await client({}, gone.url).customProperties(token)
    expect(result).toMatchObject(network)
    expect(!result.ok && result.failure.message).toBe('connection refused')
  })

  test('when it is dropped before the answer', async () => {
    far.answer = (_request, response) => response.socket?.destroy()
    expect(await client().customProperties(token)).toMatchObject(network)
  })

  test('when it is reset in the middle of the answer', async () => {
    far.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
      response.write('{"overallLimit"')
      setImmediate(() => response.socket?.resetAndDestroy())
    }
    expect(await client().customProperties(token)).toMatchObject(network)
  })

  test('when what answers speaks no HTTP', async () => {
    using server = await rawServer((socket) => socket.end('220 mail.example.com ESMTP\r\n'))
    expect(await client({}, server.url).customProperties(token)).toMatchObject({ ok: false, failure: { status: 0 } })
  })

  test('when the host does not exist', async () => {
    const result = await client({}, 'http://no-such-host.invalid').customProperties(token)
    expect(result).toMatchObject(network)
  })

  test('and the call was made once, not again', async () => {
    far.answer = (_request, response) => response.socket?.destroy()
    await client().refresh(new Secret('refresh-1'))
    expect(far.seen).toHaveLength(1)
  })
})

describe('an answer', () => {
  test('larger than 2 MB is cut off', async () => {
    far.answer = (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      const more = () => {
        while (!response.destroyed && response.write('x'.repeat(65_536))) {}
      }
      response.on('drain', more)
      more()
    }
    const result = await client().customProperties(token)
    expect(result).toMatchObject({ ok: false, failure: { class: 'transient', code: 'too-large' } })
  })

  test('of an error is cut off there too', async () => {
    far.answer = raw(500, Buffer.alloc(3_000_000, 'x'))
    expect(await client().customProperties(token)).toMatchObject({ ok: false, failure: { code: 'too-large' } })
  })

  test('of just under 2 MB is read', async () => {
    far.answer = json(200, { ...CUSTOM_PROPERTIES, padding: 'x'.repeat(1_990_000) })
    expect(await client().customProperties(token)).toMatchObject({ ok: true })
  })

  test.each([301, 302, 303, 307, 308])('that redirects (%i) is a failure, and is not followed', async (status) => {
    far.answer = (request, response) => {
      if (request.path === '/elsewhere') return json(200, CUSTOM_PROPERTIES)(request, response)
      raw(status, '', { location: `${far.url}/elsewhere` })(request, response)
    }
    expect(await client().customProperties(token)).toMatchObject({ ok: false, failure: { status } })
    expect(far.seen).toHaveLength(1)
  })

  test('that is announced by an informational one is the one that counts', async () => {
    far.answer = (request, response) => {
      response.writeEarlyHints({ link: '</style.css>; rel=preload' })
      json(200, CUSTOM_PROPERTIES)(request, response)
    }
    expect(await client().customProperties(token)).toMatchObject({ ok: true })
  })
})

test('calls share connections, and never use more than there may be', async () => {
  const ports = new Set<number | undefined>()
  let open = 0
  let most = 0
  far.answer = (request, response) => {
    ports.add(response.socket?.remotePort)
    most = Math.max(most, ++open)
    setImmediate(() => {
      open--
      json(200, CUSTOM_PROPERTIES)(request, response)
    })
  }
  const one = client({ connections: 3 })
  const results = await Promise.all(Array.from({ length: 30 }, () => one.customProperties(token)))
  expect(results.every(({ ok }) => ok)).toBe(true)
  expect(most).toBeLessThanOrEqual(3)
  expect(ports.size).toBeLessThanOrEqual(3)
})

test('closing ends the calls under way as failures', async () => {
  far.answer = () => {}
  const one = client()
  const call = one.customProperties(token)
  await far.came(1)
  await one.close()
  expect(await call).toMatchObject(network)
})

test('a call that cannot even be sent is a failure, not an exception', async () => {
  const result = await client().customProperties(new Secret('with\nnewline'))
  expect(result).toMatchObject({ ok: false })
})

describe('of deadlines that are all equally far away', () => {
  const LIMIT_MS = 1_000

  let late: string[]
  const timed = (name: string) => ({
    before: undefined,
    after: undefined,
    endsAt: 0,
    expire: () => void late.push(`${name} at ${Math.round(performance.now() - begunAt)}`),
  })
  let begunAt: number

  beforeEach(() => {
    vi.useFakeTimers()
    begunAt = performance.now()
    late = []
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('each is late in its own time, whatever began before it and ended in time', () => {
    const deadlines = new Deadlines(LIMIT_MS)
    const inTime = timed('first')
    deadlines.begin(inTime)
    vi.advanceTimersByTime(300)
    deadlines.begin(timed('second'))
    vi.advanceTimersByTime(400)
    deadlines.begin(timed('third'))
    deadlines.end(inTime)
    vi.advanceTimersByTime(2 * LIMIT_MS)
    expect(late).toEqual(['second at 1300', 'third at 1700'])
  })

  test('one that begins when all before it have ended has its whole time, and nothing rings after it', () => {
    const deadlines = new Deadlines(LIMIT_MS)
    const before = timed('before')
    deadlines.begin(before)
    deadlines.end(before)
    vi.advanceTimersByTime(900)
    deadlines.begin(timed('later'))
    vi.advanceTimersByTime(999)
    expect(late).toEqual([])
    vi.advanceTimersByTime(2)
    expect(late).toEqual(['later at 1900'])
    expect(vi.getTimerCount()).toBe(0)
  })
})
