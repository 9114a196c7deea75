import type { Deliveries } from '../../delivery/deliveries.ts'
import type { ReceiverStore } from '../../delivery/receiver-health.ts'
import { HeartbeatStore } from '../../heartbeat/heartbeat-store.ts'
import type { Store } from '../../redis/connect.ts'
import type { Keys } from '../../redis/keys.ts'
import type { Clock } from '../../runtime/clock.ts'
import { gauge, sharedRead } from '../../runtime/gauge.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import { isBroken, receiverStatus } from '../../views/deliveries.ts'
import { readHeartbeat } from '../../views/fleet-health.ts'
import { readOutboxBalance } from '../../views/outbox-balance.ts'

export interface OutboxGaugeDeps {
  metrics: Metrics
  store: Store
  keys: Keys
  deliveries: Deliveries
  receiverStore: ReceiverStore
  clock: Clock
}

const PARTS = {
  opened: 'Transitions of alerts that were committed and not withheld.',
  delivered: 'Of these, those that every receiver has.',
  pending: 'Of these, those that a receiver still waits for.',
  dead: 'Of these, those whose delivery was given up for a receiver.',
}

/** The way of an alert: outbox, deliveries, receivers, and the heartbeat. */
export function registerOutboxGauges(deps: OutboxGaugeDeps): void {
  const { metrics, deliveries, receiverStore, clock } = deps
  const balance = sharedRead(() => readOutboxBalance(deps, clock.now()))

  for (const part of ['opened', 'delivered', 'pending', 'dead'] as const) {
    gauge(metrics, `outbox_${part}`, PARTS[part], [], async () => [[{}, (await balance())[part]]])
  }
  gauge(metrics, 'outbox_balanced', 'Whether opened = delivered + pending + dead: 1 or 0.', [], async () => [
    [{}, (await balance()).balanced ? 1 : 0],
  ])
  gauge(
    metrics,
    'outbox_oldest_pending_seconds',
    'Age of the oldest transition that a receiver waits for, held back or not; 0 where there is none.',
    [],
    async () => [[{}, ageOf((await balance()).oldestPendingAt, clock)]],
  )
  gauge(
    metrics,
    'outbox_late_seconds',
    'By how long the oldest overdue step of the outbox is late; 0 where nothing is late.',
    [],
    async () => [[{}, ageOf((await balance()).lateSince, clock)]],
  )
  gauge(metrics, 'deliveries_pending', 'Deliveries that wait for an attempt.', [], async () => [
    [{}, await deliveries.countPending()],
  ])
  gauge(
    metrics,
    'receiver_failing',
    'Whether every attempt since the last delivery failed, or the receiver is switched off: 1 or 0.',
    ['receiver'],
    async () =>
      (await receiverStore.read()).map((health) => [
        { receiver: health.receiver },
        isBroken(receiverStatus(health)) ? 1 : 0,
      ]),
  )
  gauge(
    metrics,
    'heartbeat_ok',
    'Whether heartbeats come, and the last one was good: 1 or 0; NaN where there are none.',
    [],
    async () => {
      const last = await readHeartbeat(new HeartbeatStore(deps.store, deps.keys), clock.now())
      return [[{}, last === null ? Number.NaN : Number(last.ok && !last.late)]]
    },
  )
}

function ageOf(since: number | null, clock: Clock): number {
  return since === null ? 0 : Math.max(0, clock.now() - since) / 1_000
}
