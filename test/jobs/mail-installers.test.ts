import { describe, expect, test } from 'vitest'
import { mailInstallers } from '../../jobs/mail-installers.ts'
import { addresseeFor, changeContact } from '../../src/accounts/contact.ts'
import { encodeState, openedState, TOKEN_FIELD } from '../../src/alerts/alert-state.ts'
import type { Silence } from '../../src/alerts/silence.ts'
import type { Delivery } from '../../src/delivery/deliveries.ts'
import { NO_ACCOUNT } from '../../src/redis/steps.ts'
import { aMessage, aTokenAlert } from '../delivery/example-messages.ts'
import { pendingIds } from '../support/take-due.ts'
import { worldOfFile } from '../support/world.ts'

const inWorld = worldOfFile()
const DAY = 24 * 3_600_000

async function world(brand: object = { name: 'Example App' }) {
  const silences: Silence[] = []
  const mail = { type: 'email', smtp: 'smtps://mail.example.com', from: 'a@example.com' }
  const w = await inWorld({
    settings: {
      http: { publicUrl: 'https://plimsoll.example.com', brand },
      tokens: { mailInstaller: true },
      receivers: { ops: { ...mail, to: ['b@example.com'] }, owner: { ...mail, to: 'account' } },
    },
    change: ({ sending }) => ({ sending: { ...sending, silences: { active: async () => silences } as never } }),
  })
  const { store, keys, clock, services } = w
  const setState = async (hubId: number, state: 'active' | 'reauthorize') => {
    const lists = keys.state
    for (const other of [lists.active, lists.reauthorize]) await store.zrem(other, hubId)
    await store.zadd(lists[state], hubId, hubId)
    await store.hset(keys.own(hubId), 'state', state)
  }
  return {
    store,
    keys,
    clock,
    receivers: services.receivers,
    setState,
    /** An account whose refresh token is refused from now on. */
    lose: async (hubId: number, user = `u@n${hubId}.example.com`) => {
      const { account, alerts } = keys.account(hubId)
      await setState(hubId, 'reauthorize')
      await store.hset(account, { hubDomain: `n${hubId}.example.com`, user, rejectedAt: clock.now(), connectedAt: 1 })
      await store.hset(alerts, TOKEN_FIELD, encodeState(openedState('critical', 'token', clock.now())))
    },
    /** What is sent by a sweep. */
    sweep: async () => {
      const before = new Set(await pendingIds(store, keys))
      await mailInstallers(services)
      const ids = (await pendingIds(store, keys)).filter((id) => !before.has(id))
      return Promise.all(
        ids.map(async (id): Promise<Delivery> => {
          const { receiver = '', message = '' } = await store.hgetall(keys.delivery.delivery(id))
          return { id, receiver, message: JSON.parse(message), createdAt: clock.now(), attempts: 0, waitedMs: 0 }
        }),
      )
    },
    arrive: (sent: Delivery) =>
      services.deliveries.record(sent, { outcome: 'delivered', nextAt: null, reason: '', ms: 1 }, clock.now()),
    silence: (hubId: number) =>
      silences.push({
        id: 's',
        author: 'me',
        comment: '',
        createdAt: 0,
        endsAt: 9e15,
        matchers: [{ name: 'account', value: String(hubId) }],
      }),
  }
}

describe('an account that must reconnect', () => {
  test('is asked for by one mail a day, whoever sweeps and however often', async () => {
    const { lose, sweep, arrive, clock } = await world()
    await lose(7)
    const [first, ...others] = await sweep()
    expect(others).toEqual([])
    expect(first).toMatchObject({ receiver: 'owner', message: { type: 'account.reconnect' } })
    expect(first?.message.data.alerts).toMatchObject([{ kind: 'token', level: 'critical', account: { hubId: 7 } }])
    expect(JSON.stringify(first?.message)).not.toMatch(/u@n7|"url"/)
    await arrive(first as never)
    expect(await sweep()).toEqual([])
    clock.move(DAY - 1)
    expect(await sweep()).toEqual([])
    clock.move(1)
    expect(await sweep()).toHaveLength(1)
  })

  test('gets no second mail while the first is still on its way', async () => {
    const { lose, sweep, clock } = await world()
    await lose(7)
    expect(await sweep()).toHaveLength(1)
    clock.move(2 * DAY)
    expect(await sweep()).toEqual([])
  })

  test('gets none while the app has no name, though the mail was planned when it had one', async () => {
    const { lose, sweep, store, keys, clock, receivers } = await world({})
    await lose(7)
    await changeContact({ store, keys }, 7, 'ada@n7.example.com')
    expect(await sweep()).toEqual([])
    const about = { ...aTokenAlert(), account: { hubId: 7, hubDomain: 'n7.example.com' } }
    for (const message of [aMessage([about]), { ...aMessage([about]), type: 'account.reconnect' as const }]) {
      const sent = receivers.get('owner')?.send({ id: 'd', message, now: clock.now() }, new AbortController().signal)
      expect(await sent).toMatchObject({ outcome: 'refuse', reason: expect.stringContaining('http.brand.name') })
    }
  })

  test('gets none without an address, connected again, silenced, or acknowledged', async () => {
    const { lose, sweep, setState, silence, store, keys, clock } = await world()
    await lose(1, 'Ada')
    await lose(2)
    await setState(2, 'active')
    await lose(3)
    silence(3)
    await lose(4)
    const acknowledged = { at: clock.now(), by: 'ann', until: clock.now() + DAY }
    const state = { ...openedState('critical', 'token', clock.now()), acknowledged }
    await store.hset(keys.account(4).alerts, TOKEN_FIELD, encodeState(state))
    expect(await sweep()).toEqual([])
    await changeContact({ store, keys }, 1, 'ada@n1.example.com')
    expect(await sweep()).toHaveLength(1)
  })

  test('gets none while no tokens can be refreshed, nor on the day on which many were lost', async () => {
    const { lose, sweep, store, keys, clock } = await world()
    for (const hubId of [1, 2, 3, 4, 5]) await lose(hubId)
    expect(await sweep()).toEqual([])
    const { alerts } = keys.account(NO_ACCOUNT)
    await store.hset(alerts, 'token-endpoint', encodeState(openedState('critical', 'fleet', clock.now())))
    clock.move(DAY)
    expect(await sweep()).toEqual([])
    await store.del(alerts)
    expect(await sweep()).toHaveLength(5)
  })

  test('whose record can not be read holds up no other', async () => {
    const { lose, sweep, store, keys } = await world()
    await lose(7)
    await lose(8)
    await store.set(keys.account(8).alerts, 'no hash')
    await lose(9)
    await store.hset(keys.account(9).account, 'rejectedAt', 'soon')
    expect(await sweep()).toHaveLength(1)
  })
})

const FAILING = { pollFailure: { count: 9, reason: '401', at: 0, since: 0 } }
const BLOCKED = { pollBlocked: { what: 'all' as const, since: 0, scopes: [] } }
const LOST = {
  state: 'reauthorize',
  contact: null,
  user: 'ada@example.com',
  pollBlocked: null,
  pollFailure: null,
} as const

/** An account that must reconnect but for what is said of it, and why its customer is asked. */
test.each<
  [string, Partial<Parameters<typeof addresseeFor>[0]>, Parameters<typeof addresseeFor>[1], string | undefined]
>([
  ['goes to who installed the app', {}, 'token', 'ada@example.com'],
  ['goes to the contact instead', { contact: 'c@example.com' }, 'token', 'c@example.com'],
  ['goes to nobody without a reason', {}, undefined, undefined],
  ['goes to nobody once it is active', { state: 'active' }, 'poll', undefined],
  ['goes out where its polls fail', { state: 'active', ...FAILING }, 'poll', 'ada@example.com'],
  ['goes to nobody where its tokens work and its polls fail', { state: 'active', ...FAILING }, 'token', undefined],
  ['goes out where nothing may be read', { state: 'active', ...BLOCKED }, 'poll', 'ada@example.com'],
  ['goes to nobody whose name is no address', { user: 'Ada' }, 'token', undefined],
])('the mail %s', (_, more, why, address) => {
  const found = address === undefined ? { is: 'none' } : { is: 'found', address }
  expect(addresseeFor({ ...LOST, ...more }, why)).toMatchObject(found)
})

test('no mail goes to an account that is not known', () => {
  expect(addresseeFor(undefined, 'token')).toMatchObject({ is: 'none' })
})
