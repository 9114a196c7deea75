import { setMaxListeners } from 'node:events'
import { type Job, type Processor, Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import type { InForce } from '../src/runtime/concurrency.ts'
import { deliver, PER_RECEIVER, type StopSignals } from './deliver.ts'
import type { JobDeps } from './job-deps.ts'
import { type PlannedSweeps, startSweeps } from './planned-sweeps.ts'
import { pollLimits } from './poll-limits.ts'
import { readWaiting } from './queue-depths.ts'
import { type ChunkJob, type DeliverJob, QUEUE, type SweepKind, type TendJob } from './queues.ts'
import { refreshTokens } from './refresh-tokens.ts'
import { sweep } from './sweep.ts'
import { tendHistory } from './tend-history.ts'
import { uninstall } from './uninstall.ts'

export interface Workers {
  wake: PlannedSweeps['wake']
  /** Allows as many deliveries at a time as these receivers may have. */
  follow(services: Pick<JobDeps, 'receivers'>): void
  /** Begins nothing new, lets what is under way finish for up to `atMostMs`, hands back the rest. */
  stop(atMostMs: number): Promise<void>
}

/** A daemon that leaves the queues to others. */
export const NO_WORKERS: Workers = { wake: () => {}, follow: () => {}, stop: async () => {} }

/** Another daemon that has just swept found what this one would find; later work is found a moment later. */
const TURN_MS = 400

/** The sweeps of this daemon, and its workers on the queues: each job works by the services in force at its begin. */
export function startWorkers(
  connection: Store,
  inForce: InForce<JobDeps>,
  silence?: Parameters<typeof watchSilentWorkers>[2],
): Workers {
  const { clock, movement, log } = inForce.value
  const stopping = new AbortController()
  const abandon = new AbortController()
  setMaxListeners(0, stopping.signal, abandon.signal) // One per chunk under way.
  const seats = openSeats(connection, inForce, { stopping: stopping.signal, abandon: abandon.signal })
  const check = async (now: JobDeps, kind: SweepKind) => {
    const isOurs = await now.store.set(now.keys.sweepTurn(kind), 1, 'PX', TURN_MS, 'NX')
    if (isOurs !== 'OK') return now.clock.now() + TURN_MS
    return sweep(now, kind)
  }
  // One that hangs must be seen here: the sweeps of other daemons go on.
  const watched = (kind: SweepKind) => movement.watch(`sweep ${kind}`, () => inForce.run((now) => check(now, kind)))
  const sweeps = startSweeps(watched, clock, log)
  const replace = (queue: string) => {
    if (!stopping.signal.aborted) seats.get(queue)?.replace()
  }
  const watch = watchSilentWorkers(inForce.value, replace, silence)
  return {
    wake: sweeps.wake,
    follow: (services) => seats.get(QUEUE.deliver)?.resize(deliveriesAtATime(services)),
    stop: async (atMostMs) => {
      watch.stop()
      stopping.abort(new Error('stopping'))
      const closed = Promise.all([sweeps.stop(), ...[...seats.values()].map((seat) => seat.close())])
      const waited = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), atMostMs).unref())
      if ((await Promise.race([closed, waited])) !== 'late') return
      log.warn({ code: 'stop.late' }, 'some work did not end in time: it is due again when its claims end')
      // No more waiting: the rest of the stop takes their connections away.
      abandon.abort(new Error('abandoned'))
    },
  }
}

type Work<T> = (services: JobDeps, job: T) => Promise<void>

/** The worker of each queue, and how many jobs at a time. */
function openSeats(connection: Store, inForce: InForce<JobDeps>, stop: StopSignals): ReadonlyMap<string, Seat> {
  const open = <T>(name: string, concurrency: number, work: Work<T>): [string, Seat] => [
    name,
    new Seat(concurrency, (atATime) => openWorker({ name, atATime, connection, inForce }, work)),
  ]
  return new Map([
    open<ChunkJob>(QUEUE.refreshTokens, 8, (now, job) => refreshTokens(now, job, stop.stopping)),
    open<ChunkJob>(QUEUE.pollLimits, 4, (now, job) => pollLimits(now, job, stop.stopping)),
    open<ChunkJob>(QUEUE.uninstall, 2, (now, job) => uninstall(now, job, stop.stopping)),
    open<TendJob>(QUEUE.tendHistory, 1, (now, job) => tendHistory(now, job, stop.stopping)),
    open<DeliverJob>(QUEUE.deliver, deliveriesAtATime(inForce.value), (now, job) => deliver(now, job, stop)),
  ])
}

function openWorker<T>(
  {
    name,
    atATime,
    connection,
    inForce,
  }: { name: string; atATime: number; connection: Store; inForce: InForce<JobDeps> },
  work: Work<T>,
): Worker<T, void> {
  const { keys, movement, log } = inForce.value
  const processor: Processor<T, void> = ({ data }: Job<T, void>) =>
    movement.watch(name, () => inForce.run((now) => work(now, data)))
  const worker = new Worker<T, void>(name, processor, {
    ...{ connection: connection as Redis, prefix: keys.queues, concurrency: atATime },
  })
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

/** The worker on a queue, and how another one is put in its place. */
class Seat {
  #worker: Worker
  readonly #open: (concurrency: number) => Worker

  constructor(concurrency: number, open: (concurrency: number) => Worker) {
    this.#open = open
    this.#worker = open(concurrency)
  }

  resize(concurrency: number): void {
    this.#worker.concurrency = concurrency
  }

  /** The one before may never end: nothing waits for it. */
  replace(): void {
    const before = this.#worker
    this.#worker = this.#open(before.concurrency)
    before.close(true).catch((error: unknown) => before.emit('error', error as Error))
  }

  close(): Promise<void> {
    return this.#worker.close()
  }
}

/** How much a job has to do, and not for whom. */
function deliveriesAtATime({ receivers }: Pick<JobDeps, 'receivers'>): number {
  return PER_RECEIVER * Math.max(1, receivers.size)
}

const CHECK_EVERY_MS = 5_000
/** A connection that was forgotten on the way is given up after 13 s, and its worker goes on by itself. */
const SILENT_MS = 15_000

/**
 * Has a worker replaced that takes no job while jobs wait and it has nothing else to do. After a failover, or when a node of
 * a Cluster comes back, the wait of a BullMQ worker may end silently: it claims to run, reports no error, and
 * takes nothing until it is restarted. What is still left in it is fenced by the locks of its jobs, as a dead worker's is.
 */
function watchSilentWorkers(
  { store, queues, movement, clock, log }: Pick<JobDeps, 'store' | 'queues' | 'movement' | 'clock' | 'log'>,
  replace: (queue: string) => void,
  { everyMs = CHECK_EVERY_MS, silentMs = SILENT_MS } = {},
): { stop(): void } {
  // While Redis is away no worker can take a job: all have their time again from when it answers.
  let since = clock.steady()
  const replacedAt = new Map<string, number>()
  let looking = false
  const check = async () => {
    const waiting = await readWaiting(queues, store, clock.now())
    // Redis answers: a worker that has taken nothing since then is replaced.
    movement.letGo(since)
    const now = clock.steady()
    for (const [queue, ms] of Object.entries(movement.untaken(waiting, since))) {
      if (ms < silentMs || now - (replacedAt.get(queue) ?? Number.NEGATIVE_INFINITY) < silentMs) continue
      replacedAt.set(queue, now)
      log.warn({ code: 'worker.silent', queue, waitedMs: ms }, 'jobs wait and the worker takes none: it is replaced')
      replace(queue)
    }
  }
  const timer = setInterval(() => {
    if (looking) {
      since = clock.steady()
      return
    }
    looking = true
    void check()
      .catch(() => {
        since = clock.steady()
      })
      .finally(() => {
        looking = false
      })
  }, everyMs)
  return { stop: () => clearInterval(timer) }
}
