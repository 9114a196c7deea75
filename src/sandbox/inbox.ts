import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerSession } from 'smtp-server'
import type { Mail } from './arrivals.ts'
import { meetFault } from './meet-fault.ts'
import { type SandboxParts, timeNow } from './provider-route.ts'

/** Takes any mail to any address, with or without a login. */
export async function openInbox(
  parts: SandboxParts,
  at: { port: number; host: string },
): Promise<{ port: number; close(): Promise<void> }> {
  const server = new SMTPServer({
    banner: 'sandbox inbox',
    authOptional: true,
    allowInsecureAuth: true,
    // The server's certificate would be made up, so that offering TLS could only make honest clients fail.
    disabledCommands: ['STARTTLS'],
    disableReverseLookup: true,
    closeTimeout: 1,
    logger: false,
    onAuth: (auth, _session, done) => done(null, { user: auth.username ?? 'somebody' }),
    onData: (stream, session, done) => {
      receive(stream, session, parts).then((refusal) => {
        if (refusal === 'hang up') hangUp(server, session)
        else done(refusal)
      }, done)
    },
  })
  // Clients notice a reset of their own connections: it must not end the sandbox.
  server.on('error', () => {})
  const listening = server.listen(at.port, at.host)
  await once(listening, 'listening')
  return {
    port: (listening.address() as AddressInfo).port,
    close: () => {
      hangUp(server)
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Ends this connection, or all. */
function hangUp(server: SMTPServer, session?: SMTPServerSession): void {
  for (const connection of server.connections) {
    if (session === undefined || connection.session === session) connection._socket.destroy()
  }
}

async function receive(
  stream: Readable,
  session: SMTPServerSession,
  parts: SandboxParts,
): Promise<'hang up' | Error | null> {
  const mail = await read(await buffer(stream), session)
  const keep = () => {
    parts.mails.add({ time: timeNow(parts), ...mail })
    return { status: 250, body: '' }
  }
  const answer = await meetFault(parts.faults.take('smtp', null), parts, keep, usualRefusal)
  if (answer === undefined) return 'hang up'
  const { status: responseCode, body } = answer
  return responseCode < 400 ? null : Object.assign(new Error(body), { responseCode })
}

function usualRefusal(status: number) {
  return { status, body: status < 500 ? 'try again later' : 'refused' }
}

async function read(raw: Buffer, { envelope }: SMTPServerSession): Promise<Omit<Mail, 'time'>> {
  const mail = await PostalMime.parse(raw)
  return {
    from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
    to: envelope.rcptTo.map(({ address }) => address),
    subject: mail.subject ?? '',
    text: mail.text ?? '',
    html: mail.html ?? '',
    messageId: mail.messageId ?? '',
    headers: Object.fromEntries(mail.headers.map(({ key, value }) => [key, value])),
    raw: raw.toString('utf8'),
  }
}
