import { expect, test } from 'vitest'
import { addresseeFor } from '../../src/accounts/contact.ts'
import { alertId, encodeState } from '../../src/alerts/alert-state.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { commitPoll } from '../support/committed-poll.ts'
import { redisOfFile } from '../support/of-file.ts'
import { pendingIds, takeDue } from '../support/take-due.ts'
import { BEARER, openServer, openState, readings } from './open-server.ts'

const redis = redisOfFile()
const MAIL = { type: 'email', smtp: 'smtps://mail.example.com', from: 'app@example.com' }
const OPS = { ...MAIL, to: ['ops@example.com'] }
const FOR_CUSTOMERS = {
  http: { publicUrl: 'http://127.0.0.1', brand: { name: 'Example App' } },
  receivers: { 'ops-mail': OPS, customers: { ...MAIL, to: 'account' } },
}
const SEND = 'Send the link to the customer'

const PATH = '/api/v1/accounts/4/reconnect-link/mail'

/** An account whose customer must reconnect, before anybody is asked to. */
async function openLostAccount(settings: object = FOR_CUSTOMERS, user = 'ada@acme.example.com') {
  const server = await openServer(redis, { settings })
  const { connectAccount, poll, clock, steps, keys } = server
  await connectAccount({ hubId: 4, hubDomain: 'acme.example.com', user })
  const since = clock.now()
  await poll(4, readings(since, 10), { token: openState('critical', 'token', since) })
  const setState = async (from: 'active' | 'reauthorize', to: 'active' | 'reauthorize') => {
    await steps.zrem(keys.state[from], 4)
    await steps.zadd(keys.state[to], 4, 4)
    await steps.hset(keys.own(4), 'state', to)
  }
  await setState('active', 'reauthorize')
  const mail = () => server.ask('POST', PATH, BEARER)
  return { ...server, setState, mail, alertPath: `/alerts/${alertId(4, 'token', since)}?account=4` }
}

/** The same, once the link was mailed or refused. */
async function lostAccount(...given: Parameters<typeof openLostAccount>) {
  const server = await openLostAccount(...given)
  const { status, json } = await server.mail()
  return { ...server, answer: { status, json } }
}

/** Receivers of the deliveries that are due, and actions in the audit. */
async function outcomeOf({ deps, get }: Awaited<ReturnType<typeof openLostAccount>>) {
  const due = (await pendingIds(deps.store, deps.keys)).length
  const { json } = await get('/api/v1/audit')
  return { due, noted: json.items.map(({ action }: { action: string }) => action) }
}

test('the link is mailed to the customer through the deliveries of all messages, and it is in the audit', async () => {
  const { answer, deps, get } = await lostAccount()
  expect(answer).toEqual({ status: 200, json: { hubId: 4, to: 'ada@acme.example.com' } })
  const [sent, ...others] = await takeDue(deps)
  expect(others).toEqual([])
  expect(sent).toMatchObject({ receiver: 'customers', message: { type: 'account.reconnect' } })
  expect(JSON.stringify(sent)).not.toMatch(/ada@|"url"/)
  const { json } = await get('/api/v1/audit')
  expect(json.items).toMatchObject([{ action: 'reconnect-link.mailed', hubId: 4 }])
})

test('the alert and the account have a button for it; a second click writes to no customer twice', async () => {
  const { get, signedIn, alertPath, clock, deps } = await lostAccount()
  expect((await get(alertPath)).text).toContain(SEND)
  expect((await get('/accounts/4')).text).not.toContain("can't be mailed from here")
  const { send, see } = await signedIn()
  const again = await send('/accounts/4/reconnect-link')
  expect([again.status, again.words]).toEqual([
    409,
    expect.stringContaining('the mail before is younger than a minute'),
  ])
  expect(await takeDue(deps)).toHaveLength(1)
  clock.move(60_000)
  const { status, headers } = await send('/accounts/4/reconnect-link')
  expect([status, headers.location]).toEqual([303, '/accounts/4?done=mailed'])
  expect((await see('/accounts/4?done=mailed')).words).toContain('The link is on its way to the customer.')
})

test.each([
  [
    'a receiver of mails',
    { ...FOR_CUSTOMERS, receivers: { 'ops-mail': { type: 'slack', url: 'https://hooks.slack.com/x' } } },
    'ada@acme.example.com',
    /no receiver of type email/,
  ],
  ["the app's name", { receivers: FOR_CUSTOMERS.receivers }, 'ada@acme.example.com', /http\.brand\.name is not set/],
  ['an address', FOR_CUSTOMERS, 'Ada', /the account has no contact/],
])('without %s it is refused, and the page says why in place of the button', async (_, settings, user, why) => {
  const { answer, get, alertPath } = await lostAccount(settings, user)
  expect(answer).toMatchObject({ status: 409, json: { detail: expect.stringMatching(why) } })
  const { text } = await get(alertPath)
  expect(text).not.toContain(SEND)
  expect(text).toMatch(why)
})

test('while an alert about all accounts is open, no customer is written to; once it is over, the link is mailed', async () => {
  const server = await openLostAccount()
  const { fleetAlerts, mail, get, alertPath, clock, steps, keys } = server
  await fleetAlerts({ 'token-endpoint': openState('critical', 'fleet', clock.now()) })
  expect(await mail()).toMatchObject({
    status: 409,
    json: {
      detail:
        'No link was mailed to the customer of account 4: no customer is written to while an alert about all accounts is open (token-endpoint).',
    },
  })
  expect(await outcomeOf(server)).toEqual({ due: 0, noted: [] })
  const { text } = await get(alertPath)
  expect(text).not.toContain(SEND)
  expect(text).toContain('while an alert about all accounts is open')
  await steps.del(keys.account(NO_ACCOUNT).alerts)
  expect((await mail()).status).toBe(200)
})

test('a mail that would be dropped when it is sent is refused, and the page says so in place of the button', async () => {
  const server = await openLostAccount()
  const { setState, mail, get, alertPath } = server
  await setState('reauthorize', 'active')
  const why = 'neither its tokens nor its polls need a new connection now'
  expect(await mail()).toMatchObject({ status: 409, json: { detail: expect.stringContaining(why) } })
  expect(await outcomeOf(server)).toEqual({ due: 0, noted: [] })
  const { text } = await get(alertPath)
  expect(text).not.toContain(SEND)
  expect(text).toContain(why)
})

test('an account whose access token is refused in polls, whatever is refreshed, has a mail that arrives', async () => {
  const { connectAccount, ask, clock, steps, keys, deps } = await openServer(redis, { settings: FOR_CUSTOMERS })
  await connectAccount({ hubId: 4, hubDomain: 'acme.example.com', user: 'ada@acme.example.com' })
  const now = clock.now()
  const alert = encodeState({ ...openState('warning', 'poll', now), cause: 'unauthorized' })
  await commitPoll(steps, keys, 4, now, () => ({
    state: { failing: { count: 9, reason: '401', at: now, since: now } },
    more: { alerts: { changes: [['poll', '', alert]], entries: [] } },
  }))
  expect((await ask('POST', PATH, BEARER)).status).toBe(200)
  expect(addresseeFor(await deps.registry.get(4), 'poll')).toEqual({ is: 'found', address: 'ada@acme.example.com' })
})

test('a mail that is on its way is in the audit, even if no worker could be woken', async () => {
  const server = await openLostAccount()
  server.queues.wake = () => Promise.reject(new Error('no connection'))
  expect((await server.mail()).status).toBe(500)
  expect(await outcomeOf(server)).toEqual({ due: 1, noted: ['reconnect-link.mailed'] })
})

test('it is refused where no alert asks for a new connection', async () => {
  const { ask, connectAccount, steps, keys } = await openServer(redis, { settings: FOR_CUSTOMERS })
  await connectAccount({ hubId: 5, user: 'ada@acme.example.com' })
  await steps.hset(keys.own(5), 'state', 'reauthorize')
  const path = (hubId: number) => `/api/v1/accounts/${hubId}/reconnect-link/mail`
  expect((await ask('POST', path(5), BEARER)).json).toMatchObject({ detail: expect.stringContaining('no open alert') })
  expect((await ask('POST', path(6), BEARER)).status).toBe(404)
})
