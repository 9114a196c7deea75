import type { Store } from '../src/redis/connect.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { Movement } from './movement.ts'
import { readWaiting } from './queue-depths.ts'
import type { Queues } from './queues.ts'

export interface SilentWorkersDeps {
  store: Store
  queues: Queues
  movement: Movement
  clock: Clock
  log: Logger
}

const LOOK_EVERY_MS = 5_000
/** A connection that was forgotten on the way is given up after 13 s, and its worker goes on by itself. */
const SILENT_MS = 15_000

/**
 * Has a worker replaced that takes no job while jobs wait and it has nothing else to do. After a failover, or when a node of
 * a Cluster comes back, the wait of a BullMQ worker may end silently: it claims to run, reports no error, and
 * takes nothing until it is restarted. What is still left in it is fenced by the locks of its jobs, as a dead worker's is.
 */
export function watchSilentWorkers(
  { store, queues, movement, clock, log }: SilentWorkersDeps,
  replace: (queue: string) => void,
  { everyMs = LOOK_EVERY_MS, silentMs = SILENT_MS } = {},
): { stop(): void } {
  // While Redis is away no worker can take a job: all have their time again from when it answers.
  let since = clock.now()
  const replacedAt = new Map<string, number>()
  let looking = false
  const look = async () => {
    const waiting = await readWaiting(queues, store, clock.now())
    // Redis answers: a worker that has taken nothing since then is replaced.
    movement.letGo(since)
    const now = clock.now()
    for (const [queue, ms] of Object.entries(movement.untaken(waiting, since))) {
      if (ms < silentMs || now - (replacedAt.get(queue) ?? 0) < silentMs) continue
      replacedAt.set(queue, now)
      log.warn({ code: 'worker.silent', queue, waitedMs: ms }, 'jobs wait and the worker takes none: it is replaced')
      replace(queue)
    }
  }
  const timer = setInterval(() => {
    if (looking) {
      since = clock.now()
      return
    }
    looking = true
    void look()
      .catch(() => {
        since = clock.now()
      })
      .finally(() => {
        looking = false
      })
  }, everyMs)
  return { stop: () => clearInterval(timer) }
}
