import { once } from 'node:events'
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'
import { afterEach, describe, expect, test } from 'vitest'
import { createWebhookReceiver, type WebhookOptions } from '../../../src/delivery/webhook/send-webhook.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { selfSignedCertificate } from '../certificate.ts'
import { aMessage } from '../example-messages.ts'

const FIRST_SECRET = `whsec_${Buffer.alloc(32, 1).toString('base64')}`
const SECOND_SECRET = `whsec_${Buffer.alloc(32, 2).toString('base64')}`
const never = new AbortController().signal

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

async function listen(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  closing.push(async () => {
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
  const receiver = createWebhookReceiver({ name: 'ops-hook', url: new Secret(url), secrets: [], ...options })
  closing.push(() => receiver.close())
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

  test('carries user and password of the URL as a header, also where they hold strange characters', async () => {
    const { seen, port } = await aSink()
    await aReceiver(`http://ops:p%40ss%zz@127.0.0.1:${port}/`).send(delivery(), never)
    const [scheme, credentials = ''] = (seen[0]?.headers.authorization ?? '').split(' ')
    expect(scheme).toBe('Basic')
    expect(Buffer.from(credentials, 'base64').toString()).toBe('ops:p%40ss%zz')
  })
})

describe('what the answer means', () => {
  test.each([
    [200, 'delivered'],
    [204, 'delivered'],
    [299, 'delivered'],
    [301, 'retry'],
    [400, 'retry'],
    [401, 'retry'],
    [404, 'retry'],
    [410, 'disable'],
    [429, 'retry'],
    [500, 'retry'],
    [599, 'retry'],
  ])('%i is %s', async (status, outcome) => {
    const { port } = await aSink((response) => response.writeHead(status).end())
    expect(await aReceiver(`http://127.0.0.1:${port}/`).send(delivery(), never)).toMatchObject({ outcome })
  })

  test('a redirect is not followed', async () => {
    const { seen, port } = await aSink((response) => response.writeHead(307, { location: '/elsewhere' }).end())
    expect(await aReceiver(`http://127.0.0.1:${port}/hook`).send(delivery(), never)).toEqual({
      outcome: 'retry',
      reason: 'answered 307: redirects are not followed',
    })
    expect(seen.map(({ path }) => path)).toEqual(['/hook'])
  })

  test('Retry-After is told in milliseconds', async () => {
    const { port } = await aSink((response) => response.writeHead(503, { 'retry-after': '90' }).end())
    expect(await aReceiver(`http://127.0.0.1:${port}/`).send(delivery(), never)).toMatchObject({ retryAfterMs: 90_000 })
  })

  test('an answer without end is not read to its end', async () => {
    let written = 0
    const { port } = await aSink((response) => {
      const chunk = Buffer.alloc(16 * 1024)
      const pump = () => {
        while (!response.destroyed && response.write(chunk)) written += chunk.length
      }
      response.writeHead(200).on('drain', pump)
      pump()
    })
    expect(await aReceiver(`http://127.0.0.1:${port}/`).send(delivery(), never)).toEqual({ outcome: 'delivered' })
    // What the sockets between the two hold was sent, but never read.
    expect(written).toBeLessThan(64 * 1024 * 1024)
  })

  test('an answer whose body never comes has still said yes', async () => {
    const { port } = await aSink((response) => void response.writeHead(200).write('{'))
    const receiver = aReceiver(`http://127.0.0.1:${port}/`, { timeoutMs: 200 })
    expect(await receiver.send(delivery(), never)).toEqual({ outcome: 'delivered' })
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
    expect(await reasonOf(at(port), { timeoutMs: 200 })).toBe('timed out after 0.2 s')
  })

  test('a server that drops the connection', async () => {
    const { port } = await aSink((response) => response.destroy())
    expect(await reasonOf(at(port))).toBe('the connection was dropped')
  })

  test('a server that speaks something else', async () => {
    const server = createServer()
    server.prependListener('connection', (socket) => socket.end('SSH-2.0-OpenSSH_9.2\r\n\r\n'))
    expect(await reasonOf(at(await listen(server)))).toBe('answered with something that is not HTTP')
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

  test('a redirect to a place with secrets', async () => {
    const { port } = await aSink((response) => response.writeHead(302, { location: '/t0ken?hunter2' }).end())
    expect(await reasonOf(at(port))).toBe('answered 302: redirects are not followed')
  })
})

test('one slow receiver does not hold up another', async () => {
  const release: (() => void)[] = []
  const slow = await aSink((response) => void release.push(() => response.end()))
  const quick = await aSink()
  const slowReceiver = aReceiver(`http://127.0.0.1:${slow.port}/`)
  const waiting = Array.from({ length: 20 }, () => slowReceiver.send(delivery(), never))
  expect(await aReceiver(`http://127.0.0.1:${quick.port}/`).send(delivery(), never)).toEqual({ outcome: 'delivered' })
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
    const make = () => createWebhookReceiver({ name: 'ops-hook', url: new Secret(url), secrets: [] })
    expect(make).toThrow(/^receiver ops-hook: url must be an http\(s\) URL$/)
  },
)
