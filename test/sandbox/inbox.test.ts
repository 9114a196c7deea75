import nodemailer from 'nodemailer'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Visit, visit } from './visit.ts'

const MAIL = {
  from: 'Plimsoll <plimsoll@example.com>',
  to: ['ops@example.com', 'Second <two@example.com>'],
  subject: '[WARNING] acmé (1): 80 % of 1,000',
  text: 'plain words',
  html: '<p>rich <b>words</b></p>',
  messageId: '<one@plimsoll.example.com>',
  headers: { 'Auto-Submitted': 'auto-generated' },
}

function transport({ sandbox }: Visit, options: object = {}) {
  const mailer = nodemailer.createTransport({
    host: '127.0.0.1',
    port: Number(new URL(sandbox.smtpUrl).port),
    secure: false,
    ...options,
  })
  onTestFinished(() => mailer.close())
  return mailer
}

async function mails({ call }: Visit): Promise<Record<string, unknown>[]> {
  return (await (await call('GET', '/sandbox/inbox')).json()) as Record<string, unknown>[]
}

describe('a mail', () => {
  test('is kept with everything that a reader may ask of it', async () => {
    const here = await visit()
    await transport(here).sendMail(MAIL)
    const [mail] = await mails(here)
    expect(mail).toMatchObject({
      time: '2026-11-21T10:00:00.000Z',
      from: 'plimsoll@example.com',
      to: ['ops@example.com', 'two@example.com'],
      subject: MAIL.subject,
      text: expect.stringContaining('plain words'),
      html: expect.stringContaining(MAIL.html),
      messageId: MAIL.messageId,
      headers: {
        'auto-submitted': 'auto-generated',
        from: MAIL.from,
        'message-id': MAIL.messageId,
      },
      raw: expect.stringContaining('Auto-Submitted: auto-generated\r\n'),
    })
  })

  test('comes in order', async () => {
    const here = await visit()
    const mailer = transport(here)
    await mailer.sendMail({ ...MAIL, subject: 'first' })
    here.clock.move(1_000)
    await mailer.sendMail({ ...MAIL, subject: 'second' })
    expect((await mails(here)).map(({ subject }) => subject)).toEqual(['first', 'second'])
  })

  test('is taken with any login, too', async () => {
    const here = await visit()
    await transport(here, { auth: { user: 'who', pass: 'ever' } }).sendMail(MAIL)
    expect(await mails(here)).toHaveLength(1)
  })
})

describe('the page for people', () => {
  test('shows subject, time and the rich part in a frame that can do nothing', async () => {
    const here = await visit()
    await transport(here).sendMail({ ...MAIL, html: '<p>hi</p><script>alert("x")</script>' })
    const answer = await here.call('GET', '/sandbox/inbox', undefined, { accept: 'text/html,application/xhtml+xml' })
    expect(answer.headers.get('content-type')).toContain('text/html')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
    const text = await answer.text()
    expect(text).toContain('[WARNING] acmé (1): 80 % of 1,000')
    expect(text).toContain('2026-11-21 10:00:00 UTC')
    expect(text).toContain('<iframe sandbox=""')
    expect(text).toContain('srcdoc="&lt;p&gt;hi&lt;/p&gt;')
    expect(text).not.toContain('<script')
  })

  test('leaves programs their JSON', async () => {
    const here = await visit()
    for (const accept of ['application/json', '*/*', 'application/json, text/html;q=0.9']) {
      const answer = await here.call('GET', '/sandbox/inbox', undefined, { accept })
      expect(answer.headers.get('content-type')).toContain('application/json')
    }
  })
})

describe('faults', () => {
  test('refuse the mail with the reply code, and take it the next time', async () => {
    const here = await visit()
    const mailer = transport(here)
    await here.call('POST', '/sandbox/faults', { endpoint: 'smtp', status: 451, body: 'come back later', times: 1 })
    await expect(mailer.sendMail(MAIL)).rejects.toMatchObject({
      responseCode: 451,
      response: expect.stringContaining('come back later'),
    })
    expect(await mails(here)).toEqual([])
    await mailer.sendMail(MAIL)
    expect(await mails(here)).toHaveLength(1)
  })

  test('drop the connection, before or after the mail was taken', async () => {
    const here = await visit()
    await here.call('POST', '/sandbox/faults', { endpoint: 'smtp', drop: true, times: 1 })
    await expect(transport(here).sendMail(MAIL)).rejects.toThrow()
    expect(await mails(here)).toEqual([])
    await here.call('POST', '/sandbox/faults', { endpoint: 'smtp', drop: true, after: true, times: 1 })
    await expect(transport(here).sendMail(MAIL)).rejects.toThrow()
    expect(await mails(here)).toHaveLength(1)
  })

  test('delay the reply', async () => {
    const here = await visit()
    await here.call('POST', '/sandbox/faults', { endpoint: 'smtp', delayMs: 1_000, times: 1 })
    const sent = transport(here).sendMail(MAIL)
    await here.clock.sleeper()
    expect(await mails(here)).toEqual([])
    here.clock.move(1_000)
    await sent
    expect(await mails(here)).toHaveLength(1)
  })
})
