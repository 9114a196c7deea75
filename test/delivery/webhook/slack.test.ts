import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Alert, Message } from '../../../src/alerts/alert.ts'
import { slackBody } from '../../../src/delivery/receivers/slack/slack-body.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, onAccount, someChanges } from '../example-messages.ts'

const HOME = 'https://plimsoll.example.com/'

/** Slack's limits; it refuses a message that is beyond any of them. */
const plain = (most: number) =>
  z.strictObject({ type: z.literal('plain_text'), text: z.string().min(1).max(most), emoji: z.literal(false) })
const mrkdwn = z.strictObject({
  type: z.literal('mrkdwn'),
  text: z.string().min(1).max(3000),
  verbatim: z.literal(true),
})
const block = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('header'), text: plain(150) }),
  z.strictObject({
    type: z.literal('section'),
    text: plain(3000).optional(),
    fields: z.array(plain(2000)).min(1).max(10).optional(),
  }),
  z.strictObject({ type: z.literal('context'), elements: z.array(mrkdwn).min(1).max(10) }),
])
const payload = z.strictObject({ text: z.string().min(1).max(4000), blocks: z.array(block).min(1).max(50) })

function parsed(message: Message) {
  return payload.parse(JSON.parse(slackBody(message, { receiver: 'chat', home: HOME, groupBy: ['rule'] })))
}

/** What Slack reads as markup. */
function markupOf({ text, blocks }: z.output<typeof payload>): string[] {
  return [text, ...blocks.flatMap((one) => (one.type === 'context' ? one.elements.map((element) => element.text) : []))]
}

test('one alert is told whole: headline, what happened, the facts, where to look', () => {
  const { text, blocks } = parsed(aMessage())
  expect(text).toBe('[CRITICAL] acme.example.com (123): Custom properties 96 %')
  expect(blocks.map(({ type }) => type)).toEqual(['header', 'section', 'context', 'context'])
  expect(blocks[1]).toMatchObject({ text: { text: 'Worse: warning → critical.' } })
  expect(markupOf(parsed(aMessage()))[1]).toBe('<https://plimsoll.example.com/accounts/123|Open account>')
})

test('an account is one block: its alerts a field each, critical before warning, with the link that reconnects it', () => {
  const alerts = [
    onAccount(7, anAlert({ level: 'warning', percent: 86, usage: 860 })),
    onAccount(8, aTokenAlert({ cause: 'failing' })),
    onAccount(7, aTokenAlert()),
    onAccount(7, anAtLimitAlert({ level: 'warning' })),
  ]
  const links = {
    open: ({ id }: Alert) => `${HOME}alerts/${id}`,
    reconnect: ({ account }: Alert) => `${HOME}install?${account?.hubId}`,
  }
  const { blocks } = payload.parse(
    JSON.parse(slackBody(aMessage(alerts), { receiver: 'chat', home: HOME, groupBy: ['rule'], links })),
  )
  const sections = blocks.flatMap((one) =>
    one.type === 'section' ? [[one.text, ...(one.fields ?? [])].map((part) => part?.text)] : [],
  )
  expect(sections).toEqual([
    [
      'account-7.example.com (7)\nTo do: Send the reconnect link to an administrator of the account.',
      '🔴 Customer must reconnect\nsince 2026-11-20 09:00 UTC',
      '🟠 212 contacts have the maximum of companies\nsince 2026-11-20 09:00 UTC',
      '🟠 Custom properties\n860 of 1,000, 6 days left',
    ],
    ['account-8.example.com (8)', "🔴 Tokens can't be refreshed\nsince 2026-11-20 09:00 UTC"],
  ])
  expect(blocks[2]).toMatchObject({
    elements: [{ text: `<${HOME}accounts/7|Open account> · <${HOME}install?7|Reconnect link>` }],
  })
  // One alert alone has it too.
  expect(slackBody(aMessage([aTokenAlert()]), { receiver: 'chat', home: HOME, groupBy: [], links })).toContain(
    'install?123|Reconnect link',
  )
})

test('records are named', () => {
  const records = { shown: 2, total: 9, items: [{ objectId: 1, label: 'Ann', usage: 95 }, { objectId: 2 }] }
  const { blocks } = parsed(aMessage([anAlert({ records })]))
  expect(JSON.stringify(blocks)).toContain('Records (2 of 9 shown)\\n• Ann #1 95\\n• #2 at its limit')
})

test('of many alerts as many are shown as there is room for, the rest is counted', () => {
  const alerts = Array.from({ length: 200 }, (_, n) => onAccount(n + 1, anAlert()))
  const body = parsed(aMessage(alerts, { data: { groupKey: 'g', truncated: 30, alerts } }))
  expect(body.blocks.filter(({ type }) => type === 'section')).toHaveLength(23)
  expect(markupOf(body)).toContain(`207 more alerts not shown: <${HOME}|status page>`)
})

test('a digest ends with what changed since the last one, and has room for it', () => {
  const alerts = Array.from({ length: 200 }, (_, n) => onAccount(n + 1, anAlert()))
  const data = { groupKey: 'g', truncated: 30, alerts, period: 'day' as const, changed: someChanges() }
  const [header, ...rest] = parsed(aMessage(alerts, { type: 'alert.digest', data })).blocks
  expect(header?.type).toBe('header')
  expect(rest.findLast(({ type }) => type === 'section')).toMatchObject({
    text: {
      text: expect.stringMatching(/^1 account must reconnect, .*\nAccounts: connected, uninstalled, must reconnect\n/),
    },
  })
  expect(rest.filter(({ type }) => type === 'section')).toHaveLength(24)
  const [item] = data.changed.items
  const long = Array.from({ length: 40 }, () => ({ ...item, account: { hubId: 1, hubDomain: 'a'.repeat(500) } }))
  parsed(aMessage([], { data: { ...data, alerts: [], changed: { ...data.changed, items: long as never } } }))
})

test('what is resolved and what is a test look so', () => {
  const over = anAlert({ status: 'resolved', reason: 'recovered' })
  expect(parsed(aMessage([over], { type: 'alert.resolved' })).text).toMatch(/^\[RESOLVED\]/)
  const { account: _, series: __, ...rest } = anAlert({ kind: 'test', reason: 'test', rule: 'test' })
  expect(parsed(aMessage([rest], { type: 'alert.test' })).text).toMatch(/^\[TEST\]/)
})

describe("strangers' words", () => {
  const hostile = [
    '<!channel>',
    '<@U123>',
    '<http://evil.example|click>',
    '@here',
    '*bold*',
    '_i_',
    '`c`',
    '~s~',
    '&lt;',
    'http://evil.example',
  ]

  test.each(hostile)('are shown as they stand, and are no markup: %s', (words) => {
    const account = { hubId: 7, hubDomain: words }
    const series = { metric: 'customProperties.objectType', objectTypeId: '2-1', label: words }
    const records = { shown: 1, total: 1, items: [{ objectId: 1, label: words }] }
    const body = parsed(aMessage([anAlert({ account, series, records })]))
    expect(body.blocks[0]).toMatchObject({ type: 'header', text: { text: expect.stringContaining(words) } })
    const [text = '', ...own] = markupOf(body)
    expect(text).not.toMatch(/[<>@*_~`]|:\/\/|&(?!(?:amp|lt|gt);)/)
    for (const markup of own) expect(markup).not.toContain('evil')
  })

  test('whatever they are, and however long, the message is one that Slack takes', () => {
    const words = fc.string({ unit: 'binary', maxLength: 6_000 })
    fc.assert(
      fc.property(words, words, words, fc.integer({ min: 1, max: 60 }), (hubDomain, label, said, count) => {
        const series = { metric: 'associations.fullest', from: label, to: said }
        const items = Array.from({ length: 60 }, (_, n) => ({ objectId: n, label, usage: n }))
        const one = anAlert({
          account: { hubId: 1, hubDomain },
          series,
          message: said,
          records: { shown: 60, total: 60, items },
        })
        parsed(aMessage(Array.from({ length: count }, () => one)))
      }),
      { numRuns: 10 },
    )
  })
})
