import type { Message } from '../../../src/alerts/alert.ts'
import { encodeState } from '../../../src/alerts/alert-state.ts'
import { DaemonStore, ROLES } from '../../../src/heartbeat/daemons.ts'
import { countOutcomes } from '../../../src/limits/forecast/predictions.ts'
import type { Samples } from '../../../src/limits/samples.ts'
import type { AccountState } from '../../../src/redis/keys.ts'
import { seedListed } from '../../accounts/search/seed-listed.ts'
import { anAlert } from '../../alerts/an-alert.ts'
import { associations, pollAccount, properties, readings as readingsOf } from '../../limits/reports.ts'
import { foresee } from '../../support/forecasts.ts'
import type { TestRedis } from '../../support/redis-server.ts'
import { openLastingServer, openServer, openState, readings } from '../open-server.ts'

export const HOUR_MS = 3_600_000

type World = Awaited<ReturnType<typeof openServer>>

/** A small fleet on a bad day: open alerts, a delivery that waits and two that were given up, jobs in the queues. */
export async function badDay(redis: TestRedis, options: Parameters<typeof openServer>[1] = {}) {
  return makeBad(await openServer(redis, options))
}

export async function makeBad(world: World): Promise<World> {
  const { connectAccount, poll, clock, fleetAlerts, queues, deps } = world
  for (const [hubId, hubDomain, level, usage] of [
    [1001, 'acme.example.com', 'critical', 990],
    [1002, 'globex.example.com', 'warning', 850],
    [1003, 'initech.example.com', 'warning', 812],
  ] as const) {
    await connectAccount({ hubId, hubDomain })
    await poll(hubId, readings(clock.now(), usage), { overall: openState(level, 'properties', clock.now() - HOUR_MS) })
  }
  await fleetAlerts({ data: openState('warning', 'fleet', clock.now() - 60_000) })
  await deps.receiverStore.see(['ops-hook', 'ops-mail'], clock.now())
  await delivery(world, 'd-waits', 'ops-mail', 'retry')
  await delivery(world, 'd-dead', 'ops-hook', 'dead')
  await delivery(world, 'd-dead-2', 'ops-mail', 'dead')
  await queues.refreshTokens.add('chunk', { hubIds: [1001, 1002] })
  return world
}

/** A delivery as a group leaves it, after one attempt. */
async function delivery(
  { steps, keys, clock, deps }: World,
  id: string,
  receiver: string,
  outcome: 'retry' | 'dead',
): Promise<void> {
  const at = new Date(clock.now()).toISOString()
  const alert = anAlert({
    level: 'critical',
    rule: 'properties',
    measuredAt: at,
    since: at,
    account: { hubId: 1001, hubDomain: 'acme.example.com' },
    series: { metric: 'customProperties.overall' },
  })
  const place = await steps.xadd(keys.transitions, '*', 'alert', JSON.stringify({ alert }))
  const message: Message = {
    type: 'alert.firing',
    timestamp: at,
    data: { groupKey: 'x', truncated: 0, alerts: [alert] },
  }
  await steps.hset(keys.delivery.delivery(id), {
    receiver,
    type: 'alert.firing',
    message: JSON.stringify(message),
    transitions: `${place}=${alert.id}`,
    createdAt: clock.now(),
    attempts: 0,
  })
  await steps.zadd(keys.delivery.pending(receiver), clock.now(), id)
  await steps.zadd(keys.delivery.receivers, clock.now(), receiver)
  const nextAt = outcome === 'retry' ? clock.now() + 300_000 : null
  const reason = 'answered 500: <b>no</b>'
  const sent = { id, receiver, message, createdAt: clock.now(), attempts: 0, waitedMs: 0 }
  await deps.deliveries.record(sent, { outcome, nextAt, reason, ms: 120, answer: 500 }, clock.now())
}

const HOUR = 3_600_000
const DAYS = 30
const LABELS = ['Contacts', 'Companies', 'Deals', 'Tickets', 'Products', 'Line items', 'Quotes', 'Calls', 'Leads']
const PAIRS = ['0-1/0-2', '0-1/0-3', '0-2/0-3', '2-9/0-1']

type Server = Awaited<ReturnType<typeof openServer>>

/**
 * An account with 25 object types and four pairs, read every four hours for 30 days, told through the polls' own step: one
 * grows into a warning, one's limit was raised, one is full, for two days nothing was read.
 */
export async function connectRichAccount(server: Server, hubId: number): Promise<void> {
  const { clock, poll, connectAccount, steps, keys } = server
  const shown: Samples = {}
  for (const pair of PAIRS) {
    shown[`associations/${pair}`] = {
      at: clock.now(),
      atLimit: Array.from({ length: 10 }, (_, n) => ({ objectId: 101 + n, label: `ACME Holding ${n}` })),
      nearLimit: [],
    }
  }
  await connectAccount({ hubId, hubDomain: 'northwind-traders.example.com', user: 'ada@northwind-traders.example.com' })
  for (let hour = 0; hour <= DAYS * 24; hour += 4) {
    clock.move(hour === 0 ? 0 : 4 * HOUR)
    if (hour > 14 * 24 && hour < 16 * 24) continue
    const read = readAfter(hour, clock.now())
    await pollAccount(steps, keys, hubId, clock.now(), read, 9 * HOUR)
  }
  clock.move(60_000)
  await poll(hubId, readAfter(DAYS * 24, clock.now()), {}, shown)
  await server.connectAccount({ hubId, hubDomain: 'northwind-traders.example.com' })
  const rising = { overall: pace(8, 6, 11), 'type/0-1': pace(2, 1, 3) }
  await foresee(server.steps, server.keys, hubId, { at: clock.now(), rising })
}

function pace(perDay: number, perDayLow: number, perDayHigh: number) {
  return { perDay, perDayLow, perDayHigh, leap: 0, bend: 0 }
}

function readAfter(hour: number, at: number) {
  const days = hour / 24
  const types = Object.fromEntries(
    Array.from({ length: 25 }, (_, n): [string, [number, number]] => [
      n < LABELS.length ? `0-${n + 1}` : `2-${n}`,
      typeUsage(n, days),
    ]),
  )
  const report = properties(720 + Math.floor(days * 8), 1_000, types)
  const named = report.byObjectType.map((type, n) => ({ ...type, pluralLabel: LABELS[n] ?? `Custom object ${n}` }))
  const fullest = Math.floor(8_000 + 60 * days)
  const [first = '', second = '', ...others] = PAIRS
  return readingsOf(
    at,
    { ...report, byObjectType: named },
    {
      [first]: associations(10_000, days > 5 ? [fullest] : [], days > 20 ? 12 : 0),
      [second]: associations(500, [450]),
      ...Object.fromEntries(others.map((pair) => [pair, associations(50)])),
    },
  )
}

function typeUsage(n: number, days: number): [number, number] {
  if (n === 0) return [Math.min(500, 395 + Math.floor(days * 2.5)), 500]
  // Its limit was raised.
  if (n === 1) return [430 + Math.floor(days), days > 18 ? 600 : 450]
  if (n === 2) return [50, 50]
  return [Math.floor((5 + 7 * n + days * (n % 4)) % 300), 500]
}

const MINUTE = 60_000
const HOSTILE = `"><script>window.ran=1</script><b>${'long-'.repeat(12)}`

/** As a config would have them. */
export const EXPLAIN = {
  rules: [
    {
      name: 'sum',
      line: 31,
      on: 'customProperties.overall',
      warning: { percent: 80 },
      critical: { percent: 95, daysLeft: 7 },
    },
    {
      name: 'types',
      line: 32,
      on: 'customProperties.objectType',
      warning: { remaining: 20 },
      critical: { remaining: 5 },
    },
    { name: 'full records', line: 33, on: 'associations.atLimit', warning: { count: 1 }, critical: { count: 50 } },
    { name: 'associations.*', line: 34, on: 'associations.*', warning: { percent: 90 } },
  ],
  recoverBelow: 3,
  for: 0,
  repeatEveryMs: 86_400_000,
  firstRun: 'digest' as const,
  routes: [{ to: ['ops-mail'] }],
  group: { by: ['rule' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 },
}

const STATES: readonly AccountState[] = ['failing', 'parked', 'reauthorize', 'uninstalling', 'uninstalled', 'active']

/** All that pages can show at once: accounts in every state, a rich one, a hostile one, alerts, silences, deliveries, daemons. */
export async function openWholeFleet(redis: TestRedis) {
  const server = await openLastingServer(redis, { explain: EXPLAIN })
  await makeWhole(server)
  return server
}

export async function makeWhole(server: Server): Promise<void> {
  const { steps, keys, clock, connectAccount, poll, deps } = server
  await connectRichAccount(server, 4711)
  await makeBad(server)
  const now = clock.now()
  await steps.hset(keys.account(4711).alerts, 'overall', encodeState(openState('critical', 'sum', now - 86_400_000)))
  await steps.sadd(keys.alerting, 4711)
  await connectAccount({ hubId: 4712, hubDomain: HOSTILE, user: HOSTILE, scopes: ['oauth', HOSTILE] })
  await poll(4712, readings(now, 960, { label: HOSTILE }), { overall: openState('critical', HOSTILE, now - MINUTE) })
  await foresee(steps, keys, 4712, { at: now, rising: { overall: { ...pace(3, -1, 5), leap: 2 } } })
  await foresee(steps, keys, 1002, { at: now, rising: { overall: pace(12, 8, 18) } })
  await foresee(steps, keys, 1003, { at: now, rising: { overall: pace(7, 4, 9) } })
  await foresee(steps, keys, 1001, { at: now, rising: { overall: pace(25, 12, 40) } })
  await countOutcomes(steps, keys, [...Array(33).fill('held'), ...Array(5).fill('later'), 'sooner', 'open'], now)
  await seedListed(
    steps,
    keys,
    Array.from({ length: 60 }, (_, n) => {
      const state = STATES[n % STATES.length] ?? 'active'
      return {
        hubId: 20_000_000 + n * 79,
        hubDomain: n % 9 === 8 ? '' : `customer-${n}.example.com`,
        state,
        ...(state === 'active' ? { refresh: now + n * MINUTE, poll: now + n * 3 * MINUTE, readAt: now - MINUTE } : {}),
      }
    }),
  )
  const daemons = new DaemonStore(steps, keys)
  const ops = {
    name: 'ops-1.example.com pid 4711',
    version: '1.2.0',
    startedAt: now - 90_000_000,
    config: 'a1b2c3',
    roles: ROLES,
  }
  await daemons.report({ ...ops, lastSeenAt: now - 4_000 })
  const swept = ['refresh-tokens', 'poll-limits', 'alerts', 'uninstall', 'grants', 'coverage', 'receivers']
  await steps.hset(keys.fleet, Object.fromEntries(swept.map((kind) => [kind, now - 8_000])))
  await daemons.report({ ...ops, name: 'ops-2.example.com pid 815', lastSeenAt: now - 400_000 })
  const silence = {
    matchers: [{ name: 'account' as const, value: '1003' }],
    author: 'ann',
    comment: HOSTILE,
    createdAt: now,
    endsAt: now + 7_200_000,
  }
  await deps.actions.silence(silence, { name: 'ann', via: 'command' })
}
