import { expect, test } from 'vitest'
import { sendEvents } from '../../jobs/send-events.ts'
import { acknowledgeState, storeAcknowledgement, withdrawAcknowledgement } from '../../src/alerts/acknowledge.ts'
import { alertOf } from '../../src/alerts/alert.ts'
import { alertId, encodeState, openedState, TOKEN_FIELD, transitionOf } from '../../src/alerts/alert-state.ts'
import { type AttemptRecord, BEHIND_MS, CLAIM_MS } from '../../src/delivery/deliveries.ts'
import { EventStore } from '../../src/delivery/event-store.ts'
import { accountSteps } from '../../src/redis/account-steps.ts'
import { NO_ACCOUNT, NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { aRelay, INTERVAL, WAIT } from '../alerts/a-relay.ts'
import { claimRefresh } from '../support/accounts.ts'
import { HandClock } from '../support/hand-clock.ts'
import { stateIn } from '../support/state-in.ts'
import { HUB, worldOfFile } from '../support/world.ts'

const inWorld = worldOfFile()
const URL = 'https://plimsoll.example.com/accounts/123'

async function world(eventReceivers = { accounts: ['hook'], acknowledgements: [] as string[] }) {
  const w = await inWorld({ clock: new HandClock(Date.now()) })
  const { store, keys, clock, services } = w
  const relay = aRelay(store, keys, { routes: [{ to: ['pager'] }], receivers: ['hook', 'pager', 'mail'] })
  const deps = { ...services, eventReceivers, sending: relay.deps }
  const waiting = () => store.zrange(keys.delivery.deliveriesDue, 0, '-1')
  const record = async (id: string, outcome: AttemptRecord['outcome'], nextAt: number | null = null) => {
    const begun = await relay.deliveries.begin(id, clock.now())
    if (typeof begun !== 'object') return begun
    await relay.deliveries.record(begun, { outcome, nextAt, reason: 'so', ms: 1 }, clock.now())
    return begun.message
  }
  return {
    store,
    keys,
    clock,
    relay,
    deps,
    waiting,
    record,
    sweep: () => sendEvents(deps),
    /** What is on its way to a receiver, in the order of its making, and arrives. */
    arrive: async () => {
      const types: string[] = []
      for (let round = 0; round < 20; round++) {
        for (const id of await waiting()) {
          const message = await record(id, 'delivered')
          if (typeof message === 'object') types.push(message.type)
        }
        clock.move(BEHIND_MS)
      }
      return types
    },
    import: async (replace = '') =>
      store.importAccount(
        keys.own(HUB),
        HUB,
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
      return accountSteps(store).storeTokens(keys.own(HUB), line, 'access', '', '')
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
  expect(await one.arrive()).toEqual([
    'account.connected',
    'account.reauthorize',
    'account.recovered',
    'account.uninstalled',
  ])
  await one.sweep()
  expect(await one.arrive()).toEqual([])
  one.clock.move(60_000)
  await one.sweep()
  expect(await one.store.xlen(one.keys.accountEvents)).toBe(0)
})

test('a message about an account has its name, and nothing of an alert', async () => {
  const one = await world()
  await one.import()
  await one.sweep()
  const [id = ''] = await one.waiting()
  expect(await one.record(id, 'delivered')).toMatchObject({
    type: 'account.connected',
    data: { account: { hubId: HUB, hubDomain: 'acme.example.com' }, alerts: [] },
  })
})

test('one that fails is waited for by the next of its account, and by no other; one that is given up is not', async () => {
  const one = await world()
  await one.import()
  await one.sweep()
  const [first = ''] = await one.waiting()
  await one.lose()
  await one.sweep()
  const [second = ''] = (await one.waiting()).filter((id) => id !== first)
  const now = one.clock.now()
  expect(await one.relay.deliveries.begin(second, now)).toBe(now + BEHIND_MS)
  expect(await one.record(first, 'retry', now + 120_000)).toMatchObject({ type: 'account.connected' })
  expect(await one.relay.deliveries.begin(second, now)).toBe(now + 120_000)
  one.clock.move(120_000)
  await one.record(first, 'dead')
  expect(await one.record(second, 'delivered')).toMatchObject({ type: 'account.reauthorize' })
})

test('a daemon that dies after it put them on their way, and a node that forgets them, cost nothing', async () => {
  const one = await world()
  await one.import()
  await one.sweep()
  const [id = ''] = await one.waiting()
  await one.store.del(one.keys.delivery.delivery(id))
  await one.store.zrem(one.keys.delivery.deliveriesDue, id)
  await one.sweep()
  expect(await one.waiting()).toEqual([id])
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
  expect(await one.store.xlen(accountEvents)).toBe(1)
  expect(await one.arrive()).toEqual(['account.connected'])
})

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
    close: () => one.relay.look(one.clock.now() + WAIT),
    acknowledge: () =>
      storeAcknowledgement(deps, { id: alertOf(alert), hubId: HUB, level: 'critical' }, { by: 'ann' }, one.clock.now()),
    withdraw: () => withdrawAcknowledgement(deps, { id: alertOf(alert), hubId: HUB }, one.clock.now()),
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
  expect(await one.waiting()).toHaveLength(1)
  const [firing = ''] = await one.waiting()
  await one.record(firing, 'delivered')
  await one.sweep()
  await one.sweep()
  const [id = '', ...others] = await one.waiting()
  expect(others).toEqual([])
  expect(await one.relay.deliveries.head(id)).toMatchObject({ receiver: 'pager', type: 'alert.acknowledged' })
  expect(await one.record(id, 'delivered')).toMatchObject({
    data: { alerts: [{ kind: 'token', level: 'critical' }], acknowledged: { by: 'ann' } },
  })
  await one.sweep()
  expect(await one.waiting()).toEqual([])
})

test('one that was made while a digest with its alert, or an earlier one, was on its way is sent after that', async () => {
  for (const before of ['digest', 'acknowledgement'] as const) {
    const one = await world(ACKS)
    const { alert, acknowledge, withdraw, close } = await withAlert(one)
    await close()
    await one.arrive()
    if (before === 'digest') {
      const message = JSON.stringify({ type: 'alert.digest', data: { groupKey: '', truncated: 0, alerts: [alert] } })
      const { deliveriesDue } = one.keys.delivery
      await one.store.sendDigest(deliveriesDue, 'pager', '', one.clock.now(), 'msg_1', message, alertOf(alert))
    } else {
      await acknowledge()
      await one.sweep()
      await withdraw()
      one.clock.move(1)
    }
    await acknowledge()
    await one.sweep()
    expect(await one.waiting()).toHaveLength(1)
    expect(await one.arrive()).toEqual([`alert.${before === 'digest' ? 'digest' : 'acknowledged'}`])
    await one.sweep()
    expect(await one.arrive()).toEqual(['alert.acknowledged'])
  }
})

test('one that is withdrawn, or whose alert is over, before it could be sent, is not', async () => {
  for (const undo of ['withdraw', 'end'] as const) {
    const one = await world(ACKS)
    const alert = await withAlert(one)
    await alert.acknowledge()
    await one.sweep()
    await alert[undo]()
    await alert.close()
    for (const id of await one.waiting()) await one.record(id, 'delivered')
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
  const events = new EventStore(store, one.keys)
  for (let sweeps = 0; sweeps < 3; sweeps++) await sendEvents({ ...one.deps, store, events })
  // So many are read at a time.
  expect(calls.filter((call) => call === `hgetall ${alerts}`)).toHaveLength(2)
  calls.length = 0
  await sendEvents({ ...one.deps, store, events })
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

/** It is on its way, and a moment later so is the end of its alert. */
async function acknowledgedAndOver() {
  const one = await world(ACKS)
  const alert = await withAlert(one)
  await alert.close()
  const [firing = ''] = await one.waiting()
  await one.record(firing, 'delivered')
  await alert.acknowledge()
  await one.sweep()
  const [ack = ''] = await one.waiting()
  one.clock.move(1)
  await alert.end()
  const [end = ''] = (await one.waiting()).filter((id) => id !== ack)
  return { one, ack, end }
}

test('the end of an alert waits for its acknowledgement, which is tried at once', async () => {
  const { one, ack, end } = await acknowledgedAndOver()
  const now = one.clock.now()
  expect(await one.relay.deliveries.begin(end, now)).toBe(now + BEHIND_MS)
  expect(await one.record(ack, 'delivered')).toMatchObject({ type: 'alert.acknowledged' })
  expect(await one.record(end, 'delivered')).toMatchObject({ type: 'alert.resolved' })
})

test('the end waits for an attempt that a dead daemon took with it, then for the one after it', async () => {
  const { one, ack, end } = await acknowledgedAndOver()
  await one.relay.deliveries.begin(ack, one.clock.now())
  expect(await one.relay.deliveries.begin(end, one.clock.now())).toBe(one.clock.now() + BEHIND_MS)
  one.clock.move(CLAIM_MS + 1)
  expect(await one.record(ack, 'delivered')).toMatchObject({ type: 'alert.acknowledged' })
  expect(await one.record(end, 'delivered')).toMatchObject({ type: 'alert.resolved' })
})

test.each([1, -3_600_000])(
  'an acknowledgement that failed while the end waited, by a clock %i ms on, is overtaken by it, and never sent any more',
  async (ms) => {
    const { one, ack, end } = await acknowledgedAndOver()
    await one.relay.deliveries.begin(end, one.clock.now())
    one.clock.move(ms)
    expect(await one.record(ack, 'retry', one.clock.now() + 3_600_000)).toMatchObject({ type: 'alert.acknowledged' })
    one.clock.move(1)
    expect(await one.record(end, 'delivered')).toMatchObject({ type: 'alert.resolved' })
    expect(await one.waiting()).toEqual([])
    expect(await one.relay.deliveries.head(ack)).toBeUndefined()
  },
)

test('one that was handed back untried is still waited for', async () => {
  const { one, ack, end } = await acknowledgedAndOver()
  const begin = (id: string) => one.relay.deliveries.begin(id, one.clock.now())
  await begin(end)
  const begun = await begin(ack)
  if (typeof begun !== 'object') throw new Error('the acknowledgement was not due')
  await one.relay.deliveries.handBack(begun, one.clock.now())
  expect(await begin(end)).toBe(one.clock.now() + BEHIND_MS)
})
