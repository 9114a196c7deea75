import { type Job, type Processor, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { type DeliverDeps, deliver } from './deliver.ts'
import { type PollLimitsDeps, pollLimits } from './poll-limits.ts'
import { QUEUE } from './queues.ts'
import { type RefreshTokensDeps, refreshTokens } from './refresh-tokens.ts'
import { type SweepDeps, sweep } from './sweep.ts'
import { type UninstallJobDeps, uninstall } from './uninstall.ts'

export type WorkerDeps = SweepDeps & RefreshTokensDeps & PollLimitsDeps & UninstallJobDeps & DeliverDeps

export interface Workers {
  /** Begins nothing new, lets what is under way finish for up to `patienceMs`, hands back the rest. */
  stop(patienceMs: number): Promise<void>
}

/** Who works on which queue, and how many jobs at a time. */
export function startWorkers(connection: Store, prefix: string, deps: WorkerDeps, log: Logger): Workers {
  const stopping = new AbortController()
  const start = <T>(name: string, concurrency: number, work: (data: T, signal: AbortSignal) => Promise<void>) => {
    const processor: Processor<T, void> = (job: Job<T, void>) => work(job.data, stopping.signal)
    const worker = new Worker<T, void>(name, processor, { connection: connection as Redis, prefix, concurrency })
    worker.on('error', (error) => log.warn({ code: 'worker.error', queue: name, err: error }, 'worker: no Redis'))
    worker.on('failed', (_job, error) => log.error({ code: 'job.failed', queue: name, err: error }, 'a job failed'))
    return worker
  }
  const workers = [
    start(QUEUE.sweep, 4, (job: Parameters<typeof sweep>[1]) => sweep(deps, job)),
    start(QUEUE.refreshTokens, 8, (job: Parameters<typeof refreshTokens>[1], signal) =>
      refreshTokens(deps, job, signal),
    ),
    start(QUEUE.pollLimits, 4, (job: Parameters<typeof pollLimits>[1], signal) => pollLimits(deps, job, signal)),
    start(QUEUE.uninstall, 2, (job: Parameters<typeof uninstall>[1], signal) => uninstall(deps, job, signal)),
    start(QUEUE.deliver, 16, (job: Parameters<typeof deliver>[1], signal) => deliver(deps, job, signal)),
  ]
  return {
    stop: async (patienceMs) => {
      stopping.abort(new Error('stopping'))
      const closed = Promise.all(workers.map((worker) => worker.close()))
      const patience = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), patienceMs).unref())
      if ((await Promise.race([closed, patience])) !== 'late') return
      log.warn({ code: 'stop.late' }, 'some work did not end in time: it is due again when its claims end')
      await Promise.all(workers.map((worker) => worker.close(true)))
    },
  }
}
