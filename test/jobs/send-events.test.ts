import { expect, test } from 'vitest'
import { sendEvents } from '../../jobs/send-events.ts'
import { acknowledgeState, storeAcknowledgement, withdrawAcknowledgement } from '../../src/alerts/acknowledge.ts'
import { alertOf, type Message } from '../../src/alerts/alert.ts'
import {
  alertId,
  encodeState,
  openedState,
  type SeriesState,
  TOKEN_FIELD,
  transitionOf,
} from '../../src/alerts/alert-state.ts'
import type { AttemptRecord } from '../../src/delivery/after-attempt.ts'
import { NO_ACCOUNT, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { aRelay, INTERVAL, WAIT } from '../alerts/a-relay.ts'
import { claimRefresh } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { stateIn } from '../support/state-in.ts'
import { pendingIds, takeDue } from '../support/take-due.ts'
import { HUB, worldOfFile } from '../support/world.ts'

const inWorld = worldOfFile()
const URL = 'https://plimsoll.example.com/accounts/123'

async function world(eventReceivers = { accounts: ['hook'], acknowledgements: [] as string[] }) {
  const w = await inWorld({ clock: new HandClock(Date.now()) })
  const { store, keys, clock, services } = w
  const relay = aRelay(store, keys, { routes: [{ to: ['pager'] }], receivers: ['hook', 'pager', 'mail'] })
  const deps = { ...services, eventReceivers, sending: relay.deps }
  const waiting = () => pendingIds(store, keys)
  return {
    store,
    keys,
    clock,
    relay,
    deps,
    waiting,
    sweep: () => sendEvents(deps),
    /** What is on its way is sent, and arrives where nothing else is said. */
    arrive: async (outcomes: Partial<Record<Message['type'], AttemptRecord['outcome']>> = {}) => {
      const taken = await takeDue({ store, keys }, ({ message }) => {
        const outcome = outcomes[message.type] ?? 'delivered'
        return { outcome, nextAt: outcome === 'retry' ? clock.now() + 3_600_000 : null }
      })
      return taken.map(({ message }) => message)
    },
    import: async (replace = '', hubId = HUB) =>
      store.importAccount(
        keys.own(hubId),
        hubId,
        clock.now(),
        'token',
        replace,
        JSON.stringify({ hubDomain: 'acme.example.com' }),
        await store.takeIntent(keys.own(NO_ACCOUNT)),
      ),
    lose: async () => {
      const version = (await store.hget(keys.own(HUB), 'version')) ?? ''
      const fields = JSON.stringify({ rejectedAt: String(clock.now()) })
      return store.recordRefreshFailure(
        keys.own(HUB),
        HUB,
        await claimRefresh(store, keys, HUB),
        version,
        'reauthorize',
        clock.now(),
        'never',
        fields,
        stepJson(NO_ALERT_WRITES),
      )
    },
    recover: async () => {
      const version = await store.hget(keys.own(HUB), 'version')
      const now = clock.now()
      const line = [HUB, 1.5, version, now, now + 1e6, now + 5e5, '-', '-', '-', 'own'].join(' ')
      return (await store.storeTokens(1, keys.own(HUB), line, 'access', '', ''))[0]
    },
    uninstall: async () =>
      store.beginUninstall(
        keys.own(HUB),
        HUB,
        clock.now(),
        'asked',
        await store.hlen(keys.account(HUB).alerts),
        stepJson(NO_ALERT_WRITES),
        'cli',
        '',
        '',
      ),
  }
}

test('what happens to an account is sent in order, each once, though it is put on its way again and again', async () => {
  const one = await world()
  await one.import()
  await one.lose()
  await one.lose()
  await one.recover()
  await one.sweep()
  await one.sweep()
  await one.uninstall()
  await one.uninstall()
  await one.sweep()
  expect(typesOf(await one.arrive())).toEqual([
    'account.connected',
    'account.reauthorize',
    'account.recovered',
    'account.uninstalled',
  ])
  await one.sweep()
  expect(await one.arrive()).toEqual([])
  expect(await one.store.xlen(one.keys.accountEvents)).toBe(0)
})

test('a message about an account has its name, and nothing of an alert', async () => {
  const one = await world()
  await one.import()
  await one.sweep()
  expect(await one.arrive()).toMatchObject([
    { type: 'account.connected', data: { account: { hubId: HUB, hubDomain: 'acme.example.com' }, alerts: [] } },
  ])
})

test('one that fails is waited for by the next of its account, and by no other; one that is given up is not', async () => {
  const one = await world()
  await one.import()
  await one.lose()
  await one.import('replace', HUB + 64)
  await one.sweep()
  const failing = { 'account.connected': 'retry' } as const
  expect(typesOf(await one.arrive(failing))).toEqual(['account.connected', 'account.connected'])
  expect(typesOf(await one.arrive(failing))).toEqual([])
  one.clock.move(3_600_000)
  const types = typesOf(await one.arrive({ 'account.connected': 'dead' }))
  expect(types).toEqual(['account.connected', 'account.reauthorize', 'account.connected'])
})

test('a daemon without a receiver that wants them leaves them to another for an hour; what nobody here wrote is dropped', async () => {
  const one = await world()
  const { accountEvents } = one.keys
  await one.store.xadd(accountEvents, '1-1', 'hubId', HUB)
  await one.import()
  await one.store.xadd(accountEvents, '*', 'hubId', 'x', 'event', 'connected')
  await one.store.xadd(accountEvents, '*', 'strange', '1')
  // As in a rolling restart with another config.
  await sendEvents({ ...one.deps, eventReceivers: { accounts: [], acknowledgements: [] } })
  expect(await one.store.xlen(accountEvents)).toBe(3)
  await one.sweep()
  expect(await one.store.xlen(accountEvents)).toBe(0)
  expect(typesOf(await one.arrive())).toEqual(['account.connected'])
})

test('of daemons with different configs each sends events to its own receivers, however often another one looks before it', async () => {
  const one = await world()
  const sentBy = (config: string, other: string, receiver: string) => () =>
    sendEvents({
      ...one.deps,
      eventReceivers: { accounts: [receiver], acknowledgements: [] },
      sending: { ...one.deps.sending, configs: async () => ({ own: config, others: [other] }) },
    })
  const [old, newer] = [sentBy('old', 'new', 'hook'), sentBy('new', 'old', 'pager')]
  await one.import()
  for (let looks = 0; looks < 12; looks++) {
    await old()
    one.clock.move(1_000)
  }
  await one.lose()
  await newer()
  await old()
  const made = await Promise.all((await one.waiting()).map((id) => one.relay.deliveries.head(id)))
  const both = ['account.connected', 'account.reauthorize']
  expect(made.map((head) => `${head?.receiver} ${head?.type}`).sort()).toEqual(
    ['hook', 'pager'].flatMap((receiver) => both.map((type) => `${receiver} ${type}`)),
  )
  expect(await one.arrive()).toHaveLength(4)
})
const repeatedState = (state: SeriesState): SeriesState => ({ ...state, transitions: state.transitions + 1 })

/** An open alert of an account, which `pager` is sent. */
async function withAlert(one: Awaited<ReturnType<typeof world>>) {
  const account = { hubId: HUB, hubDomain: 'acme.example.com' }
  const { alerts } = one.keys.account(HUB)
  const now = one.clock.now()
  let state = openedState('critical', 'token', now)
  const sent = { level: 'critical' as const, reason: 'entered' as const, at: now, url: URL }
  const alert = transitionOf(account, TOKEN_FIELD, state, sent)
  await one.store.hset(alerts, TOKEN_FIELD, encodeState(state))
  state = stateIn((await one.store.hget(alerts, TOKEN_FIELD)) ?? '')
  await one.relay.commit({ alert })
  await one.relay.look(now)
  const deps = { ...one.relay.deps, acknowledgeForMs: 86_400_000 }
  return {
    alert,
    close: async () => {
      one.clock.move(WAIT)
      await one.relay.look(one.clock.now())
    },
    acknowledge: () =>
      storeAcknowledgement(deps, { id: alertOf(alert), hubId: HUB, level: 'critical' }, { by: 'ann' }, one.clock.now()),
    withdraw: () => withdrawAcknowledgement(deps, { id: alertOf(alert), hubId: HUB }, one.clock.now()),
    /** It is told once more. */
    again: async () => {
      const known = repeatedState(stateIn((await one.store.hget(alerts, TOKEN_FIELD)) ?? ''))
      const alert = transitionOf(account, TOKEN_FIELD, known, { ...sent, reason: 'repeat', at: one.clock.now() })
      await one.store.hset(alerts, TOKEN_FIELD, encodeState(known))
      await one.relay.commit({ alert })
      await one.relay.look(one.clock.now())
      one.clock.move(WAIT + INTERVAL)
      await one.relay.look(one.clock.now())
    },
    end: async () => {
      await one.store.hdel(alerts, TOKEN_FIELD)
      const id = alert.id.replace(/\d+$/, '9')
      await one.relay.commit({ alert: { ...alert, id, status: 'resolved', reason: 'recovered' } })
      await one.relay.look(one.clock.now())
      one.clock.move(WAIT + INTERVAL)
      await one.relay.look(one.clock.now())
    },
  }
}

const typesOf = (messages: readonly Message[]) => messages.map(({ type }) => type)
const ACKS = { accounts: [], acknowledgements: ['pager', 'hook'] }

test('an acknowledgement is sent to who was sent the alert, after it', async () => {
  const one = await world(ACKS)
  const { acknowledge, close } = await withAlert(one)
  await acknowledge()
  await one.sweep()
  // It is not sent yet.
  expect(await one.waiting()).toEqual([])
  await close()
  await one.sweep()
  await one.sweep()
  const [firing, acknowledged, ...others] = await one.arrive()
  expect([firing?.type, others]).toEqual(['alert.firing', []])
  expect(acknowledged).toMatchObject({
    type: 'alert.acknowledged',
    data: { alerts: [{ kind: 'token', level: 'critical' }], acknowledged: { by: 'ann' } },
  })
  await one.sweep()
  expect(await one.waiting()).toEqual([])
})

test('one whose alert is told anew before it could be sent is sent behind that', async () => {
  const one = await world(ACKS)
  const { acknowledge, close, again } = await withAlert(one)
  await acknowledge()
  await close()
  await one.sweep()
  expect(typesOf(await one.arrive({ 'alert.firing': 'retry' }))).toEqual(['alert.firing'])
  await again()
  await one.sweep()
  expect(await one.arrive()).toMatchObject([
    { type: 'alert.firing', data: { alerts: [{ supersedes: [expect.any(String)] }] } },
  ])
  await one.sweep()
  expect(typesOf(await one.arrive())).toEqual(['alert.acknowledged'])
})

test('one that was made while a digest with its alert, or an earlier one, was on its way is sent after that', async () => {
  for (const before of ['digest', 'acknowledgement'] as const) {
    const one = await world(ACKS)
    const { alert, acknowledge, withdraw, close } = await withAlert(one)
    await close()
    await one.arrive()
    if (before === 'digest') {
      const message = JSON.stringify({ type: 'alert.digest', data: { groupKey: '', truncated: 0, alerts: [alert] } })
      const { receiversDue } = one.keys.delivery
      await one.store.sendDigest(receiversDue, 'pager', '', one.clock.now(), 'msg_1', message, alertOf(alert))
    } else {
      await acknowledge()
      await one.sweep()
      await withdraw()
      one.clock.move(1)
    }
    await acknowledge()
    await one.sweep()
    const first = before === 'digest' ? 'alert.digest' : 'alert.acknowledged'
    expect(typesOf(await one.arrive())).toEqual([first, 'alert.acknowledged'])
  }
})

test('one that waits for a digest is sent where a newer digest, which has no room for its alert, takes the place of that', async () => {
  const one = await world(ACKS)
  const { alert, acknowledge, close } = await withAlert(one)
  await close()
  await one.arrive()
  const digest = async (id: string, last: number | '', shown: (typeof alert)[]) => {
    const data = { groupKey: '', truncated: 1 - shown.length, alerts: shown }
    const message = JSON.stringify({ type: 'alert.digest', data })
    const [{ receiversDue }, now] = [one.keys.delivery, one.clock.now()]
    const shows = shown.map(alertOf).join(' ')
    expect(await one.store.sendDigest(receiversDue, 'pager', last, now, id, message, shows)).toBe('sent')
    return now
  }
  const last = await digest('msg_1', '', [alert])
  await one.arrive({ 'alert.digest': 'retry' })
  await acknowledge()
  await one.sweep()
  one.clock.move(1)
  await digest('msg_2', last, [])
  const arrived = await one.arrive()
  one.clock.move(3_600_000)
  await one.sweep()
  expect(typesOf([...arrived, ...(await one.arrive())])).toEqual(['alert.digest', 'alert.acknowledged'])
})

test('one that is overtaken late is sent by the daemon whose receiver wants it, though one with another config looks before it', async () => {
  const one = await world(ACKS)
  const { acknowledge, close, again } = await withAlert(one)
  await acknowledge()
  await close()
  await one.sweep()
  await one.arrive({ 'alert.firing': 'retry' })
  one.clock.move(60_000)
  await again()
  await one.arrive()
  await sendEvents({
    ...one.deps,
    eventReceivers: { accounts: [], acknowledgements: ['hook'] },
    sending: { ...one.deps.sending, configs: async () => ({ own: 'new', others: ['old'] }) },
  })
  await one.sweep()
  expect(typesOf(await one.arrive())).toEqual(['alert.acknowledged'])
})

test('one that is withdrawn, or whose alert is over, before it could be sent, is not', async () => {
  for (const undo of ['withdraw', 'end'] as const) {
    const one = await world(ACKS)
    const alert = await withAlert(one)
    await alert.acknowledge()
    await one.sweep()
    await alert[undo]()
    await alert.close()
    await one.arrive()
    await one.sweep()
    expect(await one.waiting()).toEqual([])
    one.clock.move(60_000)
    await one.sweep()
    expect(await one.store.exists(one.keys.acknowledged, one.keys.acknowledgementsDue)).toBe(0)
  }
})

test('hundreds that wait for their alerts to be sent read their account once, and then cost nothing; other events are sent', async () => {
  const one = await world({ accounts: ['hook'], acknowledgements: ['pager'] })
  const { alerts } = one.keys.account(HUB)
  const at = one.clock.now()
  const deps = { ...one.relay.deps, acknowledgeForMs: 86_400_000 }
  for (let n = 0; n < 600; n++) {
    const state = openedState('critical', 'rule', at)
    const field = `associationLabels.pair/0-1/2-${n}`
    const acknowledged = acknowledgeState(state, { by: 'ann', at, until: at + deps.acknowledgeForMs })
    const writes = { changes: [[field, '', encodeState(acknowledged)]], entries: [] }
    const details = stepJson({ hubId: HUB, field, at })
    const alert = alertId(HUB, field, state.since)
    await one.store.changeAlerts(one.keys.own(HUB), HUB, stepJson(writes), alert, details)
  }
  const other = HUB + 64
  await one.store.importAccount(
    one.keys.own(other),
    other,
    at,
    'token',
    '',
    JSON.stringify({ hubDomain: 'b.example.com' }),
    await one.store.takeIntent(one.keys.own(NO_ACCOUNT)),
  )
  const calls: string[] = []
  const store = new Proxy(one.store, {
    get: (real, name) => {
      const value = Reflect.get(real, name)
      if (typeof value !== 'function') return value
      return (...args: unknown[]) => {
        calls.push(`${String(name)} ${String(args[0])}`)
        return value.apply(real, args)
      }
    },
  })
  for (let sweeps = 0; sweeps < 3; sweeps++) await sendEvents({ ...one.deps, store })
  // So many are read at a time.
  expect(calls.filter((call) => call === `hgetall ${alerts}`)).toHaveLength(2)
  calls.length = 0
  await sendEvents({ ...one.deps, store })
  expect(calls.length).toBeLessThan(10)
  expect(await one.store.hlen(one.keys.acknowledged)).toBe(600)
  const types = await Promise.all((await one.waiting()).map(async (id) => (await one.relay.deliveries.head(id))?.type))
  expect(types).toEqual(['account.connected'])
})

test('where no receiver wants acknowledgements none is left of an alert that is over', async () => {
  const one = await world({ accounts: ['hook'], acknowledgements: [] })
  const { acknowledge, close, end } = await withAlert(one)
  await close()
  await acknowledge()
  await one.arrive()
  await end()
  expect(await one.store.exists(one.keys.acknowledged, one.keys.acknowledgementsDue)).toBe(0)
})

test('the end of an alert comes behind its acknowledgement; one that failed before is overtaken by it, and never sent any more', async () => {
  for (const outcome of ['delivered', 'retry'] as const) {
    const one = await world(ACKS)
    const alert = await withAlert(one)
    await alert.close()
    await one.arrive()
    await alert.acknowledge()
    await one.sweep()
    await alert.end()
    expect(typesOf(await one.arrive({ 'alert.acknowledged': outcome }))).toEqual([
      'alert.acknowledged',
      'alert.resolved',
    ])
    await one.sweep()
    one.clock.move(3_600_000)
    expect(await one.arrive()).toEqual([])
  }
})
