import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

export interface ArrivedMail {
  recipients: string[]
  encrypted: boolean
  user: string | undefined
  raw: string
  mail: Email
}

export interface MailServer {
  port: number
  arrived: ArrivedMail[]
  /** How many connections were made so far. */
  connections: () => number
  /** Ends all connections, and waits until they are ended. */
  dropConnections: () => Promise<void>
  close: () => Promise<void>
}

/** An SMTP error reply. */
export function reply(code: number, text: string): Error {
  return Object.assign(new Error(text), { responseCode: code })
}

/** A mail server on this machine that keeps what it got. Takes any login, and mail without one, unless told otherwise. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const arrived: ArrivedMail[] = []
  let connections = 0
  const server = new SMTPServer({
    authOptional: true,
    allowInsecureAuth: true,
    disableReverseLookup: true,
    logger: false,
    onConnect: (_session, callback) => {
      connections++
      callback()
    },
    onAuth: (auth, _session, callback) => callback(null, { user: auth.username }),
    onData: (stream, session, callback) => {
      void buffer(stream).then(async (raw) => {
        arrived.push({
          recipients: session.envelope.rcptTo.map(({ address }) => address),
          encrypted: session.secure,
          user: session.user,
          raw: raw.toString(),
          mail: await PostalMime.parse(raw),
        })
        callback()
      })
    },
    ...options,
  })
  // Connections that a client breaks off are part of the tests.
  server.on('error', () => {})
  server.listen(0, '127.0.0.1')
  await once(server.server, 'listening')
  return {
    port: (server.server.address() as AddressInfo).port,
    arrived,
    connections: () => connections,
    dropConnections: async () => {
      for (const connection of [...server.connections]) connection.close()
      while (server.connections.size > 0) await new Promise(setImmediate)
    },
    close: () =>
      new Promise((done) => {
        server.close(() => done())
        for (const connection of server.connections) connection.close()
      }),
  }
}
