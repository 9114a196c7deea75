import { expect, onTestFinished, test } from 'vitest'
import type { MailLinks } from '../../../src/delivery/describe/mail-links.ts'
import type { AddresseeOf } from '../../../src/delivery/receiver.ts'
import { createEmailReceiver } from '../../../src/delivery/receivers/email/send-email.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { aMessage, anAlert, anAtLimitAlert, aTokenAlert, NOW, onAccount } from '../example-messages.ts'
import { reply, startMailServer } from './mail-server.ts'

const never = new AbortController().signal
const INSIDE = 'https://inside.example.com'
const LINKS: MailLinks = {
  open: () => `${INSIDE}/alerts/1`,
  acknowledge: () => `${INSIDE}/ack`,
  silence: () => `${INSIDE}/silence`,
  rule: () => 'thresholds line 31',
  appName: 'Example App',
  site: () => 'https://app.hubspot.com/',
  reconnect: ({ account }) => `https://app.example.com/install?account=${account?.hubId}`,
}

/** A receiver of contacts, and the server that it sends by. */
async function world(addressee: AddresseeOf, options = {}) {
  const server = await startMailServer({ disabledCommands: ['STARTTLS'], ...options })
  onTestFinished(server.close)
  const receiver = createEmailReceiver({
    name: 'account-owner',
    smtp: new Secret(`smtp://127.0.0.1:${server.port}`),
    from: 'app@example.com',
    ehlo: 'plimsoll.example.com',
    to: 'account',
    tls: 'optional',
    links: LINKS,
    addresseeOf: addressee,
  })
  onTestFinished(() => receiver.close())
  return { server, send: (message = aMessage()) => receiver.send({ id: 'd-1', message, now: NOW }, never) }
}

const found = (address: string) => ({ is: 'found', address }) as const

test('a mail goes to the contact that its account has when it is sent', async () => {
  let contact = 'old@acme.example.com'
  const { server, send } = await world(async (hubId) => found(hubId === 123 ? contact : 'other@example.com'))
  await send()
  contact = 'new@acme.example.com'
  expect(await send()).toMatchObject({ outcome: 'delivered' })
  expect(server.arrived.map(({ recipients }) => recipients)).toEqual([
    ['old@acme.example.com'],
    ['new@acme.example.com'],
  ])
})

test('it has nothing of the operators: no page, rule or command of theirs, but the link that connects the account', async () => {
  const { server, send } = await world(async () => found('ada@acme.example.com'))
  const message = `${aTokenAlert().message} plimsoll accounts reconnect-link 123 prints the link for that.`
  await send(aMessage([{ ...aTokenAlert(), message, url: `${INSIDE}/accounts/123` }]))
  await send(aMessage([{ ...anAlert(), url: `${INSIDE}/accounts/123` }]))
  const [token, limit] = server.arrived.map(({ mail }) => mail)
  expect(token?.subject).toBe('Connect Example App to acme.example.com again')
  expect(limit?.subject).toBe('Your HubSpot account acme.example.com is close to a limit')
  for (const mail of [token, limit]) {
    for (const text of [mail?.text, mail?.html]) {
      expect(text).not.toMatch(/inside\.example\.com|plimsoll|thresholds|rule |acknowledge/i)
    }
  }
  expect(token?.text).toContain('https://app.example.com/install?account=123')
  for (const text of [
    'Example App is no longer connected to your HubSpot account acme.example.com.',
    "Until you connect again, Example App can't read or change data there.",
    'forward this mail to one',
  ])
    expect(token?.text).toContain(text)
})

test('a missing permission is named, and so is how many records a list leaves out', async () => {
  const { server, send } = await world(async () => found('ada@acme.example.com'))
  await send(aMessage([aTokenAlert({ kind: 'poll', cause: 'scopes' })]))
  await send(aMessage([anAtLimitAlert()]))
  const [permission, records] = server.arrived.map(({ mail }) => mail)
  expect(permission?.subject).toBe('Example App needs a permission in acme.example.com')
  expect(permission?.text).toContain(
    'lacks the permission to read CRM objects in your HubSpot account acme.example.com.',
  )
  expect(records?.text).toContain(`Limits
  Contacts with the maximum of companies: 212
    Now you can add no more companies to these contacts.
    Acme Holdings: at its limit`)
  expect(records?.text).toContain('and 209 more')
})

test('it says in a customer’s words what happened and what to do, once, in both parts', async () => {
  const { server, send } = await world(async () => found('ada@acme.example.com'))
  const listings = { metric: 'customProperties.objectType', objectTypeId: '2-7', label: '<b>Listings' }
  const alerts = [
    anAlert({ usage: 960, limit: 1_000, percent: 96 }),
    anAlert({ series: listings, usage: 1_000, limit: 1_000, percent: 100, level: 'warning' }),
  ]
  await send(aMessage(alerts))
  const [mail] = server.arrived.map((one) => one.mail)
  expect(mail?.subject).toBe('Your HubSpot account acme.example.com has reached or is close to 2 limits')
  expect(mail?.text?.trimEnd()).toBe(`Hello,

Your HubSpot account acme.example.com has reached or is close to 2 limits.

Limits
  <b>Listings: 1,000 of 1,000 custom properties used
    Now you can create no more custom properties for <b>Listings.
  Custom properties: 960 of 1,000 used
    At 1,000 you can create no more custom properties.

What to do
  Delete custom properties that are not in use (in HubSpot: Settings > Properties), or ask HubSpot for a higher limit.

Open HubSpot   https://app.hubspot.com/

Questions? Reply to this mail.

-- 
Example App, app@example.com
You get this mail because Example App was connected to your HubSpot account.`)
  const words = (mail?.html ?? '')
    .replace(/<style>.*?<\/style>/s, '')
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
  for (const text of ['is close to 2 limits.', '&lt;b&gt;Listings', 'What to do', 'Open HubSpot', 'app@example.com'])
    expect(words).toContain(text)
  expect(words).not.toMatch(/CRITICAL|WARNING/)
  expect(mail?.html).not.toMatch(/<script|<b>Listings/)
})

test('without a contact, or about several accounts, nothing is sent, and that is no fault of the receiver', async () => {
  const { server, send } = await world(async () => ({ is: 'none', why: 'its account has no contact any more' }))
  expect(await send()).toEqual({ outcome: 'refuse', reason: 'its account has no contact any more', ofAddressee: true })
  const two = [anAlert(), onAccount(9, anAlert())]
  expect(await send(aMessage(two))).toMatchObject({ outcome: 'refuse', ofAddressee: true })
  expect(server.arrived).toEqual([])
})

test('an address that the server never takes is given up at once, and named in no reason', async () => {
  const refusing = {
    onRcptTo: (_: unknown, __: unknown, done: (error: Error) => void) =>
      done(reply(550, 'no ada@acme.example.com here')),
  }
  const { send } = await world(async () => found('ada@acme.example.com'), refusing)
  const outcome = await send()
  expect(outcome).toMatchObject({ outcome: 'refuse', answer: 550, ofAddressee: true })
  expect(JSON.stringify(outcome)).not.toContain('ada@')
})

test('a test logs in, and mails no customer', async () => {
  const { server, send } = await world(async () => found('ada@acme.example.com'))
  expect(await send({ ...aMessage(), type: 'alert.test' })).toMatchObject({
    outcome: 'delivered',
    detail: expect.stringContaining('no mail'),
  })
  expect([server.connections(), server.arrived]).toEqual([1, []])
})
