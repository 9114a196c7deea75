import type { FastifyReply, FastifyRequest } from 'fastify'
import packageJson from '../../package.json' with { type: 'json' }
import { judgeFleet } from '../checks/all-checks.ts'
import { type FleetFacts, readFleetFacts } from '../checks/facts.ts'
import type { DueKind } from '../redis/keys.ts'
import { readServers } from '../redis/servers.ts'
import { countedElsewhere, gauge, sharedRead } from '../runtime/gauge.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { isBroken, receiverStatus } from '../views/deliveries.ts'
import { surveyAlerts } from '../views/find-alerts.ts'
import { readOutboxBalance } from '../views/outbox-balance.ts'
import type { WebDeps } from './web-deps.ts'

/** Methods that have a route. Of others a client may invent any number. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** By the pattern of its route: addresses have account numbers in them, and no end. */
export function countRequest(metrics: Metrics, request: FastifyRequest, reply: FastifyReply): void {
  const route = request.route ?? 'none'
  const method = METHODS.has(request.method) ? request.method : 'other'
  metrics.httpRequests.inc({ method, route, status: `${Math.floor(reply.statusCode / 100)}xx` })
  metrics.httpLatency.observe({ route }, reply.elapsedTime / 1_000)
}

/** The state of all accounts, read from Redis on request. No label names an account. */
export function registerGauges(deps: WebDeps): void {
  const facts = sharedRead(() => readFleetFacts(deps))
  registerFleetGauges(deps, facts)
  registerOutboxGauges(deps)
  registerReceiverGauges(deps, facts)
  registerProviderGauges(deps, facts)
  registerQueueGauges(deps, facts)
  registerRedisGauges(deps)
  registerHealthGauges(deps, facts)
}

type ReadFacts = () => Promise<FleetFacts>

/** A gauge of one value: yes is 1, no is 0, undefined is not known. */
function value(metrics: Metrics, name: string, help: string, read: () => Promise<number | boolean | undefined>): void {
  gauge(metrics, { name, help }, async () => {
    const found = await read()
    return [[{}, typeof found === 'boolean' ? Number(found) : found]]
  })
}

const DUE_KINDS: readonly DueKind[] = ['refresh', 'poll', 'uninstall']

/** Accounts, their tokens and readings, their alerts. */
function registerFleetGauges(deps: WebDeps, facts: ReadFacts): void {
  const { metrics, due, clock } = deps
  const { version } = packageJson

  gauge(
    metrics,
    { name: 'build_info', help: 'Always 1; the label names the running version.', labels: ['version'] },
    async () => [[{ version }, 1]],
  )
  gauge(metrics, { name: 'accounts', help: 'Accounts, by state.', labels: ['state'] }, async () =>
    Object.entries((await facts()).byState).map(([state, count]) => [{ state }, count]),
  )
  gauge(
    metrics,
    { name: 'due', help: 'Accounts that are due and not taken up yet, by kind of work.', labels: ['kind'] },
    () => {
      const now = clock.now()
      return Promise.all(DUE_KINDS.map(async (kind) => [{ kind }, await due.countDue(kind, now)]))
    },
  )
  const nearest = 'Until the first of the access tokens that are kept alive expires; below 0: it has.'
  value(metrics, 'token_nearest_expiry_seconds', nearest, async () => {
    const { now, nearestExpiryAt: at } = await facts()
    return at === null ? undefined : (at - now) / 1_000
  })
  const fresh = 'Share of the polled accounts whose newest reading is fresh.'
  value(metrics, 'limits_coverage_ratio', fresh, async () => (await facts()).coverage.share ?? Number.NaN)
  const objective = 'Goal for that share: limits.coverage in the config.'
  value(metrics, 'limits_coverage_objective_ratio', objective, async () => (await facts()).coverage.objective)
  const stale = 'Polled accounts whose newest reading is too old.'
  value(metrics, 'accounts_stale', stale, async () => (await facts()).coverage.stale)
  const failing = 'Polled accounts whose last poll failed, wholly or in part.'
  value(metrics, 'accounts_poll_failing', failing, async () => (await facts()).coverage.failing)
  const counted = sharedRead(async () => {
    const now = clock.now()
    return (await surveyAlerts(deps, { silences: await deps.silences.active(now) }, now)).counts
  })
  const open = 'Alerts that are open and neither acknowledged nor silenced, by level.'
  gauge(metrics, { name: 'alerts_open', help: open, labels: ['level'] }, async () => {
    const { critical, warning } = await counted()
    return Object.entries({ critical, warning }).map(([level, count]) => [{ level }, count])
  })
  const handled = 'Alerts that are open and acknowledged or silenced.'
  value(metrics, 'alerts_handled', handled, async () => (await counted()).handled)
}

const OUTBOX_PARTS = {
  pending: 'Alerts on their way: new ones, each that a receiver waits for, and messages.',
  dead: 'Messages that were given up, and can be sent again.',
}

/** The way of an alert from its transition to its receivers. */
function registerOutboxGauges(deps: WebDeps): void {
  const { metrics, deliveries, clock } = deps
  const balance = sharedRead(() => readOutboxBalance(deps, clock.now()))
  const secondsSince = (at: string | null) => (at === null ? 0 : Math.max(0, clock.now() - Date.parse(at)) / 1_000)

  for (const part of ['pending', 'dead'] as const) {
    value(metrics, `outbox_${part}`, OUTBOX_PARTS[part], async () => (await balance())[part])
  }
  const oldest = 'Age of the oldest alert that a receiver waits for, held back or not; 0 where there is none.'
  value(metrics, 'outbox_oldest_pending_seconds', oldest, async () => secondsSince((await balance()).oldestPendingAt))
  const late = 'By how long the oldest overdue step of the outbox is late; 0 where nothing is late.'
  value(metrics, 'outbox_late_seconds', late, async () => secondsSince((await balance()).lateSince))
  value(metrics, 'deliveries_pending', 'Deliveries that wait for an attempt.', () => deliveries.countPending())
}

function registerReceiverGauges({ metrics }: WebDeps, facts: ReadFacts): void {
  const failing = 'Receiver failing: every attempt since the last delivery failed, or it is switched off: 1 or 0.'
  gauge(metrics, { name: 'receiver_failing', help: failing, labels: ['receiver'] }, async () =>
    (await facts()).receivers.map((health) => [
      { receiver: health.receiver },
      isBroken(receiverStatus(health)) ? 1 : 0,
    ]),
  )
  const beats = 'Heartbeats arrive, and the last one was good: 1 or 0; NaN where there are none.'
  value(metrics, 'heartbeat_ok', beats, async () => {
    const { heartbeat } = await facts()
    return heartbeat === null ? Number.NaN : heartbeat.ok && !heartbeat.late
  })
}

const BREAKER = { closed: 0, 'half-open': 0.5, open: 1 }

/** Gauges of the state that all daemons share about the provider. */
function registerProviderGauges({ metrics }: WebDeps, facts: ReadFacts): void {
  const endpoint = async () => (await facts()).tokenEndpoint

  const open = 'Circuit breaker of the token endpoint: 1 open, 0.5 half-open, 0 closed.'
  value(metrics, 'breaker_open', open, async () => BREAKER[(await endpoint())?.breaker ?? 'closed'])
  const allowed = 'Token requests a second that all daemons together may send now.'
  value(metrics, 'token_requests_allowed', allowed, async () => (await endpoint())?.requestsPerSecond ?? Number.NaN)
  const answered = async () => (await facts()).failedCalls
  const failed = 'Share of the calls to the provider in 30 days that failed; NaN where none was answered.'
  value(metrics, 'provider_failed_calls_ratio', failed, async () => (await answered()).share ?? Number.NaN)
  const all = 'Calls to the provider in 30 days that were answered, by all daemons.'
  value(metrics, 'provider_calls_30d', all, async () => (await answered()).calls)
}

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const

function registerQueueGauges({ metrics, clock }: WebDeps, facts: ReadFacts): void {
  const depths = async () => (await facts()).queues
  gauge(metrics, { name: 'queue_jobs', help: 'Jobs in a queue, by state.', labels: ['queue', 'state'] }, async () =>
    (await depths()).flatMap((depth) =>
      STATES.map((state): [{ queue: string; state: string }, number] => [{ queue: depth.queue, state }, depth[state]]),
    ),
  )
  const oldest = 'For how long the next job of a queue has waited to be taken up; 0 where none waits.'
  gauge(metrics, { name: 'queue_oldest_waiting_seconds', help: oldest, labels: ['queue'] }, async () =>
    (await depths()).map(({ queue, oldestWaitingAt }) => [
      { queue },
      oldestWaitingAt === null ? 0 : Math.max(0, clock.now() - oldestWaitingAt) / 1_000,
    ]),
  )
}

/** All servers together, where the data is spread over several. */
function registerRedisGauges({ metrics, store }: WebDeps): void {
  const servers = sharedRead(() => readServers(store))
  const sum = async (of: 'usedMemory' | 'maxMemory' | 'evictedKeys') =>
    (await servers()).reduce((total, server) => total + server[of], 0)

  value(metrics, 'redis_up', 'Redis answers this daemon: 1 or 0.', () =>
    servers().then(
      () => true,
      () => false,
    ),
  )
  const ping = 'How long Redis took to answer a ping, just now.'
  value(
    metrics,
    'redis_ping_seconds',
    ping,
    async () => Math.max(...(await servers()).map(({ pingMs }) => pingMs)) / 1_000,
  )
  value(metrics, 'redis_memory_used_bytes', 'Memory used by Redis.', () => sum('usedMemory'))
  const most = 'How much that may be; 0: as much as the machine has.'
  value(metrics, 'redis_memory_max_bytes', most, () => sum('maxMemory'))
  const evicted = 'Keys that Redis deleted because its memory was full, since it started: each may have been a token.'
  countedElsewhere(metrics, 'redis_evicted_keys', evicted, () => sum('evictedKeys'))
  const saved = 'Redis wrote its file at the last attempt: 1 or 0, by file: aof, rdb.'
  gauge(metrics, { name: 'redis_last_save_ok', help: saved, labels: ['file'] }, async () => {
    const all = await servers()
    return [
      [{ file: 'aof' }, all.every(({ aofWorks, rewriteWorks }) => aofWorks && rewriteWorks) ? 1 : 0],
      [{ file: 'rdb' }, all.every(({ rdbWorks }) => rdbWorks) ? 1 : 0],
    ]
  })
}

/** The same as /healthz and /readyz show, and as the status page shows of what all daemons share. */
function registerHealthGauges({ metrics, health }: WebDeps, facts: ReadFacts): void {
  const report = sharedRead(health)

  value(metrics, 'alive', 'Work makes progress, as on /healthz: 1 or 0.', async () => (await report()).alive)
  value(metrics, 'ready', 'Daemon is ready for requests, as on /readyz: 1 or 0.', async () => (await report()).ready)
  const help = 'Result of one check of this daemon or of all daemons: 1 well, 0 not.'
  gauge(metrics, { name: 'health_check_ok', help, labels: ['check'] }, async () => {
    const [{ findings }, fleet] = await Promise.all([report(), facts().then(judgeFleet, () => [])])
    const all = new Map(findings.map(({ name, level }) => [name, level === 'ok']))
    for (const [check, troubles] of fleet) all.set(check, troubles.length === 0)
    return [...all].map(([check, isOk]) => [{ check }, isOk ? 1 : 0])
  })
}
