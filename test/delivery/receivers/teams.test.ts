import { expect, test } from 'vitest'
import * as z from 'zod'
import { aMessage, anAlert, aTokenAlert, onAccount } from '../example-messages.ts'
import { aFarSide, answers, sendThrough } from './far-side.ts'

const block = z.looseObject({ type: z.enum(['TextBlock', 'FactSet']), text: z.string().min(1).optional() })
const card = z.strictObject({
  type: z.literal('message'),
  attachments: z.tuple([
    z.strictObject({
      contentType: z.literal('application/vnd.microsoft.card.adaptive'),
      contentUrl: z.null(),
      content: z.strictObject({
        $schema: z.string(),
        type: z.literal('AdaptiveCard'),
        version: z.literal('1.2'),
        fallbackText: z.string().min(1),
        body: z.array(block).min(1),
        actions: z.array(z.strictObject({ type: z.literal('Action.OpenUrl'), title: z.string(), url: z.url() })).max(6),
        msteams: z.strictObject({ width: z.literal('full') }),
      }),
    }),
  ]),
})

/** Refuses what Teams refuses. */
async function cardFor(message = aMessage()) {
  const { arrived, url } = await aFarSide((response, { body }) =>
    answers(Buffer.byteLength(body) > 20_000 ? 413 : 202)(response),
  )
  const outcome = await sendThrough({ type: 'teams', url: `${url}/workflows/x?sig=s3cret` }, message)
  expect(outcome).toMatchObject({ outcome: 'delivered', answer: 202, detail: expect.stringContaining('accepted') })
  const [{ path, body } = { path: '', body: '' }] = arrived
  expect(path).toBe('/workflows/x?sig=s3cret')
  return card.parse(JSON.parse(body)).attachments[0].content
}

test('of many alerts as many are shown as the card has room for, the rest is counted with a link', async () => {
  const alerts = Array.from({ length: 200 }, (_, n) =>
    onAccount(n + 1, anAlert(), `${'日本'.repeat(30)}-${n}.example.com`),
  )
  const { body } = await cardFor(aMessage(alerts, { truncated: 30 }))
  const shown = body.filter(({ weight }) => weight === 'Bolder').length - 1
  expect(shown).toBeGreaterThan(10)
  expect(body.map((one) => one.text)).toContain(
    `${230 - shown} more alerts not shown: [status page](https://plimsoll.example.com/)`,
  )
})

test('a code is shown as it is, to be searched for', async () => {
  const message = 'HubSpot answered 401: invalid_client.'
  const { body } = await cardFor(aMessage([{ ...aTokenAlert(), message }]))
  expect(JSON.stringify(body)).toContain('invalid_client')
})

test.each([
  '*bold*',
  '_italic_',
  '[click](http://evil.example)',
  '<at>everybody</at>',
  '`code`',
  'http://evil.example',
])("a stranger's words are no markup: %s", async (words) => {
  const series = { metric: 'customProperties.objectType', objectTypeId: '2-1', label: words }
  const { fallbackText, body } = await cardFor(aMessage([anAlert({ account: { hubId: 7, hubDomain: words }, series })]))
  for (const text of [fallbackText, ...body.flatMap((one) => one.text ?? [])])
    expect(text).not.toMatch(/[*`<>]|_italic|\]\(|:\/\/evil/)
})
