import { describe, expect, onTestFinished, test } from 'vitest'
import type { Message } from '../../../src/alerts/alert.ts'
import { sampleMessage } from '../../../src/delivery/templates/sample-messages.ts'
import { startMailServer } from '../email/mail-server.ts'
import { aMessage, anAlert, aTokenAlert, NOW, onAccount } from '../example-messages.ts'
import { aFarSide, answers, openReceiver, sendThrough } from '../receivers/far-side.ts'

const TEMPLATE = {
  title: 'Limit: {{ subject }}',
  body: '*{{ alert.account.domain }}* {{ alert.headline }}\n{{ alert.links.open }}',
}
const EVIL = '<!channel> *x* [y](http://evil.example) <a href=x>'
const evil = () => aMessage([anAlert({ account: { hubId: 7, hubDomain: EVIL } })])

const POSTED = {
  slack: { type: 'slack' },
  teams: { type: 'teams' },
  ntfy: { type: 'ntfy', topic: 't' },
  telegram: { type: 'telegram', botToken: '1:abc', chat: '7' },
  apprise: { type: 'apprise' },
  pagerduty: { type: 'pagerduty', routingKey: 'k' },
} as const

/** What a service was posted by a receiver with this template. */
async function posted(name: keyof typeof POSTED, template: object, message: Message = aMessage()) {
  const { arrived, url } = await aFarSide(answers(200))
  const outcome = await sendThrough({ ...POSTED[name], url, template }, message)
  expect(outcome.outcome).toBe('delivered')
  return { body: arrived[0]?.body ?? '', outcome }
}

test.each(Object.keys(POSTED) as (keyof typeof POSTED)[])('%s sends title and body of its template', async (name) => {
  const { body } = await posted(name, TEMPLATE)
  expect(body).toContain('Limit: [CRITICAL] acme.example.com (123)')
  expect(body).toContain('*acme.example.com* Custom properties, 960 of 1,000\\nhttps://plimsoll.example.com/alerts/a-1')
})

test.each(Object.keys(POSTED) as (keyof typeof POSTED)[])('%s keeps its own body below a title alone', async (name) => {
  const { body } = await posted(name, { title: 'T {{ alert.kind }}' })
  expect(body).toContain('T limit')
  expect(body).toContain('960 of 1,000')
})

function textsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []
}

test.each(['slack', 'teams'] as const)(
  "%s: strangers' words lose their signs, those of the template stay",
  async (name) => {
    const { body } = await posted(name, TEMPLATE, evil())
    const texts = textsIn(JSON.parse(body))
    const own = texts.find((text) => text.includes('/alerts/a-1')) ?? ''
    expect(own.startsWith('*')).toBe(true)
    expect(own.slice(1, own.indexOf('Custom')).trimEnd().slice(0, -1)).not.toMatch(/[*<>]|\]\(|:\/\//)
  },
)

test('of many alerts as many are shown as the service takes, and the rest is counted', async () => {
  const alerts = Array.from({ length: 200 }, (_, n) =>
    onAccount(n + 1, anAlert(), `${'日本'.repeat(30)}-${n}.example.com`),
  )
  const body = '{% for a in alerts %}{{ a.subject }}: {{ a.headline }}\n{% endfor %}'
  for (const [name, most] of [
    ['slack', 5_000],
    ['teams', 20_000],
    ['telegram', 8_000],
    ['ntfy', 8_500],
  ] as const) {
    const sent = await posted(name, { body }, aMessage(alerts))
    expect(sent.body.length).toBeLessThan(most)
    expect(sent.body).toMatch(/1\d\d more alerts not shown: https:\/\/plimsoll.example.com\//)
  }
})

test('a template that fails for one message alone costs that message its words, not its delivery', async () => {
  const alerts = Array.from({ length: 3_000 }, (_, n) => onAccount(n + 1, anAlert()))
  const title = '{% for a in alerts %}{% for b in alerts %}{% endfor %}{% endfor %}T'
  const { body, outcome } = await posted('telegram', { title }, aMessage(alerts))
  expect(outcome).toMatchObject({ detail: expect.stringContaining('sent without its template') })
  expect(body).toContain('3,000 accounts')
})

describe('a mail', () => {
  async function mailed(template: object, message: Message, to: 'account' | string[] = ['ops@example.com']) {
    const server = await startMailServer()
    onTestFinished(() => server.close())
    const smtp = `smtp://127.0.0.1:${server.port}`
    const receiver = openReceiver({ type: 'email', smtp, from: 'plimsoll@example.com', to, template })
    const outcome = await receiver.send({ id: 'd-1', message, now: NOW }, new AbortController().signal)
    await receiver.close()
    return { outcome, mail: server.arrived[0]?.mail }
  }

  test('has subject and body of its template: the HTML part is the same text, escaped', async () => {
    const { mail } = await mailed(
      {
        subject: '{{ badge }}: {{ alert.account.domain }}',
        body: 'Hello <all>,\n\n{{ alert.happened }}\nhttps://wiki.example.com/limits',
      },
      evil(),
    )
    expect(mail?.subject).toMatch(/^CRITICAL: <!channel>/)
    expect(mail?.text).toContain('Hello <all>,\n\nCustom properties, 960 of 1,000. Worse: warning → critical.')
    expect(mail?.html).toContain('Hello &lt;all&gt;,</bdi><br>')
    expect(mail?.html).toContain('<a href="https://wiki.example.com/limits">')
    expect(mail?.html).not.toContain('<a href="http://evil')
  })

  test('has no header of a stranger', async () => {
    const words = 'acme\r\nBcc: evil@example.com\r\n\r\nbody =?utf-8?q?=0d=0aX-Evil:_1?='
    const message = aMessage([anAlert({ account: { hubId: 7, hubDomain: words } })])
    const { mail } = await mailed({ subject: 'A\n {{ alert.account.domain }} {{ subject }}' }, message)
    expect(mail?.headers.map(({ key }) => key)).not.toContain('bcc')
    expect(mail?.headers.map(({ key }) => key)).not.toContain('x-evil')
    expect(mail?.subject).toMatch(/^A acme Bcc: evil@example.com body = \?utf-8/)
  })

  test('that asks a customer to connect again has none of the words for operators', async () => {
    const message = { ...aMessage([aTokenAlert()]), type: 'account.reconnect' as const }
    const { outcome } = await mailed({ subject: 'secret runbook', body: 'for operators' }, message)
    // It has no contact to go to here: what matters is that it is not refused by its template.
    expect(outcome).toMatchObject({ outcome: 'refuse' })
    const shown = openReceiver({
      type: 'email',
      smtp: 'smtp://127.0.0.1:1',
      from: 'a@example.com',
      to: ['ops@example.com'],
      template: { subject: 'secret runbook', body: 'for operators' },
    })
    expect(shown.show(message, NOW).text).not.toContain('for operators')
    await shown.close()
  })
})

describe('a payload', () => {
  const SECRET = 'MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

  async function sent(payload: unknown, message: Message = aMessage()) {
    const { arrived, url } = await aFarSide(answers(200))
    const outcome = await sendThrough({ type: 'webhook', url, secrets: [SECRET], payload }, message)
    return { outcome, ...arrived[0], json: arrived[0] && JSON.parse(arrived[0].body) }
  }

  test('is a structure whose texts are filled in, with types kept, and signed', async () => {
    const { json, headers } = await sent({
      content: '{{ subject }}',
      embeds: [
        {
          title: '{{ alert.headline }}',
          usage: '{{ alert.usage }}',
          none: '{{ alert.records }}',
          color: 7,
          ok: true,
          nothing: null,
        },
      ],
      all: '{{ alerts | map: "id" }}',
    })
    expect(json).toEqual({
      content: '[CRITICAL] acme.example.com (123): Custom properties 96 %',
      embeds: [{ title: 'Custom properties, 960 of 1,000', usage: 960, none: [], color: 7, ok: true, nothing: null }],
      all: ['a'],
    })
    expect(headers?.['webhook-signature']).toMatch(/^v1,/)
  })

  test('is valid JSON, whatever strangers write', async () => {
    const words = '"}], "x": [{ \\ \u2028 {{ subject }} {% include "x" %}'
    const { json } = await sent(
      { a: 'x {{ alert.account.domain }} y' },
      aMessage([anAlert({ account: { hubId: 7, hubDomain: words } })]),
    )
    expect(Object.keys(json)).toEqual(['a'])
    expect(json.a).toContain('{{ subject }} {% include "x" %}')
  })

  test('of too many alerts has as many as fit', async () => {
    const alerts = Array.from({ length: 3_000 }, (_, n) => onAccount(n + 1, anAlert()))
    const { json, body } = await sent({ alerts: '{{ alerts }}', left: '{{ truncated }}' }, aMessage(alerts))
    expect(body?.length).toBeLessThan(500_000)
    expect(json.alerts.length + json.left).toBe(3_000)
  })
})

test('a message about an account, and an acknowledgement, have their fields in a payload, and their own shape without', async () => {
  const account = sampleMessage('account')
  const payload = {
    type: '{{ type }}',
    account: '{{ account.id }}',
    by: '{{ acknowledged.by }}',
    level: '{{ alert.level }}',
    subject: '{{ subject }}',
  }
  for (const [message, made] of [
    [
      account,
      {
        type: 'account.connected',
        account: 1234567,
        by: null,
        level: null,
        subject: '[ACCOUNT] acme.example.com (1234567): connected',
      },
    ],
    [
      sampleMessage('acknowledged'),
      {
        type: 'alert.acknowledged',
        account: 1234567,
        by: 'ann',
        level: 'critical',
        subject: expect.stringContaining('[ACKNOWLEDGED] acme'),
      },
    ],
  ] as const) {
    const { arrived, url } = await aFarSide(answers(200))
    await sendThrough({ type: 'webhook', url, payload, events: ['alerts', 'accounts'] }, message)
    await sendThrough({ type: 'webhook', url, secrets: ['MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'] }, message)
    expect(JSON.parse(arrived[0]?.body ?? '')).toEqual(made)
    expect(arrived[1]?.headers['webhook-signature']).toMatch(/^v1,/)
    if (message === account)
      expect(JSON.parse(arrived[1]?.body ?? '').data).toEqual({
        account: { hubId: 1234567, hubDomain: 'acme.example.com' },
      })
  }
})

test('what would be sent is shown without being sent, and without secrets', async () => {
  for (const [name, given] of Object.entries(POSTED)) {
    const receiver = openReceiver({
      ...given,
      ...(name === 'pagerduty' ? { routingKey: 's3cret' } : { url: 'http://127.0.0.1:1/s3cret' }),
      template: TEMPLATE,
    })
    const { text, fault } = receiver.show(sampleMessage('token'), NOW)
    expect({ name, fault }).toEqual({ name, fault: undefined })
    expect(text).toContain('Customer must reconnect')
    expect(text).not.toContain('s3cret')
    await receiver.close()
  }
})
