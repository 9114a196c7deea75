import type { Readable } from 'node:stream'
import PostalMime from 'postal-mime'
import { SMTPServer, type SMTPServerError, type SMTPServerSession } from 'smtp-server'
import type { Clock } from '../runtime/clock.ts'
import { BoundedLog } from './bounded-log.ts'
import type { Fault, Faults } from './faults.ts'

export interface Mail {
  /** ISO 8601 with milliseconds: when it had arrived whole. */
  readonly time: string
  /** Addresses of the envelope. */
  readonly from: string
  readonly to: readonly string[]
  readonly subject: string
  readonly text: string
  readonly html: string
  /** The id in the header, with its angle brackets. */
  readonly messageId: string
  /** By lower-case name; several of a kind as an array. */
  readonly headers: Readonly<Record<string, string | string[]>>
  /** The whole message as it came. */
  readonly raw: string
}

const LARGEST_MAIL = 10 * 1024 * 1024
const KEPT_MAILS = 20_000
const KEPT_CHARACTERS = 64 * 1024 * 1024

/** Takes any mail to any address, with or without a login, and keeps the newest. */
export class Inbox {
  readonly #clock: Clock
  readonly #faults: Faults
  readonly #closing: AbortSignal
  readonly #mails = new BoundedLog<Mail>({
    entries: KEPT_MAILS,
    weight: KEPT_CHARACTERS,
    weigh: (mail) => mail.raw.length,
  })
  readonly #server: SMTPServer

  constructor({ clock, faults, closing }: { clock: Clock; faults: Faults; closing: AbortSignal }) {
    this.#clock = clock
    this.#faults = faults
    this.#closing = closing
    this.#server = new SMTPServer({
      banner: 'sandbox inbox',
      size: LARGEST_MAIL,
      authOptional: true,
      allowInsecureAuth: true,
      // The server's certificate would be made up, so that offering TLS could only make honest clients fail.
      disabledCommands: ['STARTTLS'],
      disableReverseLookup: true,
      closeTimeout: 1,
      logger: false,
      onAuth: (auth, _session, done) => done(null, { user: auth.username ?? 'somebody' }),
      onData: (stream, session, done) => this.#receive(stream, session).then(() => done(), done),
    })
    // Clients notice a reset of their own connections: it must not end the sandbox.
    this.#server.on('error', () => {})
  }

  /** The port that it listens on. */
  listen(port: number, host: string): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.server.once('error', reject)
      this.#server.listen(port, host, () => {
        this.#server.server.off('error', reject)
        const address = this.#server.server.address()
        resolve(typeof address === 'object' && address !== null ? address.port : port)
      })
    })
  }

  close(): Promise<void> {
    for (const connection of this.#server.connections) connection._socket.destroy()
    return new Promise((resolve) => this.#server.close(() => resolve()))
  }

  mails(): readonly Mail[] {
    return this.#mails.all()
  }

  async #receive(stream: Readable & { sizeExceeded: boolean }, session: SMTPServerSession): Promise<void> {
    const raw = await wholeOf(stream)
    if (stream.sizeExceeded) throw refusal(552, 'the message is larger than 10 MB')
    const fault = this.#faults.take('smtp', null)
    if (fault?.after === true) await this.#keep(raw, session)
    if (fault !== undefined) await this.#apply(fault, session)
    if (fault?.after !== true) await this.#keep(raw, session)
  }

  async #apply(fault: Fault, session: SMTPServerSession): Promise<void> {
    if (fault.delayMs !== undefined) await this.#clock.wait(fault.delayMs, this.#closing)
    if (fault.drop === true) {
      this.#hangUp(session)
      throw refusal(421, 'dropped')
    }
    if (fault.status === undefined) return
    const text = typeof fault.body === 'string' ? fault.body : fault.status < 500 ? 'try again later' : 'refused'
    throw refusal(fault.status, text)
  }

  #hangUp(session: SMTPServerSession): void {
    for (const connection of this.#server.connections) {
      if (connection.session === session) connection._socket.destroy()
    }
  }

  async #keep(raw: Buffer, { envelope }: SMTPServerSession): Promise<void> {
    const mail = await PostalMime.parse(raw)
    this.#mails.add({
      time: new Date(this.#clock.now()).toISOString(),
      from: envelope.mailFrom === false ? '' : envelope.mailFrom.address,
      to: envelope.rcptTo.map(({ address }) => address),
      subject: mail.subject ?? '',
      text: mail.text ?? '',
      html: mail.html ?? '',
      messageId: mail.messageId ?? '',
      headers: byName(mail.headers),
      raw: raw.toString('utf8'),
    })
  }
}

async function wholeOf(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of stream) {
    size += chunk.length
    if (size <= LARGEST_MAIL) chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

function refusal(responseCode: number, message: string): SMTPServerError {
  return Object.assign(new Error(message), { responseCode })
}

function byName(headers: readonly { key: string; value: string }[]): Record<string, string | string[]> {
  const named: Record<string, string | string[]> = {}
  for (const { key, value } of headers) {
    const known = named[key]
    named[key] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value]
  }
  return named
}
