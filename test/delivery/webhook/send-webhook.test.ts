import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect as connectTcp, createServer as createTcpServer, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { Agent } from 'undici'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readAnswer as judge } from '../../../src/delivery/receivers/http-post.ts'
import {
  createWebhookReceiver,
  sign,
  signingKey,
  type WebhookOptions,
} from '../../../src/delivery/receivers/webhook/send-webhook.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { eventually } from '../../support/fleet.ts'
import { selfSignedCertificate } from '../authority.ts'
import { aMessage } from '../example-messages.ts'

const FIRST_SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
/** The prefix may be missing. */
const SECOND_SECRET = Buffer.alloc(32, 2).toString('base64')
const never = new AbortController().signal
const PLAIN = {
  name: 'ops-hook',
  secrets: [],
  format: 'plimsoll',
  context: { home: 'https://plimsoll.example.com/', groupBy: ['rule'] },
} satisfies Partial<WebhookOptions>

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  })
  return (server.address() as AddressInfo).port
}

interface Seen {
  path: string
  headers: IncomingMessage['headers']
  body: string
}

/** A receiver of webhooks that keeps what it got; `answer` decides what it says. */
async function aSink(answer: (response: ServerResponse) => void = (response) => response.end()) {
  const seen: Seen[] = []
  const listener: RequestListener = (request, response) => {
    void text(request).then((body) => {
      seen.push({ path: request.url ?? '', headers: request.headers, body })
      answer(response)
    })
  }
  return { seen, port: await listen(createServer(listener)) }
}

function aReceiver(url: string, options: Partial<WebhookOptions> = {}) {
  const receiver = createWebhookReceiver({ ...PLAIN, url: new Secret(url), ...options })
  onTestFinished(() => receiver.close())
  return receiver
}

const delivery = () => ({ id: 'd-1', message: aMessage(), now: Date.now() })

describe('what is sent', () => {
  test('is the message, whole and exact, signed with each secret', async () => {
    const { seen, port } = await aSink()
    const secrets = [new Secret(FIRST_SECRET), new Secret(SECOND_SECRET)]
    const sent = delivery()

    expect(await aReceiver(`http://127.0.0.1:${port}/hook?key=1`, { secrets }).send(sent, never)).toEqual({
      outcome: 'delivered',
      answer: 200,
    })
    const [got] = seen
    if (got === undefined) throw new Error('nothing arrived')
    expect(got.path).toBe('/hook?key=1')
    expect(JSON.parse(got.body)).toEqual(sent.message)
    expect(got.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(got.body)),
      'user-agent': expect.stringMatching(/^plimsoll\/\d+\.\d+\.\d+/),
      'webhook-id': 'd-1',
      'webhook-timestamp': String(Math.floor(sent.now / 1000)),
    })
    for (const secret of [FIRST_SECRET, SECOND_SECRET]) {
      expect(new Webhook(secret).verify(got.body, got.headers as Record<string, string>)).toEqual(sent.message)
    }
  })

  test('keeps its id and body from attempt to attempt, while the timestamp is that of the attempt', async () => {
    const { seen, port } = await aSink()
    const receiver = aReceiver(`http://127.0.0.1:${port}/`, { secrets: [new Secret(FIRST_SECRET)] })
    const first = delivery()
    await receiver.send(first, never)
    await receiver.send({ ...first, now: first.now + 5000 }, never)
    const [one, two] = seen
    expect(two?.body).toBe(one?.body)
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id'])
    expect(Number(two?.headers['webhook-timestamp']) - Number(one?.headers['webhook-timestamp'])).toBe(5)
    expect(two?.headers['webhook-signature']).not.toBe(one?.headers['webhook-signature'])
  })

  test('has the headers of the config beside its own, which they can not take the place of', async () => {
    const { seen, port } = await aSink()
    const headers = { Authorization: new Secret('Bearer hush'), 'X-Team': new Secret('ops') }
    const receiver = aReceiver(`http://name:word@127.0.0.1:${port}/`, { headers, secrets: [new Secret(FIRST_SECRET)] })
    await receiver.send(delivery(), never)
    expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer hush', 'x-team': 'ops', 'webhook-id': 'd-1' })
  })

  test('carries user and password of the URL as a header, also where they hold strange characters', async () => {
    const { seen, port } = await aSink()
    await aReceiver(`http://ops:p%40ss%zz@127.0.0.1:${port}/`).send(delivery(), never)
    const [scheme, credentials = ''] = (seen[0]?.headers.authorization ?? '').split(' ')
    expect(scheme).toBe('Basic')
    expect(Buffer.from(credentials, 'base64').toString()).toBe('ops:p%40ss%zz')
  })
})

describe('what the answer means', () => {
  /** Says what its path asks for, as it stands: Node's own server would refuse to say some of it. */
  async function aRawSink(answer: (path: string) => string) {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      socket.on('data', (chunk) => {
        const [, path] = /^POST (\S+) /.exec(chunk.toString('latin1')) ?? []
        if (path !== undefined) socket.end(answer(path))
      })
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    return (server.address() as AddressInfo).port
  }

  function meaningOf(status: number): string {
    if (status < 200) return 'retry'
    if (status < 300) return 'delivered'
    return status === 410 ? 'disable' : 'retry'
  }

  test('each status from 100 to 599 has the outcome that the standard gives it', async () => {
    const port = await aRawSink((path) => `HTTP/1.1 ${path.slice(1)} Whatever\r\ncontent-length: 0\r\n\r\n`)
    const statuses = Array.from({ length: 500 }, (_, index) => 100 + index)
    const outcomes = await Promise.all(
      statuses.map(async (status) => {
        const outcome = await aReceiver(`http://127.0.0.1:${port}/${status}`).send(delivery(), never)
        // Nothing final ever comes after a status of 100 to 199: what is told is that the connection ended.
        if (status >= 200) expect(outcome.answer).toBe(status)
        return [status, outcome.outcome]
      }),
    )
    expect(outcomes).toEqual(statuses.map((status) => [status, meaningOf(status)]))
  })

  test('an early hint is not the answer: the one after it is', async () => {
    const port = await aRawSink(() => 'HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 410 Gone\r\ncontent-length: 0\r\n\r\n')
    expect(await aReceiver(`http://127.0.0.1:${port}/`).send(delivery(), never)).toMatchObject({ outcome: 'disable' })
  })

  test.each([
    ['nothing at all', '', 'the connection was dropped'],
    ['half a status line', 'HTTP/1.1 20', 'the connection was dropped'],
    ['half its headers', 'HTTP/1.1 200 OK\r\ncontent-le', 'the connection was dropped'],
    ['no number', 'HTTP/1.1 abc OK\r\n\r\n', 'the answer is not HTTP'],
    ['two lengths', 'HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n', 'than its content-length'],
    ['noise', '\u0000\u0001\u0002\u0003\r\n\r\n', 'the answer is not HTTP'],
    ['headers without end', `HTTP/1.1 200 OK\r\n${'x-filler: 0123456789\r\n'.repeat(20_000)}`, 'are too long'],
  ])('%s, then the connection half closed, is tried again', async (_, answer, reason) => {
    const port = await aRawSink(() => answer)
    const outcome = await aReceiver(`http://127.0.0.1:${port}/`).send(delivery(), never)
    if (outcome.outcome !== 'retry') throw new Error(`unexpectedly ${outcome.outcome}`)
    expect(outcome.reason).toContain(reason)
  })

  test('an answer that is cut off behind its status has still said it', async () => {
    const port = await aRawSink(() => 'HTTP/1.1 204 No Content\r\ncontent-length: 10\r\n\r\n')
    const other = await aRawSink(() => 'HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc')
    for (const at of [port, other])
      expect(await aReceiver(`http://127.0.0.1:${at}/`).send(delivery(), never)).toMatchObject({ outcome: 'delivered' })
  })

  test('a status line that trickles in does not stretch the deadline', async () => {
    const server = createTcpServer((socket) => {
      socket.on('error', () => undefined)
      const trickle = setInterval(() => socket.write('H'), 20)
      socket.on('close', () => clearInterval(trickle))
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const receiver = aReceiver(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { timeoutMs: 300 })
    const outcome = await receiver.send(delivery(), never)
    expect(outcome).toMatchObject({ outcome: 'retry' })
  })

  test('a redirect is not followed', async () => {
    const { seen, port } = await aSink((response) => response.writeHead(307, { location: '/elsewhere' }).end())
    expect(await aReceiver(`http://127.0.0.1:${port}/hook`).send(delivery(), never)).toEqual({
      outcome: 'retry',
      answer: 307,
      reason: 'answered 307: redirects are not followed',
    })
    expect(seen.map(({ path }) => path)).toEqual(['/hook'])
  })

  test('Retry-After is read, in milliseconds', async () => {
    const { port } = await aSink((response) => response.writeHead(503, { 'retry-after': '90' }).end())
    expect(await aReceiver(`http://127.0.0.1:${port}/`).send(delivery(), never)).toMatchObject({ retryAfterMs: 90_000 })
  })

  test('an answer without end is not read to its end', async () => {
    const { port } = await aSink((response) => {
      const chunk = Buffer.alloc(16 * 1024)
      const pump = () => {
        while (!response.destroyed && response.write(chunk));
      }
      response.writeHead(200).on('drain', pump)
      pump()
    })
    const sockets: Socket[] = []
    const dispatcher = new Agent({
      connect: (_, done) => {
        const socket = connectTcp({ port, host: '127.0.0.1' }, () => done(null, socket))
        sockets.push(socket)
      },
    })
    const receiver = aReceiver(`http://127.0.0.1:${port}/`, { dispatcher })
    expect(await receiver.send(delivery(), never)).toMatchObject({ outcome: 'delivered' })
    await eventually('the connection given up', async () => sockets.every(({ destroyed }) => destroyed))
    // 64 kB, and what one read of a socket and the line in front of it hold more.
    expect(sockets[0]?.bytesRead).toBeLessThan(64 * 1024 + 2 * 64 * 1024)
  })

  test('an answer whose body never comes has still said yes', async () => {
    const { port } = await aSink((response) => void response.writeHead(200).write('{'))
    // The head must come within this time, on a busy machine too.
    const receiver = aReceiver(`http://127.0.0.1:${port}/`, { timeoutMs: 2_000 })
    expect(await receiver.send(delivery(), never)).toMatchObject({ outcome: 'delivered' })
  })
})

describe('a failure of the network', () => {
  async function reasonOf(url: string, options: Partial<WebhookOptions> = {}, signal = never): Promise<string> {
    const outcome = await aReceiver(url, options).send(delivery(), signal)
    if (outcome.outcome !== 'retry') throw new Error(`unexpectedly ${outcome.outcome}`)
    expect(outcome.reason).not.toMatch(/hunter2|ops-user|t0ken/)
    return outcome.reason
  }
  const at = (port: number, scheme = 'http') => `${scheme}://ops-user:hunter2@127.0.0.1:${port}/hooks/t0ken?key=t0ken`

  test('nobody listening', async () => {
    const server = createServer()
    const port = await listen(server)
    await new Promise((done) => server.close(done))
    expect(await reasonOf(at(port))).toBe('connection refused')
  })

  test('no such host', async () => {
    expect(await reasonOf('http://ops-user:hunter2@nowhere.invalid/t0ken')).toMatch(/^host name/)
  })

  test('a server that takes too long', async () => {
    const { port } = await aSink(() => {})
    expect(await reasonOf(at(port), { timeoutMs: 200 })).toBe('timed out after 200 ms')
  })

  test('a server that drops the connection', async () => {
    const { port } = await aSink((response) => response.destroy())
    expect(await reasonOf(at(port))).toBe('the connection was dropped')
  })

  test('a server that speaks something else', async () => {
    const server = createServer()
    server.prependListener('connection', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n\r\n'))
    expect(await reasonOf(at(await listen(server)))).toBe('the answer is not HTTP')
  })

  test('a certificate that nobody vouches for', async () => {
    const port = await listen(createHttpsServer(selfSignedCertificate(), (_request, response) => void response.end()))
    expect(await reasonOf(at(port, 'https'))).toBe('certificate is self-signed')
  })

  test('a caller who stops waiting', async () => {
    const stop = new AbortController()
    const { port } = await aSink(() => stop.abort())
    expect(await reasonOf(at(port), {}, stop.signal)).toBe('interrupted before there was an answer')
  })
})

test('one slow receiver does not hold up another', async () => {
  const release: (() => void)[] = []
  const slow = await aSink((response) => void release.push(() => response.end()))
  const quick = await aSink()
  const slowReceiver = aReceiver(`http://127.0.0.1:${slow.port}/`)
  const waiting = Array.from({ length: 20 }, () => slowReceiver.send(delivery(), never))
  expect(await aReceiver(`http://127.0.0.1:${quick.port}/`).send(delivery(), never)).toMatchObject({
    outcome: 'delivered',
  })
  let done = false
  const all = Promise.all(waiting).finally(() => {
    done = true
  })
  while (!done) {
    for (const end of release.splice(0)) end()
    await new Promise(setImmediate)
  }
  expect(new Set((await all).map(({ outcome }) => outcome))).toEqual(new Set(['delivered']))
})

test.each(['hooks.example.com/hunter2', 'ftp://ops:hunter2@example.com/', '', 'http://'])(
  'a URL that can not be used is refused without being quoted: %o',
  (url) => {
    const make = () => createWebhookReceiver({ ...PLAIN, url: new Secret(url) })
    expect(make).toThrow(/^receiver ops-hook: url must be an http\(s\) URL$/)
  },
)

const readAnswer = (status: number, retryAfter: string | undefined, now: number) =>
  judge({ status, retryAfter, body: '', says: '', isPage: false, saysNo: false, now })
const AT = Date.parse('2026-11-21T10:00:00.000Z')
const DAY = 24 * 60 * 60 * 1000

describe('Retry-After', () => {
  test.each([
    ['seconds', '120', 120_000],
    ['an HTTP date', 'Sat, 21 Nov 2026 10:05:00 GMT', 300_000],
    ['nothing at all to wait', '0', 1000],
    ['a date gone by', 'Sat, 21 Nov 2026 09:00:00 GMT', 1000],
    ['a year', '31536000', DAY],
    ['more digits than a number holds', '9'.repeat(400), DAY],
    ['a date in years', 'Fri, 21 Nov 2036 10:00:00 GMT', DAY],
  ])('%s', (_name, header, expected) => {
    for (const status of [429, 503]) expect(readAnswer(status, header, AT)).toMatchObject({ retryAfterMs: expected })
  })

  test.each(['', 'soon', '-5', '1.5', '2026-11-22', 'Sat, never'])(
    'is left out where it says nothing: %o',
    (header) => {
      expect(readAnswer(429, header, AT)).not.toHaveProperty('retryAfterMs')
    },
  )

  test('counts only where the standard says so', () => {
    for (const status of [301, 408, 425, 500, 502, 504])
      expect(readAnswer(status, '120', AT)).not.toHaveProperty('retryAfterMs')
  })
})

test('a status that is none is tried again', () => {
  for (const status of [0, 99, 600, 999]) expect(readAnswer(status, undefined, AT).outcome).toBe('retry')
})

test('the signature is the one that the specification gives as its example', () => {
  const key = signingKey(new Secret('whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'))
  expect(sign([key], 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1614265330, '{"test": 2432232314}')).toBe(
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

test.each(['', 'whsec_', 'not base64!', 'abc-def_'])('a secret that is not base64 is refused unseen: %o', (secret) => {
  const refused = () => signingKey(new Secret(secret))
  expect(refused).toThrow('a webhook secret must be base64, with or without whsec_')
})
