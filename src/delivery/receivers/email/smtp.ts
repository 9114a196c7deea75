import { isIP } from 'node:net'
import type { NodemailerError } from 'nodemailer'
import { networkFailure, networkFailureOfCode } from '../../../runtime/network-failure.ts'
import { Secret, withoutSecrets } from '../../../runtime/secret.ts'
import { splitCredentials } from '../../../runtime/url-credentials.ts'
import { cleanText } from '../../../text/clean-text.ts'
import type { Recipient, Recipients } from '../../receiver.ts'

export interface SmtpServer {
  host: string
  port: number
  /** Encrypted from the first byte on, rather than by STARTTLS. */
  secure: boolean
  auth?: { user: string; pass: string }
  /** Our name in EHLO. */
  ehlo: string
  /** Secrets that a server might echo in a reply, in each form that it gets to see. */
  secrets: Secret[]
}

export function smtpServer(name: string, smtp: Secret, ehlo: string): SmtpServer {
  const parts = splitCredentials(smtp)
  if (parts === null || !/^smtps?:$/.test(parts.url.protocol) || parts.url.hostname === '') {
    throw new Error(`receiver ${name}: smtp must be an smtp:// or smtps:// URL`)
  }
  const { url, user, password } = parts
  const secure = url.protocol === 'smtps:'
  return {
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: url.port === '' ? (secure ? 465 : 587) : Number(url.port),
    secure,
    ...(user !== '' && { auth: { user, pass: password } }),
    ehlo,
    secrets: [smtp, ...secretForms(user, password)],
  }
}

/** A shorter password would be cut out of ordinary words, and is none. */
const SHORTEST_PASSWORD = 4

function secretForms(user: string, password: string): Secret[] {
  if (password === '') return []
  const forms = [`\0${user}\0${password}`, ...(password.length < SHORTEST_PASSWORD ? [] : [password])]
  return forms.flatMap((form) => [form, Buffer.from(form).toString('base64')]).map((form) => new Secret(form))
}

const MAX_REPLY = 160

/** Why a mail could not be sent, for people. It may quote the server's reply, without the `secrets` that it repeats. */
export function smtpFailure(error: unknown, { ehlo, secrets }: Pick<SmtpServer, 'ehlo' | 'secrets'>): string {
  if (!(error instanceof Error)) return 'sending failed'
  const { code, originalCode, responseCode, response, command } = error as NodemailerError
  if (typeof responseCode === 'number') {
    const reply = oneLine(response ?? '', responseCode, secrets)
    if (command === 'EHLO' || command === 'HELO') return `refused as ${ehlo} (EHLO, setting name): ${reply}`
    return `${REFUSED[command === 'DATA' ? 'EMESSAGE' : (code ?? '')] ?? 'refused'}: ${reply}`
  }
  if (originalCode !== undefined) return networkFailureOfCode(originalCode)
  switch (code) {
    case 'ETIMEDOUT':
      return command === 'CONN' ? 'timed out while connecting' : 'timed out waiting for the mail server'
    case 'ECONNECTION':
    case 'ESOCKET':
      return 'the mail server closed the connection'
    case 'EAUTH':
    case 'ENOAUTH':
      return 'login failed: the mail server offers no login method that Plimsoll supports'
    case 'EENVELOPE':
      return 'no usable sender or recipient address'
    case 'EPROTOCOL':
      return 'the answer is not SMTP'
    case 'ETLS':
      return 'no encrypted connection'
    default:
      return networkFailure(error)
  }
}

const REFUSED: Record<string, string> = {
  EAUTH: 'login refused',
  EENVELOPE: 'sender or recipients refused',
  EMESSAGE: 'message refused',
  ETLS: 'no encrypted connection, STARTTLS refused',
}

/** Mail filters quote the address that they refuse; the whole address that acknowledges would be a permission. */
const SIGNATURE = /(\bsignature=(?:3D)?)[\w-]+/gi

/**
 * A reply of several lines repeats its code in front of each. Secrets go before it is cut, or half of one would stay, and
 * once more when it is clean: what hides between the letters is gone then.
 */
function oneLine(response: string, responseCode: number, secrets: readonly Secret[]): string {
  const text = response.replace(new RegExp(`(^|\\n)${responseCode}[ -]?`, 'g'), ' ').replace(SIGNATURE, '$1[secret]')
  return withoutSecrets(cleanText(withoutSecrets(`${responseCode} ${text}`, ...secrets), MAX_REPLY), ...secrets)
}

/** The code of the reply that a mail failed by, where there was a reply. */
export function failureCode(error: unknown): { answer?: number } {
  const { responseCode } = error instanceof Error ? (error as NodemailerError) : {}
  return typeof responseCode === 'number' ? { answer: responseCode } : {}
}

export function rejectedErrors(error: unknown): readonly NodemailerError[] {
  return error instanceof Error ? ((error as NodemailerError).rejectedErrors ?? []) : []
}

/** Recipients that the server did not take the mail for. A 552 of too many at a time is no refusal, though it begins with a 5. */
export function rejectedRecipients(
  errors: readonly NodemailerError[],
  secrets: readonly Secret[],
): Pick<Recipients, 'later' | 'refused'> {
  const rejected = errors.map(({ recipient = '', responseCode = 0, response = '' }) => ({
    address: recipient,
    isLater: responseCode < 500 || (responseCode === 552 && /too many/i.test(response)),
    reason: oneLine(response, responseCode, secrets),
  }))
  const those = (wanted: boolean) =>
    rejected.filter(({ isLater }) => isLater === wanted).map(({ address, reason }): Recipient => ({ address, reason }))
  return { later: those(true), refused: those(false) }
}

/** True where the server will never take a mail for this recipient: a wrong sender is refused before that. */
export function refusesAddress(error: unknown): boolean {
  const { responseCode = 0, command } = error instanceof Error ? (error as NodemailerError) : {}
  return command === 'RCPT TO' && responseCode >= 500
}

/** True where the server refuses user and password: each further login may lock the mailbox. */
export function refusesLogin(error: unknown): boolean {
  const { code, responseCode = 0 } = error instanceof Error ? (error as NodemailerError) : {}
  return code === 'EAUTH' && responseCode >= 500
}

/** The code that a reply begins with. */
export function replyCode(response: string | undefined): { answer?: number } {
  const [code] = response?.match(/^\d{3}/) ?? []
  return code === undefined ? {} : { answer: Number(code) }
}

/** Address of a sender, without the name that may be before it. */
export function addressIn(from: string): string {
  return from.replace(/^.*<(.+)>$/, '$1')
}

/** Host of an address, as EHLO names it: an IP goes in brackets. */
export function ehloName(address: string): string {
  const { hostname } = new URL(address)
  if (hostname.startsWith('[')) return `[IPv6:${hostname.slice(1)}`
  return isIP(hostname) === 4 ? `[${hostname}]` : hostname
}
