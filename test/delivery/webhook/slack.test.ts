import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import * as z from 'zod'
import type { Message } from '../../../src/alerts/alert.ts'
import { slackBody } from '../../../src/delivery/receivers/slack/slack.ts'
import { aMessage, anAlert, onAccount, someChanges } from '../example-messages.ts'

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
