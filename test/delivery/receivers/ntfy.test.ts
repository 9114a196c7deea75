import { expect, test } from 'vitest'
import { aMessage, anAlert, onAccount } from '../example-messages.ts'
import { aFarSide, answers, sendThrough } from './far-side.ts'

const settings = (url: string) => ({ type: 'ntfy', url, topic: 'plimsoll-ops', token: 'tk_s3cret' })

test('a notification names its topic and opens the alert; the token is a header', async () => {
  const { arrived, url } = await aFarSide(answers(200, {}))
  expect(await sendThrough(settings(url))).toMatchObject({ outcome: 'delivered' })
  const [{ path, headers, body } = { path: '', headers: {}, body: '{}' }] = arrived
  expect([path, headers.authorization]).toEqual(['/', 'Bearer tk_s3cret'])
  expect(JSON.parse(body)).toMatchObject({
    topic: 'plimsoll-ops',
    title: expect.stringContaining('acme.example.com'),
    message: expect.stringContaining('960 of 1,000'),
    priority: 5,
    click: 'https://plimsoll.example.com/alerts/a-1',
  })
})

test.each([1, 200])(
  'of %i long alerts a message stays below 4,096 bytes, and counts what it leaves out',
  async (count) => {
    const { arrived, url } = await aFarSide(answers(200, {}))
    const records = {
      shown: 10,
      total: 10,
      items: Array.from({ length: 10 }, (_, n) => ({ objectId: n, label: '日'.repeat(500) })),
    }
    const alerts = Array.from({ length: count }, (_, n) => onAccount(n + 1, anAlert({ records }), '日本'.repeat(40)))
    await sendThrough(settings(url), aMessage(alerts))
    const { message } = JSON.parse(arrived[0]?.body ?? '{}') as { message: string }
    expect(Buffer.byteLength(message)).toBeLessThan(4_096)
    expect(message).toMatch(count === 1 ? /960 of 1,000/ : /1\d\d more alerts not shown: https:/)
  },
)
