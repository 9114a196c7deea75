import type { Alert } from '../../src/alerts/alert.ts'
import { encodeState, type SeriesState } from '../../src/alerts/alert-state.ts'
import type { AlertsDeps } from '../../src/alerts/deps.ts'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import { DaemonStore, ROLES } from '../../src/heartbeat/daemons.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { aRelay } from '../alerts/a-relay.ts'
import { anAlert } from '../alerts/an-alert.ts'
import { makeWhole } from '../http/in-browser/scenes.ts'
import { type openLastingServer, openState, readings } from '../http/open-server.ts'
import { associations, properties, readings as readingsOf } from '../limits/reports.ts'
import { changePolls } from '../support/changed-polls.ts'
import { foresee } from '../support/forecasts.ts'
import { logLines } from '../support/log-lines.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { sendToMailAlone } from '../support/send-to-mail-alone.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

type Server = Awaited<ReturnType<typeof openLastingServer>>

/** What may stand in a fleet, by what it is called in `said.txt`. */
export const SITUATIONS: Record<string, (server: Server) => Promise<void>> = {
  'nothing is connected': async () => {},
  'a receiver was tested': async ({ deps, clock }) => {
    await deps.receiverStore.see(deps.receivers, clock.now())
    const tested = { id: 'msg_1', receiver: 'ops-mail', ms: 1, now: clock.now() }
    await deps.receiverStore.recordTest(tested, { outcome: 'delivered', answer: 250 })
  },
  'everything at once': async (server) => {
    await makeWhole(server)
    server.clock.move(MINUTE)
  },
  'an account was connected': async (server) => {
    await connect(server)
  },
  'and was read': async (server) => {
    await connect(server)
    await server.poll(4, readings(server.clock.now(), 940))
    server.clock.move(15 * MINUTE)
    const pair = { atLimit: 12, fullest: 100 }
    await server.poll(4, readings(server.clock.now(), 960, { pair }), {
      'at/0-1/0-2': openState('warning', 'full', server.clock.now()),
    })
  },
  'and nothing is due': async (server) => {
    await connectAndRead(server)
    server.clock.move(MINUTE)
  },
  'and its refresh and poll are overdue': async (server) => {
    await connectAndRead(server)
    server.clock.move(21 * MINUTE)
  },
  'and its access token has expired': async (server) => {
    await connectAndRead(server)
    server.clock.move(31 * MINUTE)
  },
  'and its readings are of days ago': async (server) => {
    await connectAndRead(server, { overall: openState('warning', 'full', server.clock.now()) })
    server.clock.move(3 * DAY)
  },
  'and no poll of it is planned': async (server) => {
    await connectAndRead(server)
    await server.steps.zrem(server.keys.due.poll, 4)
  },
  'and its polls fail': async (server) => {
    await connectAndRead(server)
    const at = server.clock.now()
    const failing = { count: 3, reason: 'the provider answered 401: it expired.', at, since: at }
    await changePolls(server.steps, server.keys, 4, { failing })
  },
  'and a permission is missing': async (server) => {
    await connect(server)
    const since = server.clock.now()
    await changePolls(server.steps, server.keys, 4, { blocked: { what: 'all', since, scopes: ['<b>contacts'] } })
  },
  'and it has more object types than are kept': async (server) => {
    await connectAndRead(server)
    await changePolls(server.steps, server.keys, 4, { typesLeftOut: 19_500 })
  },
  'and it is polled earlier, near a threshold': async (server) => {
    await connectAndRead(server)
    const since = server.clock.now()
    const near = { is: 'near', series: 'type/0-1', usage: 93, limit: 100, level: 'warning', move: 'enter' } as const
    const because = { ...near, asks: 'percent', of: 95 } as const
    await changePolls(server.steps, server.keys, 4, { turn: { regularAt: since, because } })
  },
  'and an object type came in place of another': async (server) => {
    await connectAndRead(server)
    server.clock.move(15 * MINUTE)
    await server.poll(4, readings(server.clock.now(), 10, { objectTypeId: '2-7' }))
  },
  'and its records are named': async (server) => {
    await connect(server)
    const atLimit = Array.from({ length: 12 }, (_, n) => ({
      label: n === 0 ? '<img src=x>' : `full ${n}`,
      objectId: n,
    }))
    const shown = { 'associations/0-1/0-2': { at: server.clock.now(), atLimit, nearLimit: [] } }
    await server.poll(4, readings(server.clock.now(), 10, { pair: { atLimit: 212 } }), {}, shown)
  },
  'and its tokens and limits have alerts': async (server) => {
    const since = server.clock.now()
    await connectAndRead(server, {
      overall: openState('critical', 'full', since),
      token: { ...openState('critical', 'token', since), cause: 'foreign' },
    })
    server.clock.move(2 * HOUR)
    await server.poll(4, readings(server.clock.now(), 970))
  },
  'and an alert was acknowledged, another not': async (server) => {
    const since = server.clock.now()
    const acknowledged = { by: 'ann', at: since, until: since + HOUR, level: 'critical' as const }
    await connectAndRead(server, { overall: { ...openState('critical', 'full', since), acknowledged } })
    await server.connectAccount({ hubId: 5, hubDomain: 'other.example.com' })
    await server.poll(5, readings(since, 960), { overall: openState('critical', 'full', since) })
  },
  'and limits are foreseen, one is reached': async (server) => {
    const { poll, clock, steps, keys, connectAccount } = server
    await connectAndRead(server)
    clock.move(15 * MINUTE)
    await poll(4, readings(clock.now(), 860), { overall: openState('warning', 'full', clock.now()) })
    const rising = { overall: { perDay: 10, perDayLow: 5, perDayHigh: 20, leap: 0, bend: 0 } }
    await foresee(steps, keys, 4, { at: clock.now(), rising })
    await connectAccount({ hubId: 5, hubDomain: 'full.example.com' })
    await poll(5, readings(clock.now(), 1_000))
    await foresee(steps, keys, 5, { at: clock.now() })
  },
  'and it is failing': stateOf({ state: 'failing', failureAt: '1', failureReason: 'HTTP 503', failures: '2' }),
  'and it is parked': stateOf({
    state: 'parked',
    parkedUntil: String(Date.parse('2026-11-21T10:05:00Z')),
    failures: '1',
    failureReason: 'the provider answered 477: it moves.',
    failureAt: String(Date.parse('2026-11-21T10:00:00Z')),
  }),
  'and it must reconnect': stateOf({
    state: 'reauthorize',
    failureReason: 'BAD_REFRESH_TOKEN',
    failureAt: '1',
    rejectedAt: '1',
  }),
  'and its refresh token is refused for now': stateOf({ state: 'failing', rejectedAt: '1', failureAt: '1' }),
  'and it is uninstalling': stateOf({
    state: 'uninstalling',
    uninstallReason: 'left',
    uninstallFailureReason: 'HTTP 500',
  }),
  'and it was uninstalled': stateOf({
    state: 'uninstalled',
    uninstallReason: 'left',
    uninstalledAt: '1',
    purgeAt: String(Date.parse('2026-11-24T10:00:00Z')),
  }),
  'alerts about all accounts are open': async (server) => {
    const since = (ago: number) => openState('critical', 'fleet', server.clock.now() - ago)
    await server.fleetAlerts({ 'token-endpoint': since(0), data: since(MINUTE) })
    await connectAndRead(server, { overall: openState('critical', 'full', server.clock.now()) })
  },
  'a daemon is silent, another is ill': async ({ steps, keys, clock }) => {
    const daemons = new DaemonStore(steps, keys)
    const one = { version: '1.0.0', config: 'c', roles: ROLES, startedAt: clock.now() }
    const ill = [{ name: 'sweep:poll-limits', says: 'none finished yet' }]
    await daemons.report({ ...one, name: 'a pid 1', lastSeenAt: clock.now(), ill })
    await daemons.report({ ...one, name: 'b pid 2', lastSeenAt: clock.now() - 5 * MINUTE })
  },
  'nine receivers fail, one is switched off': async ({ steps, keys, clock, deps, connectAccount }) => {
    await connectAccount({ hubId: 4, hubDomain: 'acme.example.com' })
    const names = Array.from({ length: 9 }, (_, n) => `hook-${n}`)
    await deps.receiverStore.see([...names, 'pager'], clock.now())
    const failed = { outcome: 'retry', answer: 500, reason: 'answered 500: Internal Server Error' } as const
    for (const receiver of names)
      await deps.receiverStore.recordTest({ id: receiver, receiver, ms: 1, now: clock.now() }, failed)
    await steps.hset(keys.delivery.disabled, 'pager', 'answered 410: this receiver wants no more messages')
  },
  'a new fleet is being read, and calls fail': async ({ steps, keys, clock, connectAccount }) => {
    await connectAccount({ hubId: 4, hubDomain: 'acme.example.com' })
    const waiting = Array.from({ length: 2_000 }, (_, n) => [n < 760 ? 1 : 0, 1 + 64 * n]).flat()
    await steps.zadd(keys.firstReadings, ...waiting)
    const day = Math.floor(clock.now() / DAY) - 29
    await steps.hset(keys.dayCounts, { [`${day}:calls`]: 1_204_000, [`${day}:failed`]: 40_000 })
  },
  'alerts were delivered, given up, withheld, and wait': async ({ steps, keys, clock }) => {
    const relay = aRelay(steps, keys, { routes: [{ match: { kind: ['limit', 'token'] }, to: ['mail'] }] })
    const tell = async (hoursAgo: number, more: Partial<Alert>) => {
      const at = clock.now() - hoursAgo * HOUR
      await relay.commit({ alert: anAlert({ measuredAt: new Date(at).toISOString(), ...more }) })
      if (hoursAgo <= 1) return
      await relay.look(at)
      await relay.look(at + HOUR)
    }
    await tell(30, { id: 'a-1' })
    await relay.record('delivered', clock.now() - 30 * HOUR)
    await tell(3, { id: 'b-1', level: 'critical' })
    await relay.record('dead', clock.now() - 3 * HOUR)
    await tell(2, { id: 'c-1', kind: 'poll', rule: 'poll' })
    await tell(1, { id: 'd-1', account: { hubId: 9, hubDomain: 'nine.example.com' } })
  },
  'much changed': async ({ steps, keys, clock, connectAccount }) => {
    const log = (hubId: number, hoursAgo: number, more: Partial<Alert>) => {
      const measuredAt = new Date(clock.now() - hoursAgo * HOUR).toISOString()
      const alert = anAlert({ account: { hubId, hubDomain: `n${hubId}.example.com` }, measuredAt, ...more })
      return steps.xadd(keys.transitions, '*', 'alert', encodeEntry({ alert }))
    }
    const series = { metric: 'customProperties.objectType', objectTypeId: '2-7', label: '<b>Cars</b>' }
    const boats = { ...series, objectTypeId: '2-8', label: 'Boats' }
    const before = { level: 'ok' as const, limit: 1_000, measuredAt: new Date(clock.now() - DAY).toISOString() }
    await log(3, 30, { kind: 'token', level: 'critical', rule: 'token' })
    await log(1, 5, { series, usage: 960, limit: 1_000, percent: 96, level: 'critical', reason: 'escalated' })
    await log(1, 4, { series: boats, usage: 850, limit: 1_000, percent: 85 })
    await log(2, 4, { series, usage: 700, limit: 1_000, percent: 70, reason: 'recovered', status: 'resolved' })
    await log(5, 2, { kind: 'limit-changed', series: boats, limit: 950, percent: 94.7, previous: before })
    await connectAccount({ hubId: 9, hubDomain: 'new.example.com' })
    await steps.xadd(keys.transitions, '*', 'alert', 'no JSON')
  },
  'a token is dead among many limits': async ({ steps, keys, clock, connectAccount }) => {
    const open = async (hubId: number, field: string, state: SeriesState) => {
      await steps.hset(keys.account(hubId).alerts, field, encodeState(state))
      await steps.sadd(keys.alerting, hubId)
    }
    for (const hubId of [1, 2, 3, 4]) await connectAccount({ hubId, hubDomain: `n${hubId}.example.com` })
    const now = clock.now()
    await changePolls(steps, keys, 4, { polledAt: now - 3 * MINUTE })
    await open(2, 'token', openState('critical', 'token', now - 90 * MINUTE))
    await open(3, 'poll', openState('warning', 'poll', now - 30 * MINUTE))
    for (let n = 0; n < 25; n++) {
      const at = now - n * MINUTE
      const lastSent = { level: 'critical' as const, usage: 1_000, limit: 1_000, at }
      await open(1, `type/2-${n}`, { ...openState('critical', 'full', at), lastSent })
    }
  },
  'alerts went their ways': async ({ steps, keys, clock, connectAccount, deps }) => {
    const now = clock.now()
    clock.move(-HOUR)
    for (const [n, name] of ['full', 'pending', 'silent', 'moved', 'unread'].entries())
      await connectAccount({ hubId: n + 1, hubDomain: `${name}.example.com` })
    clock.move(HOUR)
    const poll = (hubId: number, minutesAgo: number, usage: number, limit = 1_000, polls = 0) => {
      const at = now - minutesAgo * MINUTE
      const report = readingsOf(at, properties(usage, limit, { '0-1': [10, 1_000] }), { '0-1/0-2': associations(10) })
      return pollAndTell(steps, keys, { ...deps.explain, for: polls, pageOf: () => '' }, hubId, at, report)
    }
    const send = (at: number) => sendThrough(steps, keys, deps.silences, at)
    await poll(1, 30, 850)
    await send(now - 30 * MINUTE)
    await poll(1, 15, 960)
    await poll(2, 15, 850, 1_000, 3)
    await send(now - 14 * MINUTE)
    const matchers = [{ name: 'account' as const, value: '3' }]
    const silence = { matchers, author: 'ann', comment: 'they know', createdAt: now - HOUR, endsAt: now + HOUR }
    await deps.silences.add(silence)
    await poll(3, 10, 900)
    await send(now - 9 * MINUTE)
    await poll(4, 20, 100)
    await poll(4, 10, 100, 2_000)
  },
}

function sendThrough(store: Server['steps'], keys: Keys, silences: AlertsDeps['silences'], at: number) {
  const routes = [{ to: ['ops-mail', 'ops-hook'] }]
  const group = { by: ['rule' as const, 'account' as const], waitMs: 30_000, intervalMs: 300_000, max: 200 }
  const receivers = ['ops-mail', 'ops-hook']
  return sendToMailAlone({ store, keys, routes, receivers, log: logLines().log, silences, group }, at)
}

async function connect({ connectAccount }: Server): Promise<void> {
  await connectAccount({ hubId: 4, hubDomain: 'acme.example.com', user: 'ann@example.com' })
}

async function connectAndRead(server: Server, states: Parameters<Server['poll']>[2] = {}): Promise<void> {
  await connect(server)
  await server.poll(4, readings(server.clock.now(), 930), states)
}

/** An account whose record says so. */
function stateOf(record: Record<string, string>) {
  return async (server: Server) => {
    await connectAndRead(server)
    await server.steps.hset(server.keys.account(4).account, record)
  }
}
