import { setMaxListeners } from 'node:events'
import { type Job, type Processor, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import type { Clock } from '../src/runtime/clock.ts'
import { InForce } from '../src/runtime/concurrency.ts'
import type { Logger } from '../src/runtime/logger.ts'
import { deliver, PER_RECEIVER, type StopSignals } from './deliver.ts'
import type { JobDeps } from './job-deps.ts'
import { type Looks, startLooks } from './looks.ts'
import type { Movement } from './movement.ts'
import { pollLimits } from './poll-limits.ts'
import { readWaiting } from './queue-depths.ts'
import type { Queues } from './queues.ts'
import { type ChunkJob, type DeliverJob, QUEUE, type SweepKind, type TendJob } from './queues.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { sweep } from './sweep.ts'
import { tendHistory } from './tend-history.ts'
import { uninstall } from './uninstall.ts'

export interface Workers {
  wake: Looks['wake']
  /** Jobs that begin from now on work by these. Resolves once no job works by those before. */
  replace(deps: JobDeps): Promise<void>
  /** Begins nothing new, lets what is under way finish for up to `atMostMs`, hands back the rest. */
  stop(atMostMs: number): Promise<void>
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
  const seats = new Map<string, Seat>()
  const start = <T extends ChunkJob | TendJob | DeliverJob>(
    name: string,
    concurrency: number,
    work: (deps: JobDeps, job: T) => Promise<void>,
  ) => {
    const processor: Processor<T, void> = ({ data }: Job<T, void>) =>
      deps.movement.watch(name, () => inForce.run((now) => work(now, data)))
    const open = (atATime: number) => {
      const worker = new Worker<T, void>(name, processor, {
        ...{ connection: connection as Redis, prefix, concurrency: atATime },
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
    return sweep(now, kind)
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
    stop: async (atMostMs) => {
      watch.stop()
      stopping.abort(new Error('stopping'))
      const closed = Promise.all([looks.stop(), ...[...seats.values()].map(({ worker }) => worker.close())])
      const waited = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), atMostMs).unref())
      if ((await Promise.race([closed, waited])) !== 'late') return
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
function deliveriesAtATime({ receivers }: Pick<JobDeps, 'receivers'>): number {
  return PER_RECEIVER * Math.max(1, receivers.size)
}

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
