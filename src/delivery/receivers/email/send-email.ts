import { createHash } from 'node:crypto'
import { domainToASCII } from 'node:url'
import type { XOAuth2ProvisionCallback } from 'nodemailer/lib/xoauth2'
import { type Message, subjectKey } from '../../../alerts/alert.ts'
import { Secret } from '../../../runtime/secret.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { countOf, formatCount, formatSeconds } from '../../../text/format-number.ts'
import { linksOfCustomer } from '../../describe/for-customer.ts'
import type { MailLinks } from '../../describe/mail-links.ts'
import {
  type AddresseeOf,
  type AttemptOutcome,
  markOf,
  type OutgoingDelivery,
  type Recipient,
  type Recipients,
} from '../../receiver.ts'
import { type TemplateTexts, withFault } from '../../templates/message-template.ts'
import type { ShownMessage, ShownReceiver } from '../receiver-kind.ts'
import { createMailTokens, type MailTokens, NoAccessToken, type TokenLogin } from './access-tokens.ts'
import { htmlPart } from './html-part.ts'
import { mailContent } from './mail-content.ts'
import {
  failureCode,
  refusesAddress,
  refusesLogin,
  rejectedErrors,
  rejectedRecipients,
  replyCode,
  type SmtpServer,
  smtpFailure,
  smtpServer,
} from './smtp.ts'
import { textPart } from './text-part.ts'

/** So few that no mail server minds, so many that one stuck mail does not hold the others up. */
const CONNECTIONS = 3
const CONNECT_TIMEOUT = 10_000
const SILENCE_TIMEOUT = 30_000
const IDLE_TIMEOUT = 30_000

export interface EmailOptions {
  name: string
  /** `smtp://` or `smtps://`, with user and password where the server wants them. */
  smtp: Secret
  /** Our name in EHLO. */
  ehlo: string
  /** In place of user and password. */
  oauth2?: TokenLogin
  from: string
  /** `account`: the contact of each message's account. */
  to: string[] | 'account'
  addresseeOf?: AddresseeOf
  /** `optional` lets a mail go out over `smtp://` in the clear, and to a server whose certificate is not trusted. */
  tls: 'required' | 'optional'
  /** From connecting to the server's word that it has the mail. */
  timeoutMs?: number
  links?: MailLinks
  /** Texts in place of a message's own subject and body, for the reader whom these links are for. */
  textsFor?: (message: Message, links: MailLinks) => TemplateTexts
}

export interface EmailReceiver extends ShownReceiver {
  /** Connects and logs in as a mail would, and sends nothing. Returns why that failed. */
  verify(): Promise<Failed | undefined>
}

interface Failed {
  /** For people. */
  reason: string
  answer?: number
}

/** A receiver that gets each message as a mail. Throws if the URL can't be used. */
export function createEmailReceiver(options: EmailOptions): EmailReceiver {
  const { name, from, to, timeoutMs = 60_000, links = {}, textsFor } = options
  const server = smtpServer(name, options.smtp, options.ehlo)
  // Now, and not with the first mail: that may be an alert at night, on a disk that an upgrade is just writing to.
  const { auth, tokens } = loginAt(server, name, options.oauth2)
  const transport = createTransport(server, auth, options.tls, timeoutMs)
  transport.catch(() => {}) // Each send fails by it.
  const underWay = new Set<Promise<AttemptOutcome>>()

  async function attempt(delivery: OutgoingDelivery, signal: AbortSignal): Promise<AttemptOutcome> {
    const deadline = AbortSignal.timeout(timeoutMs)
    const { message } = delivery
    const isForCustomer = to === 'account' || message.type === 'account.reconnect'
    const found = isForCustomer ? await findAddressee(message, options.addresseeOf) : undefined
    if (found?.is === 'none') return { outcome: 'refuse', reason: found.why, ofAddressee: true }
    const address = found?.is === 'found' ? found.address : undefined
    const fetchedBefore = tokens?.count()
    try {
      if (found?.is === 'no-address') {
        await (await transport).verify()
        return { outcome: 'delivered', detail: NO_TEST_ADDRESS }
      }
      const shown = address === undefined ? links : linksOfCustomer(links)
      const texts = textsOf(message, shown)
      const left = delivery.left === undefined || to === 'account' ? undefined : stillIn(to, delivery.left)
      if (left?.length === 0)
        return { outcome: 'delivered', detail: 'those who did not have it are no recipients any more' }
      const sent = await (await transport).sendMail({
        ...mailFor(delivery, from, shown, texts),
        from,
        to: address ?? to,
        ...(left !== undefined && { envelope: { from, to: left } }),
        signal: AbortSignal.any([signal, deadline]),
      })
      const rejected = rejectedRecipients(sent.rejectedErrors ?? [], server.secrets)
      // A customer's address is kept nowhere else.
      const taken = address === undefined ? sent.accepted.map(String) : []
      const outcome = { ...outcomeFor({ taken, ...rejected }), ...replyCode(sent.response) }
      return withFault(outcome, texts.fault)
    } catch (error) {
      if (signal.aborted) return { outcome: 'retry', reason: 'interrupted before the mail was accepted' }
      if (deadline.aborted) return { outcome: 'retry', reason: `timed out after ${formatSeconds(timeoutMs)}` }
      if (error instanceof NoAccessToken) return error.outcome
      const secrets = [...secretsNow(), ...(address === undefined ? [] : [new Secret(address)])]
      const failed = failureOf(error, secrets)
      if (refusesLogin(error)) {
        tokens?.drop()
        // A token that was used before may only be withdrawn: the next attempt has a new one.
        if (tokens !== undefined && tokens.count() === fetchedBefore) return { outcome: 'retry', ...failed }
        return { outcome: 'disable', ...failed, waits: true }
      }
      if (address !== undefined && refusesAddress(error)) return { outcome: 'refuse', ...failed, ofAddressee: true }
      const rejected = rejectedRecipients(rejectedErrors(error), secrets)
      const { later, refused } = rejected
      // A mail that is refused for all of its recipients is tried again for all of them: it would be lost.
      const isForSome =
        delivery.left === undefined ? later.length > 0 && refused.length > 0 : later.length + refused.length > 0
      if (address === undefined && isForSome)
        return { ...outcomeFor({ taken: [], ...rejected }), ...failureCode(error) }
      return { outcome: 'retry', ...failed }
    }
  }

  const secretsNow = () => [...server.secrets, ...(tokens?.secrets() ?? [])]
  const failureOf = (error: unknown, secrets: Secret[]): Failed => ({
    reason: smtpFailure(error, { ...server, secrets }),
    ...failureCode(error),
  })

  async function verify(): Promise<Failed | undefined> {
    try {
      await (await transport).verify()
      return undefined
    } catch (error) {
      return error instanceof NoAccessToken ? { reason: error.message } : failureOf(error, secretsNow())
    }
  }

  /** Templates are written for operators, not for a customer who is asked to connect the account again. */
  const textsOf = (message: Message, shown: MailLinks): TemplateTexts =>
    message.type === 'account.reconnect' && to !== 'account' ? {} : (textsFor?.(message, shown) ?? {})

  function show(message: Message, now: number): ShownMessage {
    const shown = to === 'account' ? linksOfCustomer(links) : links
    const texts = textsOf(message, shown)
    const { subject, text } = renderEmail(message, now, { ...shown, from }, texts)
    return { text: `Subject: ${subject}\n\n${text}`, fault: texts.fault }
  }

  async function send(delivery: OutgoingDelivery, signal: AbortSignal): Promise<AttemptOutcome> {
    const sending = attempt(delivery, signal)
    underWay.add(sending)
    return await sending.finally(() => underWay.delete(sending))
  }

  async function close(): Promise<void> {
    await Promise.all(underWay)
    const opened = await transport.catch(() => undefined)
    opened?.close()
    await tokens?.close()
  }

  const mark = markOf(JSON.stringify([server.host, server.port, ...(to === 'account' ? [to] : to)]))
  return { name, type: 'email', address: mark, atATime: CONNECTIONS, send, close, show, verify }
}

const NO_TEST_ADDRESS =
  'the mail server accepts the login; no mail was sent, because each is for the contact of an account'

/** A message for a customer must be about one account: it is not sent to the contact of another one. */
async function findAddressee({ type, data }: Message, addresseeOf: AddresseeOf | undefined) {
  if (type === 'alert.test') return { is: 'no-address' } as const
  const [hubId, ...others] = new Set(data.alerts.map(({ account }) => account?.hubId))
  if (hubId === undefined || others.length > 0 || addresseeOf === undefined)
    return { is: 'none', why: 'it is not about one account: it is sent to no contact' } as const
  return addresseeOf(hubId, type === 'account.reconnect' ? data.alerts[0]?.kind : undefined)
}

type Auth = SmtpServer['auth'] | { type: 'OAuth2'; user: string; provisionCallback: XOAuth2ProvisionCallback }

function loginAt(
  server: SmtpServer,
  name: string,
  oauth2: TokenLogin | undefined,
): { auth: Auth; tokens: MailTokens | undefined } {
  if (oauth2 === undefined) return { auth: server.auth, tokens: undefined }
  const tokens = createMailTokens(name, oauth2)
  const provisionCallback: XOAuth2ProvisionCallback = (_user, isRefused, done) =>
    void tokens.get(isRefused).then(
      (token) => done(null, token.reveal()),
      (error: unknown) => done(error instanceof Error ? error : new Error('no access token')),
    )
  return { auth: { type: 'OAuth2', user: oauth2.user, provisionCallback }, tokens }
}

/**
 * A pool of connections to a mail server; the caller closes it. The library is loaded with the first: commands, and
 * daemons without a mail server, do without its megabytes.
 */
async function createTransport(
  { host, port, secure, ehlo }: SmtpServer,
  auth: Auth,
  tls: 'required' | 'optional',
  timeoutMs: number,
) {
  const { createTransport: open } = await import('nodemailer')
  const required = tls === 'required'
  return open({
    pool: true,
    maxConnections: CONNECTIONS,
    maxMessages: Number.POSITIVE_INFINITY,
    // For a kept connection that the server ends before the next mail; all else is decided in `after-attempt.ts`.
    maxRequeues: 1,
    idleTimeout: IDLE_TIMEOUT,
    name: ehlo,
    host,
    port,
    secure,
    requireTLS: required && !secure,
    // An smtps:// address asks for this very server.
    tls: { rejectUnauthorized: required || secure },
    ...(auth !== undefined && { auth }),
    connectionTimeout: Math.min(CONNECT_TIMEOUT, timeoutMs),
    greetingTimeout: Math.min(CONNECT_TIMEOUT, timeoutMs),
    dnsTimeout: Math.min(CONNECT_TIMEOUT, timeoutMs),
    socketTimeout: Math.min(SILENCE_TIMEOUT, timeoutMs),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
}

/** A message as a mail, without its recipients. */
export function mailFor(
  { id, message, now }: OutgoingDelivery,
  from: string,
  links: MailLinks,
  texts: TemplateTexts = {},
) {
  const root = threadRoot(message, from)
  return {
    ...renderEmail(message, now, { ...links, from }, texts),
    date: new Date(now),
    messageId: messageId(id, from),
    inReplyTo: root,
    references: [root],
    headers: { 'Auto-Submitted': 'auto-generated', 'X-Auto-Response-Suppress': 'All' },
  }
}

export interface RenderedEmail {
  subject: string
  text: string
  html: string
}

/** One readable mail for all alerts of a message, as plain text and as HTML. Ages count from `now`. */
export function renderEmail(
  message: Message,
  now: number,
  links: MailLinks & { from?: string } = {},
  texts: TemplateTexts = {},
): RenderedEmail {
  const content = mailContent(message, now, links, texts)
  return { subject: content.subject, text: textPart(content), html: htmlPart(content) }
}

/** Recipients who have it get no second copy: only the others are tried again. */
function outcomeFor(recipients: Recipients): AttemptOutcome {
  const { taken, later, refused } = recipients
  if (later.length === 0 && refused.length === 0) return { outcome: 'delivered', recipients }
  const of = `${formatCount(taken.length)} of ${countOf(taken.length + later.length + refused.length, 'recipient')}`
  const parts = [
    `${taken.length === 0 ? 'nobody' : of} got it`,
    ...(later.length > 0 ? [`put off: ${listed(later)}`] : []),
    ...(refused.length > 0 ? [`refused: ${listed(refused)}`] : []),
  ]
  const reason = parts.join('; ')
  return later.length > 0
    ? { outcome: 'retry', reason, recipients }
    : { outcome: 'delivered', detail: reason, recipients }
}

const MOST_NAMED = 3

function listed(recipients: readonly Recipient[]): string {
  const named = recipients.slice(0, MOST_NAMED).map(({ address, reason }) => `${cleanText(address, 80)} (${reason})`)
  const more = recipients.length - named.length
  return [...named, ...(more > 0 ? [`${formatCount(more)} more`] : [])].join(', ')
}

function stillIn(to: readonly string[], left: readonly string[]): string[] {
  const known = new Set(to.map(bareAddress))
  return left.filter((address) => known.has(bareAddress(address)))
}

/** The address as servers compare it, without the name in front. */
function bareAddress(given: string): string {
  const [, bare = given] = /<([^<>]+)>\s*$/.exec(given) ?? []
  const at = bare.lastIndexOf('@')
  return `${bare.slice(0, at)}@${domainToASCII(bare.slice(at + 1)) || bare.slice(at + 1)}`.trim().toLowerCase()
}

/** `<id@example.com>`: the same on every attempt, so that a copy is recognised as one. */
function messageId(deliveryId: string, from: string): string {
  const id = /^[\w.-]{1,100}$/.test(deliveryId) ? deliveryId : digest(deliveryId)
  return `<${id}@${domainOf(from)}>`
}

/** Made-up Message-ID that all mails about one series refer to, so that clients thread them, whichever came first. */
function threadRoot({ data }: Message, from: string): string {
  const [first] = data.alerts
  const alone = data.alerts.length === 1 && data.truncated === 0
  const thread = alone && first !== undefined ? subjectKey(first) : data.groupKey
  return `<thread-${digest(thread)}@${domainOf(from)}>`
}

function domainOf(from: string): string {
  const domain = domainToASCII(/@([^@\s<>]+)>?\s*$/.exec(from)?.[1] ?? '')
  return /^[\w.-]+$/.test(domain) ? domain : 'plimsoll.invalid'
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}
