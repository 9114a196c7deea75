import { NO_CLOCK, startClock, type TickingClock as Ticks } from '../../jobs/clock.ts'
import { NO_WORKERS, startWorkers, type Workers } from '../../jobs/workers.ts'
import type { Role } from '../heartbeat/roles.ts'
import { connectRedis } from '../redis/connect.ts'
import type { Running } from './reload.ts'

/** The workers on the queues: none, where that is left to other daemons. */
export function startWorkersOf({ parts, work }: Running, roles: ReadonlySet<Role>): Workers {
  if (!roles.has('worker')) return NO_WORKERS
  const store = connectRedis(parts.address, 'queues', () => {}) // BullMQ reports its connection's errors itself.
  parts.lifecycle.onClose("the workers' connection", () => store.disconnect())
  const workers = startWorkers(store, parts.keys.queues, work, parts.log)
  const hearing = connectRedis(parts.address, 'queues', () => {}) // The workers' connection reports.
  parts.lifecycle.onClose('the connection for wake-ups', () => hearing.disconnect())
  // Not awaited: without a Redis the ticks still start every sweep.
  void parts.queues.hearWakes(hearing, workers.wake)
  void parts.queues.forgetSweeps().catch(() => undefined) // No version reads them any more.
  return workers
}

/** The clock. A daemon that works ticks for itself: without a word from the others it sweeps all the same. */
export function startClockOf({ parts }: Running, roles: ReadonlySet<Role>): Ticks {
  if (!roles.has('clock') && !roles.has('worker')) return NO_CLOCK
  return startClock(parts.queues, parts.config.schedule, parts.log)
}
