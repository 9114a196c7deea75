import type { SMTPServerOptions } from 'smtp-server'
import { expect, onTestFinished, test } from 'vitest'
import { deliverDue } from '../../jobs/deliver.ts'
import { sweepReceivers } from '../../jobs/sweep-receivers.ts'
import type { Message } from '../../src/alerts/alert.ts'
import { testMessage } from '../../src/alerts/kinds/delivery-alert.ts'
import { decodeEntry } from '../../src/alerts/outbox.ts'
import type { Receiver } from '../../src/delivery/receiver.ts'
import { plimsollBody } from '../../src/delivery/receivers/webhook/send-webhook.ts'
import { readNextAttempt } from '../../src/redis/present-receivers.ts'
import { receiverStatus, receiverText } from '../../src/views/deliveries.ts'
import { reply, startMailServer } from '../delivery/email/mail-server.ts'
import { aMessage, anAtLimitAlert } from '../delivery/example-messages.ts'
import { aFarSide, answers, openReceiver } from '../delivery/receivers/far-side.ts'
import { worldOfFile } from '../support/world.ts'

const world = worldOfFile()
const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** One receiver of mails with these settings, a real mail server, and what a daemon does between them; time moves by hand. */
async function open(options: SMTPServerOptions, settings: Record<string, unknown> = {}, user = '') {
  const server = await startMailServer({ disabledCommands: ['STARTTLS'], ...options })
  onTestFinished(server.close)
  const { services, clock, keys, store } = await world()
  const { deliveries, receiverStore } = services
  const receivers = new Map<string, Receiver>()
  const deps = { ...services, receivers }
  const never = new AbortController().signal
  const receiverOf = (given: string): Receiver => {
    const smtp = `smtp://${given}127.0.0.1:${server.port}`
    const opened = openReceiver({
      type: 'email',
      smtp,
      from: 'plimsoll@example.com',
      to: ['a@example.com'],
      ...settings,
    })
    onTestFinished(() => opened.close())
    return opened
  }
  /** As SIGHUP does it. */
  const reload = async (given: string) => {
    receivers.set('ops', receiverOf(given))
    await deliveries.enable([...receivers.values()], clock.now())
  }
  await reload(user)
  let count = 0
  const sweep = () => sweepReceivers(deps)
  await sweep()
  return {
    server,
    clock,
    store,
    keys,
    deliveries,
    reload,
    sweep,
    post: async (given: Message = testMessage('ops', clock.now(), 'https://plimsoll.example.com/deliveries')) => {
      const id = `msg_${++count}`
      const message = JSON.stringify(given)
      await store.planEvents(keys.delivery.receiversDue, clock.now(), '', id, 'ops', count, given.type, message)
      return id
    },
    /** What is due is tried, as much at a time as a daemon does, until the clock has moved on by `ms`. */
    live: async (ms: number) => {
      const end = clock.now() + ms
      while (clock.now() < end) {
        await deliverDue(deps, { stopping: never, abandon: never })
        const next = (await readNextAttempt({ store, keys }, ['ops'])) ?? end
        if (next > clock.now()) clock.move(Math.min(next, end) - clock.now())
      }
    },
    /** `alerts test`. */
    test: async (given: string) => {
      const message = testMessage('ops', clock.now(), 'https://plimsoll.example.com/deliveries')
      const outcome = await receiverOf(given).send({ id: 'msg_t', message, now: clock.now() }, never)
      return receiverStore.recordTest({ id: 'msg_t', receiver: 'ops', ms: 1, now: clock.now() }, outcome)
    },
    shown: async () => (await receiverStore.read()).map((health) => receiverText(receiverStatus(health))),
    log: async () => (await deliveries.log(50)).map(({ outcome, reason }) => `${outcome} ${reason}`.trim()).reverse(),
    told: async () => {
      const entries = await store.xrange(keys.transitions, '-', '+')
      return entries.map(([, fields]) => decodeEntry(fields[1] ?? '').alert)
    },
  }
}

const TO = ['a@example.com', 'Boss <boss@example.com>', 'c@example.com']
const recipientsOf = (arrived: readonly { recipients: string[] }[]) => arrived.map(({ recipients }) => recipients)

test('records of an account lead to the site of its data center, and to that of the install page where it is not known', async () => {
  const one = await open({})
  await one.store.hset(one.keys.account(2).account, 'hublet', 'eu1')
  const alerts = [1, 2].map((hubId) => anAtLimitAlert({ account: { hubId, hubDomain: `acme-${hubId}.example.com` } }))
  await one.post(aMessage(alerts))
  await one.live(MINUTE)
  const [text = ''] = one.server.arrived.map(({ mail }) => mail.html)
  expect(text).toContain('https://app.hubspot.com/contacts/1/record/0-1/1201"')
  expect(text).toContain('https://app-eu1.hubspot.com/contacts/2/record/0-1/1201"')
  const sent = aMessage([anAtLimitAlert({ account: { hubId: 2, hubDomain: '', hublet: 'eu1' } })])
  expect(plimsollBody(sent)).not.toContain('hublet')
})

test('a recipient who is put off gets the mail later, alone; the others do not get it twice', async () => {
  const seen = new Set<string>()
  const one = await open(
    {
      // Greylisting: whoever is new is told to come again.
      onRcptTo: ({ address }, _session, callback) => {
        const isNew = address === 'boss@example.com' && !seen.has(address)
        seen.add(address)
        callback(isNew ? reply(450, '4.2.0 Greylisted, try again later') : null)
      },
    },
    { to: TO },
  )
  const id = await one.post()
  await one.live(1)
  expect(recipientsOf(one.server.arrived)).toEqual([['a@example.com', 'c@example.com']])
  expect(await one.deliveries.head(id)).toMatchObject({ state: 'pending' })
  await one.live(MINUTE)
  expect(recipientsOf(one.server.arrived)).toEqual([['a@example.com', 'c@example.com'], ['boss@example.com']])
  expect(new Set(one.server.arrived.map(({ mail }) => mail.messageId)).size).toBe(1)
  expect(one.server.arrived[1]?.mail.to).toMatchObject([{}, { address: 'boss@example.com' }, {}])
  expect(await one.deliveries.head(id)).toMatchObject({ state: 'delivered' })
  expect(await one.log()).toEqual([
    'retry 2 of 3 recipients got it; put off: boss@example.com (450 4.2.0 Greylisted, try again later)',
    'delivered',
  ])
  expect(await one.told()).toEqual([])
})

test('a recipient who is put off for three days is given up, and named; the receiver is not taken for failing', async () => {
  const one = await open(
    {
      onRcptTo: ({ address }, _session, callback) =>
        callback(address === 'boss@example.com' ? reply(452, '4.2.2 mailbox full') : null),
    },
    { to: TO },
  )
  const id = await one.post()
  for (let day = 0; day < 4; day++) {
    await one.live(DAY)
    if (day === 0) {
      await one.sweep()
      expect(await one.told()).toEqual([])
    }
  }
  expect(one.server.arrived).toHaveLength(1)
  expect(await one.deliveries.head(id)).toMatchObject({
    state: 'dead',
    reason: expect.stringContaining('boss@example.com'),
  })
  await one.sweep()
  expect(await one.told()).toMatchObject([{ kind: 'delivery', cause: 'recipients', level: 'warning' }])
})

test('a recipient who is refused is named by the pages, the check and one alert, until the server takes mails for it', async () => {
  let isGone = true
  const one = await open(
    {
      onRcptTo: ({ address }, _session, callback) =>
        callback(isGone && address === 'boss@example.com' ? reply(550, '5.1.1 no such user') : null),
    },
    { to: TO },
  )
  for (let n = 0; n < 3; n++) {
    await one.post()
    await one.live(MINUTE)
    await one.sweep()
  }
  const refused = 'boss@example.com (550 5.1.1 no such user)'
  expect(recipientsOf(one.server.arrived)).toEqual(Array(3).fill(['a@example.com', 'c@example.com']))
  expect(await one.log()).toEqual(Array(3).fill(`delivered 2 of 3 recipients got it; refused: ${refused}`))
  expect(await one.shown()).toEqual([expect.stringContaining(`not to all: refused: ${refused}`)])
  expect(await one.told()).toMatchObject([
    { kind: 'delivery', cause: 'recipients', reason: 'entered', message: expect.stringContaining(refused) },
  ])
  isGone = false
  expect(await one.test('')).toBe('recorded')
  await one.sweep()
  expect(await one.told()).toMatchObject([{ reason: 'entered' }, { reason: 'recovered' }])
})

test('a recipient who is refused is known no more where the config names other recipients', async () => {
  const settings = { to: TO }
  const one = await open(
    {
      onRcptTo: ({ address }, _session, callback) =>
        callback(address === 'boss@example.com' ? reply(550, '5.1.1 no such user') : null),
    },
    settings,
  )
  await one.post()
  await one.live(1)
  expect((await one.shown()).join()).toContain('boss@example.com')
  settings.to = ['a@example.com']
  await one.reload('')
  expect((await one.shown()).join()).not.toContain('boss@example.com')
})

test('a mail that is refused for all of its recipients is tried again for all', async () => {
  let isWilling = false
  const one = await open(
    {
      onRcptTo: (_address, _session, callback) => callback(isWilling ? null : reply(554, '5.7.1 relay access denied')),
    },
    { to: TO },
  )
  await one.post()
  await one.live(1)
  isWilling = true
  await one.live(MINUTE)
  expect(recipientsOf(one.server.arrived)).toEqual([['a@example.com', 'boss@example.com', 'c@example.com']])
})

test('of recipients put off and refused in one answer, nobody else left, those put off are tried again', async () => {
  const answers = new Map([
    ['a@example.com', '451 4.3.0'],
    ['boss@example.com', '550 5.1.1'],
    ['c@example.com', '552 5.5.3 too many recipients'],
  ])
  const one = await open(
    {
      onRcptTo: ({ address }, _session, callback) => {
        const says = answers.get(address)
        callback(says === undefined ? null : reply(Number(says.slice(0, 3)), says.slice(4)))
      },
    },
    { to: TO },
  )
  await one.post()
  await one.live(1)
  answers.clear()
  await one.live(MINUTE)
  expect(recipientsOf(one.server.arrived)).toEqual([['a@example.com', 'c@example.com']])
})

/** A server that takes one password, and counts who logs in. */
function guarded() {
  const logins: string[] = []
  const server = { password: 'right' }
  const options: SMTPServerOptions = {
    authOptional: false,
    onAuth: (auth, _session, callback) => {
      logins.push(auth.password ?? '')
      if (auth.password === server.password) return callback(null, { user: auth.username })
      return callback(reply(535, '5.7.139 Authentication unsuccessful, basic authentication is disabled'))
    },
  }
  return { logins, options, server }
}

test.each(['SIGHUP', 'alerts test'])(
  'a refused login is an alert at once and stops all further logins; after %s what waited arrives',
  async (by) => {
    const { logins, options, server } = guarded()
    const one = await open(options, {}, 'u:wrong@')
    for (let n = 0; n < 12; n++) await one.post()
    await one.live(1)
    // No more than have a connection each.
    expect(logins.length).toBeLessThanOrEqual(3)
    const before = logins.length
    await one.sweep()
    expect(await one.told()).toMatchObject([
      {
        kind: 'delivery',
        level: 'critical',
        cause: 'disabled',
        reason: 'entered',
        message: expect.stringContaining('login refused: 535 5.7.139 Authentication unsuccessful'),
      },
    ])
    await one.post()
    await one.live(DAY)
    expect(logins).toHaveLength(before)
    expect(await one.deliveries.countDead()).toBe(0)
    if (by === 'SIGHUP') await one.reload('u:right@')
    else {
      server.password = 'wrong'
      expect(await one.test('u:wrong@')).toBe('enabled')
    }
    await one.live(6 * MINUTE)
    expect(one.server.arrived.length).toBe(by === 'alerts test' ? 14 : 13)
    await one.sweep()
    expect(await one.told()).toMatchObject([{ reason: 'entered' }, { reason: 'recovered' }])
  },
)

test('a receiver whose login is refused for three days gives up what waited, without another login', async () => {
  const { logins, options } = guarded()
  const one = await open(options, {}, 'u:wrong@')
  const id = await one.post()
  await one.live(4 * DAY)
  expect(logins).toHaveLength(1)
  expect(await one.deliveries.head(id)).toMatchObject({
    state: 'dead',
    reason: expect.stringContaining('login refused'),
  })
})

test('a message that comes days after a refused login waits for the right one as well', async () => {
  const { logins, options } = guarded()
  const one = await open(options, {}, 'u:wrong@')
  await one.post()
  await one.live(2.9 * DAY)
  await one.post()
  await one.live(1.1 * DAY)
  await one.post()
  await one.live(DAY)
  expect(logins).toHaveLength(1)
  await one.reload('u:right@')
  await one.live(6 * MINUTE)
  expect(one.server.arrived).toHaveLength(2)
})

test('a login that is put off is tried again', async () => {
  let logins = 0
  const one = await open(
    {
      authOptional: false,
      onAuth: (auth, _session, callback) =>
        ++logins === 1 ? callback(reply(454, '4.7.0 temporary failure')) : callback(null, { user: auth.username }),
    },
    {},
    'u:right@',
  )
  await one.post()
  await one.live(MINUTE)
  expect(one.server.arrived).toHaveLength(1)
})

test('a kept connection that the server ends at its second mail: the mail goes out on a new one, within the same attempt', async () => {
  const mails = new Map<string, number>()
  const one = await open({
    onMailFrom: (_address, { id }, callback) => {
      mails.set(id, (mails.get(id) ?? 0) + 1)
      callback(mails.get(id) === 1 ? null : reply(421, '4.7.0 too many messages on this connection'))
    },
  })
  for (let n = 0; n < 3; n++) {
    await one.post()
    await one.live(1)
  }
  expect(one.server.arrived).toHaveLength(3)
  expect(await one.log()).toEqual(Array(3).fill('delivered'))
})

test.each([
  ['by default the host of the public address', {}, 'plimsoll.example.com'],
  ['by the setting', { name: 'mail.example.com' }, 'mail.example.com'],
])('a strict relay hears a full name in EHLO: %s', async (_, settings, expected) => {
  const names = new Set<string>()
  const one = await open(
    {
      onMailFrom: (_address, { hostNameAppearsAs }, callback) => {
        names.add(String(hostNameAppearsAs))
        callback(
          /^[a-z]+(\.[a-z]+)+$/.test(String(hostNameAppearsAs))
            ? null
            : reply(504, '5.5.2 need fully-qualified hostname'),
        )
      },
    },
    settings,
  )
  await one.post()
  await one.live(1)
  expect([...names]).toEqual([expected])
  expect(one.server.arrived).toHaveLength(1)
})

/** A token endpoint that gives t1, t2 and so on, and a mail server that takes one of them. */
async function tokenLogin(more: Record<string, unknown> = {}) {
  const state = {
    given: 0,
    takes: 't1',
    logins: [] as string[],
    answer: undefined as ReturnType<typeof answers> | undefined,
  }
  const endpoint = await aFarSide((response) => {
    if (state.answer !== undefined) return state.answer(response)
    state.given++
    answers(200, { access_token: `t${state.given}`, token_type: 'Bearer', expires_in: '3599', ...more })(response)
  })
  const options: SMTPServerOptions = {
    authOptional: false,
    authMethods: ['XOAUTH2'],
    onAuth: ({ username, accessToken = '' }, _session, callback) => {
      state.logins.push(`${username} ${accessToken}`)
      if (accessToken === state.takes) return callback(null, { user: username })
      return callback(reply(535, `5.7.3 Authentication unsuccessful ${accessToken}`))
    },
  }
  const oauth2 = {
    tokenUrl: `${endpoint.url}/tenant/oauth2/v2.0/token`,
    clientId: 'client-1',
    clientSecret: 's3cret+Client',
    scope: 'https://outlook.office365.com/.default',
    user: 'plimsoll@example.com',
  }
  return { state, endpoint, one: await open(options, { oauth2 }) }
}

test('XOAUTH2: one access token of the client credentials logs in for many mails', async () => {
  const { state, endpoint, one } = await tokenLogin()
  for (let n = 0; n < 9; n++) await one.post()
  await one.live(MINUTE)
  expect(one.server.arrived).toHaveLength(9)
  expect(endpoint.arrived).toHaveLength(1)
  expect(Object.fromEntries(new URLSearchParams(endpoint.arrived[0]?.body))).toEqual({
    grant_type: 'client_credentials',
    client_id: 'client-1',
    client_secret: 's3cret+Client',
    scope: 'https://outlook.office365.com/.default',
  })
  expect(endpoint.arrived[0]?.headers['content-type']).toBe('application/x-www-form-urlencoded')
  expect(new Set(state.logins)).toEqual(new Set(['plimsoll@example.com t1']))
})

test.each([
  [401, { error: 'invalid_client', error_description: 'AADSTS7000215: Invalid client secret s3cret+Client' }],
  [200, { error: 'invalid_scope', error_description: 'AADSTS70011' }],
])(
  'XOAUTH2: what the token endpoint refuses for good (%i) is an alert at once, and nothing logs in',
  async (status, body) => {
    const { state, endpoint, one } = await tokenLogin()
    state.answer = answers(status, body)
    await one.post()
    await one.live(DAY)
    await one.sweep()
    expect(endpoint.arrived).toHaveLength(1)
    expect(state.logins).toEqual([])
    const [alert, ...more] = await one.told()
    expect(more).toEqual([])
    expect(alert).toMatchObject({
      level: 'critical',
      cause: 'disabled',
      message: expect.stringContaining(`no access token for the mail login: answered ${status}: ${body.error}: AADSTS`),
    })
    expect(JSON.stringify(alert)).not.toContain('s3cret')
    state.answer = undefined
    await one.reload('')
    await one.live(6 * MINUTE)
    expect(one.server.arrived).toHaveLength(1)
  },
)

test.each([
  [503, 'busy', 'answered 503: busy'],
  [403, '<html><title>Blocked</title></html>', 'answered 403: a page of a firewall or proxy: Blocked'],
  [200, '{"token":"t0ken-S3cret"}', 'the answer has none'],
  [200, 't0ken-S3cret', 'the answer has none'],
])('XOAUTH2: an answer of %i %s from the token endpoint is tried again, and named', async (status, body, words) => {
  const { state, one } = await tokenLogin()
  state.answer = answers(status, body)
  await one.post()
  await one.live(1)
  state.answer = undefined
  await one.live(MINUTE)
  expect(await one.log()).toEqual([`retry no access token for the mail login: ${words}`, 'delivered'])
})

test('XOAUTH2: a token that was withdrawn is replaced by a new one; a new one that is refused switches the receiver off', async () => {
  const { state, one } = await tokenLogin()
  await one.post()
  await one.live(1)
  expect(one.server.arrived).toHaveLength(1)
  state.takes = 't2'
  await one.server.dropConnections()
  await one.post()
  await one.live(MINUTE)
  expect(one.server.arrived).toHaveLength(2)
  state.takes = 'none'
  await one.server.dropConnections()
  await one.post()
  await one.live(DAY)
  await one.sweep()
  const [alert] = await one.told()
  expect(alert?.message).toContain('login refused: 535 5.7.3 Authentication unsuccessful [secret]')
  expect(state.logins.map((login) => login.split(' ')[1])).toEqual(['t1', 't1', 't2', 't2', 't3'])
})

test('XOAUTH2: a token that ends soon is fetched for each login', async () => {
  const { endpoint, state, one } = await tokenLogin({ expires_in: 1 })
  await one.post()
  await one.live(1)
  state.takes = 't2'
  await one.server.dropConnections()
  await one.post()
  await one.live(1)
  expect(one.server.arrived).toHaveLength(2)
  expect(endpoint.arrived).toHaveLength(2)
})
