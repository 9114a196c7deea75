import { expect, test } from 'vitest'
import { aMessage, anAlert, NOW, onAccount } from '../example-messages.ts'
import { aFarSide, answers, never, openReceiver, sendThrough } from './far-side.ts'

const TOKEN = '12345:s3cret-T0ken'
const settings = (url: string) => ({ type: 'telegram', botToken: TOKEN, chat: '-100', url })
const chatOf = ({ body }: { body: string }) => (JSON.parse(body) as { chat_id: string }).chat_id

test('a message is plain text for the chat, at most 4,096 characters', async () => {
  const { arrived, url } = await aFarSide(answers(200, { ok: true }))
  const alerts = Array.from({ length: 200 }, (_, n) => onAccount(n + 1, anAlert()))
  await sendThrough(settings(url))
  await sendThrough(settings(url), aMessage(alerts))
  expect(arrived.map(({ path }) => path)).toEqual(Array(2).fill(`/bot${TOKEN}/sendMessage`))
  const [one, many] = arrived.map(({ body }) => JSON.parse(body) as { text: string; parse_mode?: string })
  expect(one).not.toHaveProperty('parse_mode')
  expect(one?.text).toContain('960 of 1,000')
  expect(many?.text).toMatch(/\d+ more alerts not shown: https:\/\/plimsoll/)
  expect(many?.text.length).toBeLessThanOrEqual(4_096)
})

test('the pause is read from the body', async () => {
  const { url } = await aFarSide(answers(429, { ok: false, parameters: { retry_after: 37 } }))
  expect(await sendThrough(settings(url))).toMatchObject({ outcome: 'retry', answer: 429, retryAfterMs: 37_000 })
})

test('a group that became a supergroup is followed, and the new number is shown', async () => {
  const { arrived, url } = await aFarSide((response, one) =>
    chatOf(one) === '-100'
      ? answers(400, { ok: false, parameters: { migrate_to_chat_id: -1001234567890 } })(response)
      : answers(200, { ok: true })(response),
  )
  const { send, close } = openReceiver(settings(url))
  const delivery = { id: 'd-1', message: aMessage(), now: NOW }
  const detail = 'the group is a supergroup now: set chat to "-1001234567890"'
  expect(await send(delivery, never)).toEqual({ outcome: 'delivered', answer: 200, detail })
  await send(delivery, never)
  await close()
  expect(arrived.map(chatOf)).toEqual(['-100', '-1001234567890', '-1001234567890'])
})
