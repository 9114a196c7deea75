import { closeGroups } from '../src/alerts/groups/close-groups.ts'
import { lookAtHeld } from '../src/alerts/groups/look-again.ts'
import { collectOutbox, type RelayDeps } from '../src/alerts/outbox/relay.ts'
import type { Deliveries } from '../src/delivery/deliveries.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Metrics } from '../src/runtime/metrics.ts'
import type { Queues } from './queues.ts'

export interface SweepAlertsDeps {
  relay: RelayDeps
  deliveries: Deliveries
  queues: Queues
  metrics: Metrics
  clock: Clock
}

/** Deliveries handed on at a time. */
const BATCH = 500

/**
 * Outbox into groups, what was held back into them again, closed groups into deliveries, due deliveries into jobs. Returns
 * when something is due next.
 */
export async function sweepAlerts(deps: SweepAlertsDeps): Promise<number | undefined> {
  const relayed = await collectOutbox(deps.relay, deps.clock.now())
  deps.metrics.alertsRelayed.inc(relayed)
  const nextHeld = await lookAtHeld(deps.relay, deps.clock.now())
  const nextGroup = await closeGroups(deps.relay, deps.clock.now())
  const { ids, next } = await deps.deliveries.claim(deps.clock.now(), BATCH)
  const jobs = ids.map((id) => ({ name: 'deliver', data: { deliveryId: id }, opts: { jobId: id } }))
  if (jobs.length > 0) await deps.queues.deliver.addBulk(jobs)
  await deps.deliveries.forgetDead(deps.clock.now())
  const moments = [nextHeld, nextGroup, next].filter((moment) => moment !== undefined)
  return moments.length === 0 ? undefined : Math.min(...moments)
}
