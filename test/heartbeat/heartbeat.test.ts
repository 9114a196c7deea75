import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { type CheckBounds, readFleetFacts } from '../../src/checks/facts.ts'
import { outsideReport } from '../../src/checks/outside.ts'
import { ReceiverStore } from '../../src/delivery/receiver-health.ts'
import { DaemonStore, ROLES } from '../../src/heartbeat/daemons.ts'
import { FailedCalls } from '../../src/heartbeat/failed-calls.ts'
import { HeartbeatStore, sweepHeartbeat } from '../../src/heartbeat/heartbeat.ts'
import { createPinger } from '../../src/heartbeat/ping.ts'
import { CoverageStore } from '../../src/limits/coverage.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys, type Keys } from '../../src/redis/keys.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { readHeartbeat } from '../../src/views/fleet-health.ts'
import { seedAccount } from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure } from '../support/fake-provider.ts'
import { type FarSide, raw, startFarSide } from '../support/far-side.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { serverOfFile } from '../support/of-file.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const redis = serverOfFile()
let service: FarSide
let number = 0
beforeEach(async () => {
  service = await startFarSide()
  service.answer = raw(200, 'OK')
})
afterEach(() => service.stop())

const bounds: CheckBounds = {
  freshnessMs: 26 * HOUR,
  receivers: new Set(['ops-mail']),
  api: '2026-09',
}

/** Accounts 1 to 4 that are well, and one daemon or several that share them. */
async function aFleet() {
  const clock = new HandClock()
  const keys = createKeys(`heartbeat-${++number}`)
  const store = redis.connect()
  for (const hubId of [1, 2, 3, 4]) {
    await seedAccount(store, keys, { hubId, obtainedAt: clock.now(), lifeMs: 10 * 24 * HOUR })
  }
  const logs = logLines()
  const metrics = createMetrics()
  const daemon = (timeoutMs?: number) => {
    const pinger = createPinger(new Secret(`${service.url}/ping/the-secret-key`), { timeoutMs })
    onTestFinished(() => pinger.close())
    const startedAt = clock.now()
    const sources = {
      store,
      keys,
      clock,
      bounds,
      isDaemon: true as const,
      due: new DueSets(store, keys),
      registry: new Registry(store, keys),
      receiverStore: new ReceiverStore(store, keys),
      coverage: new CoverageStore(store, keys, { objective: 0.95, freshnessMs: bounds.freshnessMs }),
      failedCalls: new FailedCalls(store, keys, { warning: 0.03, critical: 0.05 }),
    }
    const check = async () => {
      // As each daemon does every few seconds.
      await new DaemonStore(store, keys).report({
        name: 'a pid 1',
        version: '1',
        config: 'c',
        roles: ROLES,
        startedAt,
        lastSeenAt: clock.now(),
        sweeps: { since: startedAt, pauses: { alerts: 5_000 } },
      })
      return outsideReport(await readFleetFacts(sources))
    }
    const heartbeat = { everyMs: MINUTE, pinger, check }
    const deps = { clock, metrics, log: logs.log, heartbeats: new HeartbeatStore(store, keys), heartbeat }
    return () => sweepHeartbeat(deps)
  }
  const beat = daemon()
  /** A minute later, all sweeps having finished: what the service is told. */
  const nextBeat = async () => {
    clock.move(MINUTE)
    await store.hset(keys.fleet, 'alerts', clock.now())
    const before = service.seen.length
    await beat()
    await service.came(before + 1)
    return service.seen[before]
  }
  const last = () => readHeartbeat(new HeartbeatStore(store, keys), clock.now())
  return { clock, keys, store, daemon, beat, nextBeat, last, logs, metrics }
}

const WELL = '/ping/the-secret-key'
const FAIL = '/ping/the-secret-key/fail'

type Cross = (store: Store, keys: Keys, now: number) => Promise<unknown>

const BOUNDS: [what: string, says: RegExp, cross: Cross, back: Cross][] = [
  [
    'coverage',
    /have had no reading for 26 h/,
    (store, keys, now) => store.zadd(keys.fresh, now - 27 * HOUR, 1, now - 27 * HOUR, 65, now - 27 * HOUR, 129),
    (store, keys, now) => store.zadd(keys.fresh, now, 1, now, 65, now, 129),
  ],
  [
    'overdue refreshes',
    /Token refreshes of 3 of 6 accounts have been overdue for 5 min/,
    (store, keys, now) => store.zadd(keys.due.refresh, now - HOUR, 1, now - HOUR, 65, now - HOUR, 129),
    (store, keys, now) => store.zadd(keys.due.refresh, now + HOUR, 1, now + HOUR, 65, now + HOUR, 129),
  ],
  [
    'failing refreshes',
    /Token refreshes of 4 of 4 accounts fail/,
    (store, keys) => store.zadd(keys.state.failing, 1, 1, 2, 2, 3, 3, 4, 4),
    (store, keys) => store.del(keys.state.failing),
  ],
  [
    'an alert in the outbox',
    /waited in the outbox for 16 min/,
    (store, keys, now) => store.zadd(keys.unsent, now - 15 * MINUTE, 'a1b2'),
    (store, keys) => store.del(keys.unsent),
  ],
  [
    'a group that is due',
    /A group of alerts should have been sent 16 min ago/,
    (store, keys, now) => store.zadd(keys.delivery.grouped('ops-mail'), now - 15 * MINUTE, 'a1b2'),
    (store, keys) => store.del(keys.delivery.grouped('ops-mail')),
  ],
  [
    'an attempt that is due',
    /A message should have been sent 16 min ago/,
    (store, keys, now) => store.zadd(keys.delivery.receiversDue, now - 15 * MINUTE, 'ops-mail'),
    (store, keys) => store.del(keys.delivery.receiversDue),
  ],
  [
    'a message that its receiver does not take',
    /The receiver ops-mail has not taken a message for 16 min/,
    async (store, keys, now) => {
      // Behind many that are due sooner, and one for a receiver that is gone.
      const { pending } = keys.delivery
      for (let n = 0; n < 300; n++) await store.zadd(pending('ops-mail'), now + 2 * MINUTE + n, `new-${n}`)
      await store.hset(keys.delivery.delivery('old'), { receiver: 'ops-mail', createdAt: now - 15 * MINUTE })
      await store.hset(keys.delivery.delivery('older'), { receiver: 'gone', createdAt: now - 2 * HOUR })
      await store.zadd(pending('ops-mail'), now + 10 * HOUR, 'old')
      await store.zadd(pending('gone'), now + 11 * HOUR, 'older')
    },
    (store, keys) => store.zrem(keys.delivery.pending('ops-mail'), 'old'),
  ],
]

describe('a bound that is crossed is told to /fail, and the way back to the address itself', () => {
  test.each(BOUNDS)('%s', async (_, says, cross, back) => {
    const { store, keys, clock, nextBeat, last } = await aFleet()
    expect(await nextBeat()).toMatchObject({
      path: WELL,
      body: expect.stringContaining('4 of 4 accounts have a fresh'),
    })
    await cross(store, keys, clock.now())
    const failed = await nextBeat()
    expect(failed).toMatchObject({ path: FAIL, body: expect.stringMatching(says) })
    expect(failed?.body).not.toContain('\n')
    expect(await last()).toMatchObject({ ok: false, reasons: [failed?.body], late: false })
    await back(store, keys, clock.now())
    expect(await nextBeat()).toMatchObject({ path: WELL })
    expect(await last()).toMatchObject({ ok: true, reasons: [] })
  })

  test('the token endpoint', async () => {
    const { store, keys, clock, nextBeat } = await aFleet()
    const endpoint = openEndpoint(store, keys, clock)
    await endpoint.room(0, 1_000)
    const { failure: down } = failure('transient', { status: 503 })
    for (let hubId = 1_001; hubId <= 1_010; hubId++) await endpoint.failed(hubId, down)
    expect(await nextBeat()).toMatchObject({ path: WELL })
    clock.move(5 * MINUTE)
    expect(await nextBeat()).toMatchObject({
      path: FAIL,
      body: expect.stringMatching(/tokens can be refreshed \(HubSpot unreachable\).*, for 7 min now/),
    })
    await store.hdel(keys.fleet, 'endpoint')
    expect(await nextBeat()).toMatchObject({ path: WELL })
  })

  test('sweeps that do not finish; never earlier than the start of the daemon', async () => {
    const { store, keys, clock, daemon, beat } = await aFleet()
    await store.hset(keys.fleet, 'alerts', clock.now() - HOUR)
    await beat()
    await service.came(1)
    clock.move(MINUTE)
    await beat()
    await service.came(2)
    clock.move(MINUTE)
    await daemon()()
    await service.came(3)
    expect(service.seen.map(({ path }) => path)).toEqual([WELL, FAIL, WELL])
    expect(service.seen[1]?.body).toMatch(/^Work does not move: sweep:alerts\./)
  })
})

describe('one heartbeat a period', () => {
  test('comes from one of several daemons', async () => {
    const { clock, daemon } = await aFleet()
    const daemons = [daemon(), daemon(), daemon()]
    for (let period = 1; period <= 5; period++) {
      await Promise.all(daemons.map((beat) => beat()))
      clock.move(MINUTE / 2)
      await Promise.all(daemons.map((beat) => beat()))
      clock.move(MINUTE / 2)
      await service.came(period)
    }
    // Each ping was begun by its sweep: had there been one more, this one would come behind it.
    await daemon()()
    await service.came(6)
    expect(service.seen).toHaveLength(6)
  })

  test('and none where none is configured', async () => {
    const { store, keys, clock } = await aFleet()
    await sweepHeartbeat({ clock, heartbeat: undefined, heartbeats: new HeartbeatStore(store, keys) } as never)
    expect(await store.exists(keys.heartbeat)).toBe(0)
  })
})

describe('a service that does not do well', () => {
  test.each([
    ['fails', raw(500, ''), 'answered 500: Internal Server Error'],
    ['leads elsewhere', raw(301, '', { location: '/x' }), 'answered 301: redirects are not followed'],
    ['does not answer', () => {}, 'no answer within 0 s'],
  ])('and %s holds up nothing, is counted and logged without its address', async (_, answer, reason) => {
    const { daemon, last, logs, metrics, clock } = await aFleet()
    service.answer = answer
    const beat = daemon(300)
    await beat()
    expect(await eventually('the outcome', async () => (await last())?.ping ?? undefined)).toEqual({
      sent: false,
      reason,
    })
    clock.move(MINUTE)
    await beat()
    await service.came(2)
    await eventually('the count', async () =>
      /heartbeat_pings_total\{outcome="failed"\} 2/.test(await metrics.registry.metrics()),
    )
    expect(logs.lines().filter(({ code }) => code === 'heartbeat.unsent')).toHaveLength(2)
    expect(logs.text()).not.toContain('the-secret-key')
    service.answer = raw(200, 'OK')
    clock.move(MINUTE)
    await beat()
    expect(await eventually('the outcome', async () => (await last())?.ping ?? undefined)).toEqual({
      sent: true,
      reason: null,
    })
  })
})

test('a verdict is logged when it changes, not each time', async () => {
  const { store, keys, clock, nextBeat, last, logs } = await aFleet()
  await nextBeat()
  await nextBeat()
  await store.zadd(keys.unsent, clock.now() - HOUR, 'a1b2')
  for (let n = 0; n < 3; n++) await nextBeat()
  const since = new Date(clock.now() - 2 * MINUTE).toISOString()
  expect(await last()).toMatchObject({ ok: false, since, at: new Date(clock.now()).toISOString() })
  await store.del(keys.unsent)
  await nextBeat()
  await nextBeat()
  const told = logs.lines().filter(({ code }) => String(code).startsWith('heartbeat.'))
  expect(told.map(({ code, level }) => [code, level])).toEqual([
    ['heartbeat.fail', 'error'],
    ['heartbeat.ok', 'info'],
  ])
  clock.move(3 * MINUTE + 1)
  expect(await last()).toMatchObject({ ok: true, late: true })
})

test('nothing is told while Redis is away, and nothing of before when it is back', async () => {
  const { nextBeat, beat, clock } = await aFleet()
  await nextBeat()
  await redis.end('SIGKILL')
  clock.move(MINUTE)
  const waiting = beat()
  clock.move(5 * MINUTE)
  await redis.again()
  await waiting
  expect(service.seen).toHaveLength(1)
  clock.move(MINUTE)
  await beat()
  await service.came(2)
})
