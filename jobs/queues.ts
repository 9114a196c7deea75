import { randomUUID } from 'node:crypto'
import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import type { Store } from '../src/redis/connect.ts'
import type { Clock } from '../src/runtime/clock.ts'
import type { Logger } from '../src/runtime/logger.ts'
import type { JobTelemetry } from './job-telemetry.ts'

/** What a sweep looks for. */
export type SweepKind =
  | 'refresh-tokens'
  | 'poll-limits'
  | 'uninstall'
  | 'grants'
  | 'alerts'
  | 'tend-history'
  | 'coverage'
  | 'heartbeat'
  | 'digests'
  | 'receivers'

/** Jobs carry ids only: whoever may look into a queue sees no token and no customer's data. */
export interface SweepJob {
  kind: SweepKind
  /** When the clock ticks next, ms: what is due before that gets a sweep of its own. */
  until: number
  /** It was planned by the sweep before it, because something would be due. */
  chained: boolean
  /** Its job, in case that sweep had not come to its end. */
  spare?: string
}

export interface ChunkJob {
  hubIds: number[]
}

export interface TendJob {
  partitions: number[]
}

export interface DeliverJob {
  deliveryId: string
}

export interface Queues {
  sweep: Queue<SweepJob>
  refreshTokens: Queue<ChunkJob>
  pollLimits: Queue<ChunkJob>
  uninstall: Queue<ChunkJob>
  deliver: Queue<DeliverJob>
  tendHistory: Queue<TendJob>
  /** The clock's own: a tick at a moment, handed on by several daemons, is one sweep. Nothing that was woken stands in for it. */
  tick(kind: SweepKind, at: number, until?: number): Promise<void>
  /** Adds a sweep at a moment, or right away. Adding it twice, from here or another machine, adds one. */
  wake(kind: SweepKind, at: number, until?: number, link?: { spare: string | undefined }): Promise<void>
  /** A sweep at once, whatever was handed on before. */
  look(kind: SweepKind, until?: number): Promise<void>
  /** A sweep that shares its moment with no other, so that it can be taken back. Returns its id. */
  planSpare(kind: SweepKind, at: number, until: number): Promise<string>
  takeBack(spare: string): Promise<void>
  close(): Promise<void>
}

/** Names of the queues; a refresh never waits behind a poll because each has its own. */
export const QUEUE = {
  sweep: 'sweep',
  refreshTokens: 'refresh-tokens',
  pollLimits: 'poll-limits',
  uninstall: 'uninstall',
  deliver: 'deliver',
  tendHistory: 'tend-history',
} as const

/** A failed chunk is not tried again: what it had claimed is due again by itself. */
const CHUNK_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: { count: 100 } }
/** A delivery waits in its queue once, by its id; a failed one must not keep that id taken. */
const DELIVER_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true }
/** Finished sweeps are remembered for a moment, so that the tick of a second daemon finds its slot taken. */
const SWEEP_OPTIONS = { attempts: 1, removeOnComplete: { count: 40 }, removeOnFail: { count: 100 } }
/** Half a second, because a token that lives for 15 has three left when it must be refreshed, and a worker may be killed over it. */
const SLOT_MS = 500
/** How far ahead a sweep is planned that nobody gave a tick for. */
const HORIZON_MS = 60_000

/** When what is due at `at` gets its sweep. */
export function sweepMoment(at: number): number {
  return Math.ceil(at / SLOT_MS) * SLOT_MS
}

export function createQueues(
  connection: Store,
  prefix: string,
  clock: Clock,
  log: Logger,
  telemetry?: JobTelemetry,
): Queues {
  // BullMQ asks for its own idea of a connection; a Cluster is one too.
  // It would write of its version at once, into data that may yet turn out to be of a newer one of ours.
  const own = { connection: connection as Redis, prefix, skipMetasUpdate: true }
  const shared = { ...own, ...(telemetry === undefined ? {} : { telemetry }) }
  const sweep = new Queue<SweepJob>(QUEUE.sweep, { ...shared, defaultJobOptions: SWEEP_OPTIONS })
  const chunks = (name: string) => new Queue<ChunkJob>(name, { ...shared, defaultJobOptions: CHUNK_OPTIONS })
  const queues = {
    sweep,
    refreshTokens: chunks(QUEUE.refreshTokens),
    pollLimits: chunks(QUEUE.pollLimits),
    uninstall: chunks(QUEUE.uninstall),
    deliver: new Queue<DeliverJob>(QUEUE.deliver, { ...shared, defaultJobOptions: DELIVER_OPTIONS }),
    tendHistory: new Queue<TendJob>(QUEUE.tendHistory, { ...shared, defaultJobOptions: CHUNK_OPTIONS }),
  }
  for (const queue of Object.values(queues)) {
    queue.on('error', (error) => log.warn({ code: 'queue.error', queue: queue.name, err: error }, 'queue: no Redis'))
  }
  const woken = new Map<SweepKind, number>()
  return {
    ...queues,
    tick: async (kind, at, until = clock.now() + HORIZON_MS) => {
      await sweep.add(kind, { kind, until, chained: false }, { jobId: `${kind}-tick-${Math.floor(at / SLOT_MS)}` })
    },
    wake: async (kind, at, until = clock.now() + HORIZON_MS, link) => {
      const now = clock.now()
      // Whatever is due within one slot shares its sweep.
      const moment = sweepMoment(Math.max(at, now))
      const slot = moment / SLOT_MS
      // A thousand polls that find something in one slot need not ask a thousand times.
      if (woken.get(kind) === slot) return
      woken.set(kind, slot)
      const delay = moment - now
      const spare = link?.spare === undefined ? {} : { spare: link.spare }
      const job = { kind, until, chained: link !== undefined, ...spare }
      await sweep.add(kind, job, { jobId: `${kind}-${slot}`, delay })
    },
    look: async (kind, until = clock.now() + HORIZON_MS) => {
      await sweep.add(kind, { kind, until, chained: false }, { jobId: `${kind}-look-${randomUUID()}` })
    },
    planSpare: async (kind, at, until) => {
      const jobId = `${kind}-spare-${randomUUID()}`
      const delay = Math.max(0, at - clock.now())
      await sweep.add(kind, { kind, until, chained: false }, { jobId, delay })
      return jobId
    },
    takeBack: async (spare) => {
      await sweep.remove(spare)
    },
    close: async () => {
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
    },
  }
}
