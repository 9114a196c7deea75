import { expect, test } from 'vitest'
import { aMessage, anAlert, NOW, onAccount } from '../example-messages.ts'
import { aFarSide, answers, never, openReceiver, sendThrough } from './far-side.ts'

const KEY = 'r0uting-k3y'
const settings = (url: string) => ({ type: 'pagerduty', routingKey: KEY, url: `${url}/v2/enqueue` })
const taken = answers(202, { status: 'success' })

interface Event {
  event_action: string
  dedup_key: string
  payload?: { severity: string; summary: string; custom_details: Record<string, string> }
}

async function eventsFor(...messages: ReturnType<typeof aMessage>[]) {
  const { arrived, url } = await aFarSide(taken)
  for (const message of messages)
    expect(await sendThrough(settings(url), message)).toMatchObject({ outcome: 'delivered' })
  for (const { path } of arrived) expect(path).toBe('/v2/enqueue')
  return arrived.map(({ body }) => JSON.parse(body) as Event)
}

test('an alert is one incident from warning to resolved: its key is its id without the number of the transition', async () => {
  const events = await eventsFor(
    aMessage([anAlert({ id: 'abc-1', level: 'warning' })]),
    aMessage([anAlert({ id: 'abc-2' })]),
    aMessage([anAlert({ id: 'abc-3', status: 'resolved', reason: 'recovered' })], { type: 'alert.resolved' }),
  )
  expect(events.map(({ event_action, dedup_key, payload }) => [event_action, dedup_key, payload?.severity])).toEqual([
    ['trigger', 'abc', 'warning'],
    ['trigger', 'abc', 'critical'],
    ['resolve', 'abc', undefined],
  ])
  expect(events[1]).toMatchObject({
    routing_key: KEY,
    payload: { summary: 'acme.example.com (123): Custom properties, 960 of 1,000', source: 'acme.example.com (123)' },
    links: expect.arrayContaining([{ href: 'https://plimsoll.example.com/alerts/abc-2', text: 'Open alert' }]),
  })
})

test('each alert of a message is an event of its own', async () => {
  const alerts = Array.from({ length: 20 }, (_, n) => onAccount(n + 1, anAlert()))
  const events = await eventsFor(aMessage(alerts))
  expect(new Set(events.map(({ dedup_key }) => dedup_key)).size).toBe(1)
  expect(events).toHaveLength(20)
})

test('a test and a limit that moved leave no incident open', async () => {
  for (const kind of ['test', 'limit-changed'] as const) {
    const events = await eventsFor(aMessage([anAlert({ kind })]))
    expect(events.map(({ event_action }) => event_action)).toEqual(['trigger', 'resolve'])
    expect(events[0]?.payload?.severity).toBe('info')
  }
})

test('an event keeps to the sizes of PagerDuty, whatever strangers write', async () => {
  const account = { hubId: 7, hubDomain: 'x'.repeat(9_000) }
  const records = {
    shown: 99,
    total: 99,
    items: Array.from({ length: 99 }, (_, objectId) => ({ objectId, label: '日'.repeat(5_000) })),
  }
  const { arrived, url } = await aFarSide(taken)
  await sendThrough(settings(url), aMessage([anAlert({ account, records, kind: 'poll', message: 'é'.repeat(99_000) })]))
  const [{ body } = { body: '' }] = arrived
  expect(Buffer.byteLength(body)).toBeLessThan(512_000)
  expect((JSON.parse(body) as Event).payload?.summary.length).toBeLessThanOrEqual(1_024)
})

test('a retry goes on behind what was taken, where the service takes a few events at a time', async () => {
  let left = 12
  const { arrived, url } = await aFarSide((response) => answers(left-- > 0 ? 202 : 429)(response))
  const alerts = Array.from({ length: 20 }, (_, n) => anAlert({ id: `key${n}-1` }))
  const { send, close } = openReceiver(settings(url))
  const delivery = { id: 'd-1', message: aMessage(alerts), now: NOW }
  expect(await send(delivery, never)).toMatchObject({ outcome: 'retry', answer: 429 })
  left = 8
  expect(await send(delivery, never)).toMatchObject({ outcome: 'delivered' })
  await close()
  // 16 were asked for at first, of which four were refused; no event was sent again that was taken.
  expect(arrived).toHaveLength(16 + 8)
})

test('what was taken of messages that are half sent is kept of a thousand, then forgotten', async () => {
  const { arrived, url } = await aFarSide((response, { body }) =>
    answers(body.includes('"dedup_key":"late"') ? 429 : 202)(response),
  )
  const { send, close } = openReceiver(settings(url))
  const message = aMessage([anAlert({ id: 'taken-1' }), anAlert({ id: 'late-1' })])
  const attempt = async (n: number) => {
    const before = arrived.length
    await send({ id: `d-${n}`, message, now: NOW }, never)
    return arrived.length - before
  }
  for (let n = 0; n < 999; n += 27) await Promise.all(Array.from({ length: 27 }, (_, m) => attempt(n + m)))
  expect(await attempt(999)).toBe(2)
  expect(await attempt(1_000)).toBe(2)
  expect([await attempt(1_000), await attempt(0), await attempt(0)]).toEqual([1, 2, 1])
  await close()
})

test('an acknowledgement is one there, of the incident of its alert, and nothing more', async () => {
  const { arrived, url } = await aFarSide(answers(202))
  const message = aMessage([anAlert()], { type: 'alert.acknowledged' })
  expect(await sendThrough({ type: 'pagerduty', routingKey: 'k', url }, message)).toMatchObject({
    outcome: 'delivered',
  })
  expect(arrived.map(({ body }) => JSON.parse(body))).toEqual([
    { routing_key: 'k', event_action: 'acknowledge', dedup_key: 'a' },
  ])
})
