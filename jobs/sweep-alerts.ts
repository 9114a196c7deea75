import { closeGroups } from '../src/alerts/groups/close-groups.ts'
import { lookAtHeld } from '../src/alerts/groups/held.ts'
import { collectOutbox } from '../src/alerts/relay.ts'
import { Failures } from '../src/runtime/concurrency.ts'
import type { JobDeps } from './job-deps.ts'

export type SweepAlertsDeps = Pick<JobDeps, 'relay' | 'deliveries' | 'queues' | 'metrics' | 'clock'>

/** Deliveries handed on at a time. */
const BATCH = 500

/**
 * Outbox into groups, what was held back into them again, closed groups into deliveries, due deliveries into jobs. Returns
 * when the next work is due.
 */
export async function sweepAlerts(deps: SweepAlertsDeps): Promise<number | undefined> {
  // One node of a cluster that is away, or one group that can't be read, holds up nothing that is further on.
  const failures = new Failures()
  const relayed = await failures.of(() => collectOutbox(deps.relay, deps.clock.now()))
  deps.metrics.alertsRelayed.inc(relayed ?? 0)
  const nextHeld = await failures.of(() => lookAtHeld(deps.relay, deps.clock.now()))
  const nextGroup = await failures.of(() => closeGroups(deps.relay, deps.clock.now()))
  const next = await handOnDeliveries(deps)
  await deps.deliveries.forgetDead(deps.clock.now())
  failures.throwFirst()
  const moments = [nextHeld, nextGroup, next].filter((moment) => moment !== undefined)
  return moments.length === 0 ? undefined : Math.min(...moments)
}

async function handOnDeliveries({ deliveries, queues, clock }: SweepAlertsDeps): Promise<number | undefined> {
  const { ids, next } = await deliveries.claim(clock.now(), BATCH)
  const jobs = ids.map((id) => ({ name: 'deliver', data: { deliveryId: id }, opts: { jobId: id } }))
  if (jobs.length > 0) await queues.deliver.addBulk(jobs)
  return next
}
