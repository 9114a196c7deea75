import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import { readServers } from '../../redis/servers.ts'
import type { Clock } from '../../runtime/clock.ts'
import { countedElsewhere, gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { type QueueDepth, readPollBudget, readTokenEndpoint } from '../../views/fleet-health.ts'
import type { HealthReport } from '../health.ts'
import { type FleetGaugeDeps, registerFleetGauges } from './fleet-gauges.ts'
import { type OutboxGaugeDeps, registerOutboxGauges } from './outbox-gauges.ts'

export type GaugeDeps = FleetGaugeDeps &
  OutboxGaugeDeps &
  ProviderGaugeDeps &
  QueueGaugeDeps &
  RedisGaugeDeps &
  HealthGaugeDeps

/** The state of all accounts, read from Redis on request. No label names an account. */
export function registerGauges(deps: GaugeDeps): void {
  registerFleetGauges(deps)
  registerOutboxGauges(deps)
  registerProviderGauges(deps)
  registerQueueGauges(deps)
  registerRedisGauges(deps)
  registerHealthGauges(deps)
}

interface HealthGaugeDeps {
  metrics: Metrics
  health: () => Promise<HealthReport>
}

/** The same as /healthz and /readyz show. */
function registerHealthGauges({ metrics, health }: HealthGaugeDeps): void {
  const report = sharedRead(health)

  gauge(metrics, 'alive', 'Whether work moves on, as on /healthz: 1 or 0.', [], async () => [
    [{}, (await report()).alive ? 1 : 0],
  ])
  gauge(metrics, 'ready', 'Whether this daemon is worth asking, as on /readyz: 1 or 0.', [], async () => [
    [{}, (await report()).ready ? 1 : 0],
  ])
  gauge(
    metrics,
    'health_check_ok',
    'Whether one thing that health is judged by is as it should be: 1 or 0.',
    ['check'],
    async () => (await report()).checks.map(({ name, ok }) => [{ check: name }, ok ? 1 : 0]),
  )
}

interface ProviderGaugeDeps {
  metrics: Metrics
  store: Store
  keys: Keys
}

const BREAKER = { closed: 0, 'half-open': 0.5, open: 1 }

/** What all daemons know together of the provider, and what is left of the calls to it. */
function registerProviderGauges({ metrics, store, keys }: ProviderGaugeDeps): void {
  const endpoint = sharedRead(() => readTokenEndpoint(store, keys))
  const budget = sharedRead(() => readPollBudget(store, keys))

  gauge(
    metrics,
    'breaker_open',
    'Whether refreshes are stopped but for probes: 1 open, 0.5 half-open, 0 closed.',
    [],
    async () => [[{}, BREAKER[(await endpoint())?.breaker ?? 'closed']]],
  )
  gauge(
    metrics,
    'token_requests_allowed',
    'Token requests a second that the provider is believed to allow.',
    [],
    async () => [[{}, (await endpoint())?.requestsPerSecond ?? Number.NaN]],
  )
  gauge(metrics, 'clock_skew_seconds', "How far the provider's clock is ahead of ours.", [], async () => [
    [{}, ((await endpoint())?.clockSkewMs ?? Number.NaN) / 1_000],
  ])
  gauge(
    metrics,
    'poll_budget_calls',
    'Calls to the limits endpoints that may be made right now; NaN where they have no budget.',
    [],
    async () => [[{}, (await budget())?.calls ?? Number.NaN]],
  )
  gauge(
    metrics,
    'poll_budget_short',
    'Whether regular polls wait because limits.callsPerHour is too small: 1 or 0.',
    [],
    async () => [[{}, (await budget())?.short ? 1 : 0]],
  )
}

interface QueueGaugeDeps {
  metrics: Metrics
  queueDepths: () => Promise<QueueDepth[]>
  clock: Clock
}

const STATES = ['waiting', 'active', 'delayed', 'failed'] as const

function registerQueueGauges({ metrics, queueDepths, clock }: QueueGaugeDeps): void {
  const depths = sharedRead(queueDepths)

  gauge(metrics, 'queue_jobs', 'Jobs in a queue, by state.', ['queue', 'state'], async () =>
    (await depths()).flatMap((depth) =>
      STATES.map((state): [{ queue: string; state: string }, number] => [{ queue: depth.queue, state }, depth[state]]),
    ),
  )
  gauge(
    metrics,
    'queue_oldest_waiting_seconds',
    'For how long the next job of a queue has waited to be taken up; 0 where none waits.',
    ['queue'],
    async () =>
      (await depths()).map(({ queue, oldestWaitingAt }) => [
        { queue },
        oldestWaitingAt === null ? 0 : Math.max(0, clock.now() - oldestWaitingAt) / 1_000,
      ]),
  )
}

interface RedisGaugeDeps {
  metrics: Metrics
  store: Store
}

/** All servers together, where the data is spread over several. */
function registerRedisGauges({ metrics, store }: RedisGaugeDeps): void {
  const load = sharedRead(async () => {
    const servers = await readServers(store)
    const sum = (of: 'usedMemory' | 'maxMemory' | 'evictedKeys') =>
      servers.reduce((total, server) => total + server[of], 0)
    return { servers, sum }
  })

  gauge(metrics, 'redis_up', 'Whether Redis answers this daemon: 1 or 0.', [], () =>
    load().then(
      () => [[{}, 1]],
      () => [[{}, 0]],
    ),
  )
  gauge(metrics, 'redis_ping_seconds', 'How long Redis took to answer a ping, just now.', [], async () => [
    [{}, Math.max(...(await load()).servers.map(({ pingMs }) => pingMs)) / 1_000],
  ])
  gauge(metrics, 'redis_memory_used_bytes', 'What Redis has in memory.', [], async () => [
    [{}, (await load()).sum('usedMemory')],
  ])
  gauge(metrics, 'redis_memory_max_bytes', 'How much that may be; 0: as much as the machine has.', [], async () => [
    [{}, (await load()).sum('maxMemory')],
  ])
  countedElsewhere(
    metrics,
    'redis_evicted_keys',
    'Keys that Redis threw away for want of memory since it started: each may have been a token.',
    async () => (await load()).sum('evictedKeys'),
  )
  gauge(
    metrics,
    'redis_last_save_ok',
    'Whether Redis could write its files when it last tried: 1 or 0, by file: aof, rdb.',
    ['file'],
    async () => {
      const { servers } = await load()
      return [
        [{ file: 'aof' }, servers.every(({ aofWorks, rewriteWorks }) => aofWorks && rewriteWorks) ? 1 : 0],
        [{ file: 'rdb' }, servers.every(({ rdbWorks }) => rdbWorks) ? 1 : 0],
      ]
    },
  )
}
