import { setMaxListeners } from 'node:events'
import { type Job, type Processor, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { type DeliverDeps, deliver, PER_RECEIVER } from './deliver.ts'
import type { Movement } from './movement.ts'
import { type PollLimitsDeps, pollLimits } from './poll-limits.ts'
import { type ChunkJob, type DeliverJob, QUEUE, type SweepJob, type TendJob } from './queues.ts'
import { type RefreshTokensDeps, refreshTokens } from './refresh-tokens.ts'
import type { StopSignals } from './stop-signals.ts'
import { type SweepDeps, sweep } from './sweep.ts'
import { type TendHistoryDeps, tendHistory } from './tend-history.ts'
import { type UninstallJobDeps, uninstall } from './uninstall.ts'

export type WorkerDeps = SweepDeps &
  RefreshTokensDeps &
  PollLimitsDeps &
  UninstallJobDeps &
  TendHistoryDeps &
  DeliverDeps & { movement: Movement }

export interface Workers {
  /** Begins nothing new, lets what is under way finish for up to `patienceMs`, hands back the rest. */
  stop(patienceMs: number): Promise<void>
}

/** Who works on which queue, and how many jobs at a time. */
export function startWorkers(connection: Store, prefix: string, deps: WorkerDeps, log: Logger): Workers {
  const stopping = new AbortController()
  const abandon = new AbortController()
  setMaxListeners(0, stopping.signal, abandon.signal) // One per chunk under way.
  const stop: StopSignals = { stopping: stopping.signal, abandon: abandon.signal }
  const start = <T>(name: string, concurrency: number, work: (job: T) => Promise<void>) => {
    const processor: Processor<T, void> = ({ data }: Job<T, void>) => deps.movement.watch(name, () => work(data))
    const worker = new Worker<T, void>(name, processor, { connection: connection as Redis, prefix, concurrency })
    worker.on('error', (error) => log.warn({ code: 'worker.error', queue: name, err: error }, 'worker: no Redis'))
    worker.on('failed', (_job, error) => log.error({ code: 'job.failed', queue: name, err: error }, 'a job failed'))
    return worker
  }
  const deliveries = PER_RECEIVER * Math.max(1, deps.receivers.size)
  const workers = [
    start<SweepJob>(QUEUE.sweep, 4, (job) => sweep(deps, job)),
    start<ChunkJob>(QUEUE.refreshTokens, 8, (job) => refreshTokens(deps, job, stop.stopping)),
    start<ChunkJob>(QUEUE.pollLimits, 4, (job) => pollLimits(deps, job, stop.stopping)),
    start<ChunkJob>(QUEUE.uninstall, 2, (job) => uninstall(deps, job, stop.stopping)),
    start<TendJob>(QUEUE.tendHistory, 1, (job) => tendHistory(deps, job, stop.stopping)),
    start<DeliverJob>(QUEUE.deliver, deliveries, (job) => deliver(deps, job, stop)),
  ]
  return {
    stop: async (patienceMs) => {
      stopping.abort(new Error('stopping'))
      const closed = Promise.all(workers.map((worker) => worker.close()))
      const patience = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), patienceMs).unref())
      if ((await Promise.race([closed, patience])) !== 'late') return
      log.warn({ code: 'stop.late' }, 'some work did not end in time: it is due again when its claims end')
      // No more waiting: the rest of the stop takes their connections away.
      abandon.abort(new Error('abandoned'))
    },
  }
}
