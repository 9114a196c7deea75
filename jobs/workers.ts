import { setMaxListeners } from 'node:events'
import { type Job, type Processor, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import { InForce } from '../src/runtime/in-force.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { NO_TRACING, type SpanFacts } from '../src/runtime/tracing.ts'
import { deliver, PER_RECEIVER, type StopSignals } from './deliver.ts'
import type { JobDeps } from './job-deps.ts'
import { type Looks, startLooks } from './looks.ts'
import { pollLimits } from './poll-limits.ts'
import { type ChunkJob, type DeliverJob, QUEUE, type SweepKind, type TendJob } from './queues.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { watchSilentWorkers } from './silent-workers.ts'
import { sweep } from './sweep.ts'
import { tendHistory } from './tend-history.ts'
import { uninstall } from './uninstall.ts'

export interface Workers {
  wake: Looks['wake']
  /** Jobs that begin from now on work by these. Resolves once no job works by those before. */
  replace(deps: JobDeps): Promise<void>
  /** Begins nothing new, lets what is under way finish for up to `patienceMs`, hands back the rest. */
  stop(patienceMs: number): Promise<void>
}

/** Another daemon that has just swept found what this one would find; later work is found a moment later. */
const TURN_MS = 400

/** The sweeps of this daemon, its workers per queue, and how many jobs at a time. */
export function startWorkers(
  connection: Store,
  prefix: string,
  deps: JobDeps,
  log: Logger,
  silence?: Parameters<typeof watchSilentWorkers>[2],
): Workers {
  const stopping = new AbortController()
  const abandon = new AbortController()
  setMaxListeners(0, stopping.signal, abandon.signal) // One per chunk under way.
  const stop: StopSignals = { stopping: stopping.signal, abandon: abandon.signal }
  const inForce = new InForce(deps)
  const telemetry = deps.jobTelemetry === undefined ? {} : { telemetry: deps.jobTelemetry }
  const seats = new Map<string, Seat>()
  const start = <T extends ChunkJob | TendJob | DeliverJob>(
    name: string,
    concurrency: number,
    work: (deps: JobDeps, job: T) => Promise<void>,
  ) => {
    const processor: Processor<T, void> = ({ data }: Job<T, void>) =>
      deps.movement.watch(name, () => {
        deps.tracing?.note(factsOf(data))
        return inForce.run((now) => work(now, data))
      })
    const open = (atATime: number) => {
      const worker = new Worker<T, void>(name, processor, {
        ...{ connection: connection as Redis, prefix, concurrency: atATime },
        ...telemetry,
      })
      worker.on('error', (error) => log.warn({ code: 'worker.error', queue: name, err: error }, 'worker: no Redis'))
      worker.on('failed', (_job, error) => log.error({ code: 'job.failed', queue: name, err: error }, 'a job failed'))
      return worker
    }
    seats.set(name, { worker: open(concurrency), open })
  }
  start<ChunkJob>(QUEUE.refreshTokens, 8, (now, job) => refreshTokens(now, job, stop.stopping))
  start<ChunkJob>(QUEUE.pollLimits, 4, (now, job) => pollLimits(now, job, stop.stopping))
  start<ChunkJob>(QUEUE.uninstall, 2, (now, job) => uninstall(now, job, stop.stopping))
  start<TendJob>(QUEUE.tendHistory, 1, (now, job) => tendHistory(now, job, stop.stopping))
  start<DeliverJob>(QUEUE.deliver, deliveriesAtATime(deps), (now, job) => deliver(now, job, stop))
  const look = async (now: JobDeps, kind: SweepKind) => {
    const isOurs = await now.store.set(now.keys.look(kind), 1, 'PX', TURN_MS, 'NX')
    if (isOurs !== 'OK') return now.clock.now() + TURN_MS
    return (now.tracing ?? NO_TRACING).span('sweep', { 'plimsoll.sweep': kind }, () => sweep(now, kind))
  }
  // One that hangs must be seen here: the sweeps of other daemons go on.
  const watched = (kind: SweepKind) => deps.movement.watch(`sweep ${kind}`, () => inForce.run((now) => look(now, kind)))
  const looks = startLooks(watched, deps.clock, log)
  const watch = watchSilentWorkers(
    { ...deps, log },
    (name) => {
      const seat = seats.get(name)
      if (seat === undefined || stopping.signal.aborted) return
      const { worker } = seat
      seat.worker = seat.open(worker.concurrency)
      // It may never end: nothing waits for it.
      worker.close(true).catch((error: unknown) => {
        log.warn({ code: 'worker.error', queue: name, err: error }, 'the worker that was replaced could not be closed')
      })
    },
    silence,
  )
  return {
    wake: looks.wake,
    replace: (next) => {
      const deliveries = seats.get(QUEUE.deliver)
      if (deliveries !== undefined) deliveries.worker.concurrency = deliveriesAtATime(next)
      return inForce.replace(next)
    },
    stop: async (patienceMs) => {
      watch.stop()
      stopping.abort(new Error('stopping'))
      const closed = Promise.all([looks.stop(), ...[...seats.values()].map(({ worker }) => worker.close())])
      const patience = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), patienceMs).unref())
      if ((await Promise.race([closed, patience])) !== 'late') return
      log.warn({ code: 'stop.late' }, 'some work did not end in time: it is due again when its claims end')
      // No more waiting: the rest of the stop takes their connections away.
      abandon.abort(new Error('abandoned'))
    },
  }
}

/** Who works on a queue, and how another one is put in its place. */
interface Seat {
  worker: Worker
  open(concurrency: number): Worker
}

/** A daemon that leaves the queues to others. */
export const NO_WORKERS: Workers = { wake: () => {}, replace: async () => {}, stop: async () => {} }

/** How much a job has to do, and not for whom. */
function factsOf(job: ChunkJob | TendJob | DeliverJob): SpanFacts {
  if ('hubIds' in job) return { 'plimsoll.accounts': job.hubIds.length }
  if ('partitions' in job) return { 'plimsoll.partitions': job.partitions.length }
  return {}
}

function deliveriesAtATime({ receivers }: Pick<JobDeps, 'receivers'>): number {
  return PER_RECEIVER * Math.max(1, receivers.size)
}
