import { setMaxListeners } from 'node:events'
import { Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import type { InForce } from '../src/runtime/concurrency.ts'
import { deliverDue, type StopSignals } from './deliver.ts'
import type { JobDeps } from './job-deps.ts'
import { type PlannedSweeps, startSweeps } from './planned-sweeps.ts'
import { pollLimits } from './poll-limits.ts'
import { QUEUE, type SweepKind } from './queues.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { sweep } from './sweep.ts'
import { tendHistory } from './tend-history.ts'
import { uninstall } from './uninstall.ts'

export interface Workers {
  wake: PlannedSweeps['wake']
  /** Begins nothing new, lets what is under way finish for up to `atMostMs`, hands back the rest. */
  stop(atMostMs: number): Promise<void>
}

/** A daemon that leaves the queues to others. */
export const NO_WORKERS: Workers = { wake: () => {}, stop: async () => {} }

/** A daemon that has just swept found what this one would find; what comes later is found a moment later. */
const JUST_SWEPT_MS = 400

/** The sweeps of this daemon, and its workers on the queues: each job works by the services in force at its begin. */
export function startWorkers(connection: Store, inForce: InForce<JobDeps>): Workers {
  const { clock, movement, log } = inForce.value
  const stopping = new AbortController()
  const abandon = new AbortController()
  setMaxListeners(0, stopping.signal, abandon.signal) // One per chunk under way.
  const workers = openWorkers(connection, inForce, { stopping: stopping.signal, abandon: abandon.signal })
  const check = async (now: JobDeps, kind: SweepKind) => {
    const sweptAt = Number(await now.store.hget(now.keys.fleet, kind))
    const isJustSwept = Math.abs(now.clock.now() - sweptAt) < JUST_SWEPT_MS
    return isJustSwept ? sweptAt + JUST_SWEPT_MS : sweep(now, kind)
  }
  // One that hangs must be seen here: the sweeps of other daemons go on.
  const watched = (kind: SweepKind) => movement.watch(`sweep ${kind}`, () => inForce.run((now) => check(now, kind)))
  const sweeps = startSweeps(watched, clock, log)
  return {
    wake: sweeps.wake,
    stop: async (atMostMs) => {
      stopping.abort(new Error('stopping'))
      const closed = Promise.all([sweeps.stop(), ...Object.values(workers).map((worker) => worker.close())])
      const waited = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), atMostMs).unref())
      if ((await Promise.race([closed, waited])) !== 'late') return
      log.warn({ code: 'stop.late' }, 'some work did not end in time: it is due again when its claims end')
      // No more waiting: the rest of the stop takes their connections away.
      abandon.abort(new Error('abandoned'))
    },
  }
}

/** The worker of each queue: a job lasts while anything is due, and ends for one that goes by another config. */
function openWorkers(connection: Store, inForce: InForce<JobDeps>, stop: StopSignals) {
  const onDue = (name: string, work: (services: JobDeps, stopping: AbortSignal) => Promise<void>) =>
    openWorker(connection, inForce, name, (services) => {
      const goesOn = () => {
        services.movement.movesOn(name)
        return services === inForce.value
      }
      return work({ ...services, goesOn }, stop.stopping)
    })
  return {
    refreshTokens: onDue(QUEUE.refreshTokens, refreshTokens),
    pollLimits: onDue(QUEUE.pollLimits, pollLimits),
    uninstall: onDue(QUEUE.uninstall, uninstall),
    tendHistory: onDue(QUEUE.tendHistory, tendHistory),
    deliver: onDue(QUEUE.deliver, (services) => deliverDue(services, stop)),
  }
}

function openWorker(
  connection: Store,
  inForce: InForce<JobDeps>,
  name: string,
  work: (services: JobDeps) => Promise<void>,
) {
  const { keys, movement, log } = inForce.value
  const processor = () => movement.watch(name, () => inForce.run(work))
  const worker = new Worker<unknown, void>(name, processor, { connection: connection as Redis, prefix: keys.queues })
  worker.on('error', (error) => {
    log.warn({ code: 'worker.error', queue: name, err: error }, 'worker: no Redis')
    rest(worker, error)
  })
  worker.on('failed', (_job, error) => log.error({ code: 'job.failed', queue: name, err: error }, 'a job failed'))
  return worker
}

const REST_MS = 1_000

/** A Redis that answers and refuses would be asked hundreds of times a second. Of one that is away BullMQ waits for the return. */
function rest(worker: Worker, error: Error): void {
  if (error.name !== 'ReplyError' || worker.isPaused()) return
  void worker.pause(true)
  setTimeout(() => {
    if (worker.closing === undefined) void worker.resume()
  }, REST_MS).unref()
}
