import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { SMTPServerOptions } from 'smtp-server'
import { describe, expect, onTestFinished, test } from 'vitest'
import type { OutgoingDelivery } from '../../../src/delivery/receiver.ts'
import { createEmailReceiver, type EmailOptions } from '../../../src/delivery/receivers/email/send-email.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { aMessage, anAlert, aTokenAlert, NOW, onAccount } from '../example-messages.ts'
import { reply, startMailServer } from './mail-server.ts'

const PLAIN: SMTPServerOptions = { disabledCommands: ['STARTTLS'] }
const never = new AbortController().signal

async function aServer(options: SMTPServerOptions = PLAIN) {
  const server = await startMailServer(options)
  onTestFinished(server.close)
  return server
}

function aReceiver(smtp: string, options: Partial<EmailOptions> = {}) {
  const receiver = createEmailReceiver({
    name: 'ops-mail',
    ehlo: 'plimsoll.example.com',
    smtp: new Secret(smtp),
    from: 'Plimsoll <plimsoll@example.com>',
    to: ['ops@example.com'],
    tls: 'optional',
    ...options,
  })
  onTestFinished(() => receiver.close())
  return receiver
}

function delivery(overrides: Partial<OutgoingDelivery> = {}): OutgoingDelivery {
  return { id: 'd-1', message: aMessage(), now: NOW, ...overrides }
}

describe('the mail that arrives', () => {
  test('has a subject, both parts, and the headers that tell machines what it is', async () => {
    const server = await aServer()
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`, {
      to: ['ops@example.com', 'Boss <boss@example.com>'],
    })

    expect(await receiver.send(delivery(), never)).toMatchObject({ outcome: 'delivered' })
    const [got] = server.arrived
    expect(got?.recipients).toEqual(['ops@example.com', 'boss@example.com'])
    expect(got?.mail).toMatchObject({
      subject: '[CRITICAL] acme.example.com (123): Custom properties 96 %',
      from: { name: 'Plimsoll', address: 'plimsoll@example.com' },
      to: [{ address: 'ops@example.com' }, { name: 'Boss', address: 'boss@example.com' }],
      messageId: '<d-1@example.com>',
      date: '2026-11-21T10:05:00.000Z',
      text: expect.stringContaining('Custom properties, 960 of 1,000'),
      html: expect.stringContaining('Custom properties, 960 of 1,000'),
      attachments: [],
    })
    const headers = new Map(got?.mail.headers.map(({ key, value }) => [key, value]))
    expect(headers.get('auto-submitted')).toBe('auto-generated')
    expect(headers.get('x-auto-response-suppress')).toBe('All')
    expect(headers.get('references')).toMatch(/^<thread-[0-9a-f]{32}@example\.com>$/)
    expect(headers.get('in-reply-to')).toBe(headers.get('references'))
  })

  test('keeps its id from attempt to attempt', async () => {
    const server = await aServer()
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`)
    for (const now of [NOW, NOW + 5000]) await receiver.send(delivery({ now }), never)
    expect(server.arrived.map(({ mail }) => mail.messageId)).toEqual(['<d-1@example.com>', '<d-1@example.com>'])
  })

  test('stands in one thread with the other mails of its series, and in no other', async () => {
    const server = await aServer()
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`)
    const ofContacts = { metric: 'customProperties.objectType', objectTypeId: '0-1', label: 'Contacts' }
    const messages = {
      first: aMessage(),
      later: aMessage([anAlert({ id: 'a-2', level: 'warning', rule: 'another rule', status: 'resolved' })]),
      ofAnotherAccount: aMessage([onAccount(7, anAlert())]),
      ofAnotherSeries: aMessage([anAlert({ series: ofContacts })]),
      renamed: aMessage([anAlert({ series: { ...ofContacts, label: 'People' } })]),
      token: aMessage([aTokenAlert()]),
      group: aMessage([anAlert(), onAccount(7, anAlert())]),
      sameGroup: aMessage([anAlert(), onAccount(8, anAlert())]),
    }
    const threads = new Map<string, string | undefined>()
    for (const [name, message] of Object.entries(messages)) {
      await receiver.send(delivery({ id: `d-${name}`, message }), never)
      threads.set(name, server.arrived.at(-1)?.mail.references)
    }
    expect(threads.get('later')).toBe(threads.get('first'))
    expect(threads.get('renamed')).toBe(threads.get('ofAnotherSeries'))
    expect(threads.get('sameGroup')).toBe(threads.get('group'))
    expect(new Set(threads.values()).size).toBe(5)
  })

  test('has an id that fits into a header, whatever the delivery is called', async () => {
    const server = await aServer()
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`, { from: 'plimsoll@bücher.example' })
    await receiver.send(delivery({ id: 'ops-mail:<evil>\r\nX: 1' }), never)
    expect(server.arrived[0]?.mail.messageId).toMatch(/^<[0-9a-f]{32}@xn--bcher-kva\.example>$/)
  })

  test('goes over connections that are kept, three at most', async () => {
    const server = await aServer()
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`)
    await Promise.all(Array.from({ length: 12 }, (_, index) => receiver.send(delivery({ id: `d-${index}` }), never)))
    expect(server.arrived).toHaveLength(12)
    expect(server.connections()).toBeLessThanOrEqual(3)
  })
})

describe('what the mail server refuses', () => {
  test('the login: what is on its way waits, and the reply is shown without the password', async () => {
    const server = await aServer({
      ...PLAIN,
      onAuth: (auth, _session, callback) =>
        callback(reply(535, `5.7.8 no ${auth.username} with ${auth.password} (b3BzLXVzZXI= aHVudGVyMg==)`)),
    })
    const outcome = await aReceiver(`smtp://ops-user:hunter2@127.0.0.1:${server.port}`).send(delivery(), never)
    expect(outcome).toMatchObject({
      outcome: 'disable',
      waits: true,
      reason: 'login refused: 535 5.7.8 no ops-user with [secret] (b3BzLXVzZXI= [secret])',
    })
  })

  test('the login, at length: nothing of what is echoed is left where the reply is cut', async () => {
    const password = 'correct horse  battery staple'
    for (const length of [100, 130, 145, 150]) {
      const server = await aServer({
        ...PLAIN,
        onAuth: ({ password: echoed }, _session, callback) =>
          callback(reply(535, `${'no '.repeat(length / 3)}${echoed}`)),
      })
      const smtp = `smtp://ops-user:${encodeURIComponent(password)}@127.0.0.1:${server.port}`
      const { reason } = { reason: '', ...(await aReceiver(smtp).send(delivery(), never)) }
      expect(reason).toMatch(/^login refused: 535 no no/)
      expect(reason).not.toMatch(/corr|horse|staple/)
    }
  })

  test('a link in the mail: the signature of what acknowledges is not repeated', async () => {
    const link = 'https://plimsoll.example.com/acknowledge?account=1&alert=0123456789abcdef&until=2&signature='
    const server = await aServer({
      ...PLAIN,
      onData: (stream, _session, callback) => {
        stream.resume()
        stream.on('end', () =>
          callback(reply(550, `URL listed: ${link}${'s-_9'.repeat(11)}, or signature=3D${'s-_9'.repeat(9)}=`)),
        )
      },
    })
    const outcome = await aReceiver(`smtp://127.0.0.1:${server.port}`).send(delivery(), never)
    expect(outcome).toMatchObject({
      reason: expect.stringContaining('550 URL listed: https://plimsoll.example.com/ackn'),
    })
    expect(outcome).not.toMatchObject({ reason: expect.stringContaining('s-_9') })
  })

  test('and a later mail goes through once it is willing again', async () => {
    let willing = false
    const server = await aServer({
      ...PLAIN,
      onRcptTo: (_address, _session, callback) => callback(willing ? null : reply(450, '4.2.0 greylisted')),
    })
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`)
    expect(await receiver.send(delivery(), never)).toMatchObject({ outcome: 'retry' })
    willing = true
    expect(await receiver.send(delivery(), never)).toMatchObject({ outcome: 'delivered' })
  })
})

describe('a failure of the network', () => {
  /** Something that listens and is no mail server: `talk` decides what it does with each connection. */
  async function listen(talk: (socket: Socket) => void): Promise<number> {
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('error', () => {})
      talk(socket)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy()
      await new Promise((done) => server.close(done))
    })
    return (server.address() as AddressInfo).port
  }

  async function reasonOf(port: number, options: Partial<EmailOptions> = {}, signal = never, scheme = 'smtp') {
    const receiver = aReceiver(`${scheme}://ops-user:hunter2@127.0.0.1:${port}`, options)
    const outcome = await receiver.send(delivery(), signal)
    if (outcome.outcome !== 'retry') throw new Error(`unexpectedly ${outcome.outcome}`)
    expect(outcome.reason).not.toMatch(/ops-user|hunter2/)
    return outcome.reason
  }

  test('nobody listening', async () => {
    const server = await startMailServer(PLAIN)
    await server.close()
    expect(await reasonOf(server.port)).toBe('connection refused')
  })

  test('no such host', async () => {
    const receiver = aReceiver('smtp://ops-user:hunter2@nowhere.invalid')
    expect(await receiver.send(delivery(), never)).toMatchObject({
      outcome: 'retry',
      reason: expect.stringMatching(/^host name [a-z ]+$/),
    })
  })

  test('a server that keeps a connection busy without getting on', async () => {
    const port = await listen((socket) => {
      const drip = setInterval(() => socket.write('220-wait\r\n'), 20)
      socket.on('close', () => clearInterval(drip))
    })
    expect(await reasonOf(port, { timeoutMs: 300 })).toBe('timed out after 300 ms')
  })

  test('a server that speaks something else', async () => {
    expect(await reasonOf(await listen((socket) => socket.write('SSH-2.0-OpenSSH_9.2\r\n')))).toBe(
      'the answer is not SMTP',
    )
  })

  test('a server that does not speak TLS where it should', async () => {
    expect(await reasonOf(await listen((socket) => socket.end('220 hello\r\n')), {}, never, 'smtps')).toBe(
      'this port does not use TLS',
    )
  })

  test('a caller who stops waiting', async () => {
    const stop = new AbortController()
    const port = await listen(() => stop.abort())
    expect(await reasonOf(port, {}, stop.signal)).toBe('interrupted before the mail was accepted')
  })

  test('one stuck mail leaves the others their way', async () => {
    const stuck = new AbortController()
    let mails = 0
    const server = await aServer({
      ...PLAIN,
      onMailFrom: (_address, _session, callback) => {
        if (mails++ > 0) callback()
      },
    })
    const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`)
    const first = receiver.send(delivery({ id: 'stuck' }), stuck.signal)
    expect(await receiver.send(delivery({ id: 'quick' }), never)).toMatchObject({ outcome: 'delivered' })
    stuck.abort()
    expect(await first).toMatchObject({ outcome: 'retry' })
  })
})

test('closing waits for the mail that is under way', async () => {
  const server = await aServer()
  const receiver = aReceiver(`smtp://127.0.0.1:${server.port}`)
  const sending = receiver.send(delivery(), never)
  await receiver.close()
  expect(await sending).toMatchObject({ outcome: 'delivered' })
})

test.each(['mail.example.com:25', 'https://ops:hunter2@example.com', 'smtp://', ''])(
  'an address that can not be used is refused without being quoted: %o',
  (smtp) => {
    expect(() => aReceiver(smtp)).toThrow(/^receiver ops-mail: smtp must be an smtp:\/\/ or smtps:\/\/ URL$/)
  },
)
