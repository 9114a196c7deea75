import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import type { Roll } from './dice.ts'

/** A message that was taken and kept, whatever its sender was told of it. */
export interface Copy {
  /** Of the delivery: the same on every copy. */
  id: string
  body: string
}

interface RoughReceiver {
  readonly url: string
  readonly copies: readonly Copy[]
  /** Messages that it was offered. */
  readonly attempts: number
  stop(): Promise<void>
}

/** A webhook that half the time refuses, hangs up, or takes a message and says nothing of it. */
export async function startRoughHook(roll: Roll): Promise<RoughReceiver> {
  const copies: Copy[] = []
  let attempts = 0
  const answer = (status: number, headers = {}) => {
    return (response: ServerResponse) => void response.writeHead(status, headers).end()
  }
  const hangUp = (response: ServerResponse) => void response.socket?.destroy()
  const server = createServer((request, response) => {
    response.on('error', () => {})
    text(request).then(
      (body) => {
        attempts++
        const keep = () => copies.push({ id: String(request.headers['webhook-id']), body })
        const refuse = [answer(500), answer(503, { 'retry-after': '1' }), hangUp, keep] as const
        const refusal = roll(2) === 0 ? undefined : refuse[roll(refuse.length)]
        if (refusal === undefined || refusal === keep) keep()
        if (refusal === undefined) answer(204)(response)
        else if (refusal === keep) hangUp(response)
        else refusal(response)
      },
      () => {}, // A daemon that is killed hangs up.
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    copies,
    get attempts() {
      return attempts
    },
    stop: async () => {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** A mail server that does the same. */
export async function startRoughMailServer(roll: Roll): Promise<RoughReceiver> {
  const copies: Copy[] = []
  let attempts = 0
  const notNow = Object.assign(new Error('not now'), { responseCode: 451 })
  const hangUp = (session: SMTPServerSession) => {
    for (const connection of server.connections) if (connection.session === session) connection._socket.destroy()
  }
  const server = new SMTPServer({
    authOptional: true,
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    logger: false,
    onRcptTo: (_address, _session, done) => done(roll(8) === 0 ? notNow : null),
    onData: (stream, session, done) => {
      buffer(stream).then(
        (raw) => {
          attempts++
          const body = raw.toString()
          const keep = () => copies.push({ id: /^message-id: <([^@]+)@/im.exec(body)?.[1] ?? '', body })
          // With those refused before: half of all.
          const fate = roll(7)
          if (fate < 4 || fate === 6) keep()
          if (fate < 4) done()
          else if (fate === 4) done(notNow)
          else hangUp(session)
        },
        () => {},
      )
    },
  })
  // Connections that are broken off are the subject.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    url: `smtp://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    copies,
    get attempts() {
      return attempts
    },
    stop: () => {
      for (const connection of server.connections) connection._socket.destroy()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}
