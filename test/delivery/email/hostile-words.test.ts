import fc from 'fast-check'
import nodemailer from 'nodemailer'
import PostalMime, { type Email } from 'postal-mime'
import { describe, expect, test } from 'vitest'
import type { Message } from '../../../src/alerts/alert.ts'
import { mailFor } from '../../../src/delivery/receivers/email/send-email.ts'
import { aMessage, NOW } from '../example-messages.ts'
import { HOSTILE, hostileAlerts, LINKS } from './many-mails.ts'

const FROM = 'Plimsoll <plimsoll@example.com>'
/** In the order in which they go out. */
const OUR_HEADERS = [
  'from',
  'to',
  'subject',
  'message-id',
  'in-reply-to',
  'references',
  'date',
  'auto-submitted',
  'x-auto-response-suppress',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
]

const transport = nodemailer.createTransport({ streamTransport: true, buffer: true, newline: 'windows' })

/** The very bytes that a mail server would get. */
async function bytesOf(message: Message): Promise<{ raw: string; mail: Email }> {
  const sent = await transport.sendMail({
    ...mailFor({ id: 'd-1', message, now: NOW }, FROM, LINKS),
    from: FROM,
    to: ['ops@example.com'],
  })
  if (!Buffer.isBuffer(sent.message)) throw new Error('no bytes')
  return { raw: sent.message.toString('latin1'), mail: await PostalMime.parse(sent.message) }
}

function tagsIn(html: string): Set<string> {
  return new Set([...html.matchAll(/<\/?([^\s>]+)/g)].map(([, name = '']) => name))
}

async function expectHarmless(text: string, type: Message['type']): Promise<void> {
  const message = aMessage(hostileAlerts(text), { type })
  const { raw, mail } = await bytesOf(message)
  const [head = ''] = raw.split('\r\n\r\n', 1)
  expect(head.match(/^Subject:/gim)).toHaveLength(1)
  expect(mail.headers.map(({ key }) => key).filter((key) => !OUR_HEADERS.includes(key))).toEqual([])
  expect(new Set(mail.headers.map(({ key }) => key)).size).toBe(mail.headers.length)
  expect(raw.replaceAll('\r\n', '')).not.toMatch(/[\r\n]/)
  expect(mail.to).toMatchObject([{ address: 'ops@example.com' }])
  expect([mail.cc, mail.bcc]).toEqual([undefined, undefined])

  const subject = mail.subject ?? ''
  expect(Array.from(subject).length).toBeLessThanOrEqual(180)
  expect(subject).toMatch(type === 'alert.digest' ? /^\[DIGEST\] / : /^\[CRITICAL\] /)
  const { html = '', text: plain = '' } = mail
  expect([...tagsIn(html)].filter((tag) => !OUR_TAGS.has(tag))).toEqual([])
  for (const part of [subject, plain, html]) {
    expect(part).not.toMatch(/[\u202a-\u202e\u2066-\u2069\u200b\ufeff\u2028\u2029\u0085]/)
    expect(part.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u)
    expect(part.isWellFormed()).toBe(true)
  }
  expect(html).not.toMatch(/(?:href|src)="(?!https:\/\/(?:plimsoll\.example\.com|app\.hubspot\.com)\/)/)
  expect(mail.attachments).toEqual([])
}

const OUR_TAGS = tagsIn((await bytesOf(aMessage(hostileAlerts('a')))).mail.html ?? '')
for (const tag of tagsIn((await bytesOf(aMessage(hostileAlerts('a'), { type: 'alert.digest' }))).mail.html ?? '')) {
  OUR_TAGS.add(tag)
}

describe.each(['alert.firing', 'alert.digest'] as const)('in an %s', (type) => {
  test.each(Object.entries(HOSTILE))('%s in a label, a domain, a rule or a message does no harm', (_name, text) =>
    expectHarmless(text, type),
  )

  test('nothing does, of what chance puts together', async () => {
    const piece = fc.oneof(
      fc.constantFrom(...Object.values(HOSTILE).map((text) => text.slice(0, 200))),
      fc.constantFrom(
        '\r\n',
        '\n',
        '\r',
        '\r\n\r\n',
        '.\r\n',
        '--',
        '<',
        '>',
        '"',
        "'",
        '&',
        '=',
        '=?',
        '?=',
        '\t',
        ';',
        ',',
        '\0',
      ),
      fc.string({ unit: 'binary', maxLength: 20 }),
      fc.string({ maxLength: 20 }),
      fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
    )
    const words = fc.array(piece, { maxLength: 8 }).map((pieces) => pieces.join(''))
    await fc.assert(
      fc.asyncProperty(words, (text) => expectHarmless(text, type)),
      { numRuns: 40 },
    )
  })
})
