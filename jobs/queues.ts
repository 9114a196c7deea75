import { Queue } from 'bullmq'
import type { Redis } from 'ioredis'
import { onReady, type Store } from '../src/redis/connect.ts'
import { newOperation } from '../src/redis/steps.ts'
import type { Clock } from '../src/runtime/clock.ts'
import { atInterval } from '../src/runtime/concurrency.ts'
import type { Logger } from '../src/runtime/logger.ts'

/** Kinds of sweeps. */
export const SWEEPS = [
  ...(['refresh-tokens', 'poll-limits', 'uninstall', 'grants', 'alerts'] as const),
  ...(['tend-history', 'coverage', 'heartbeat', 'digests', 'receivers'] as const),
] as const
export type SweepKind = (typeof SWEEPS)[number]

export interface Queues extends Record<keyof typeof QUEUE, Queue> {
  /** Has a worker look for what is due: a job without data, one at a time of each process. */
  look(kind: keyof typeof QUEUE, now: number): Promise<void>
  /**
   * Plans a sweep at a moment, or right away: in this daemon, or those that sweep. Never rejects: what was found is in
   * Redis, and a daemon that was not woken finds it at its next tick.
   */
  wake(kind: SweepKind, at: number): Promise<void>
  /** The same for the clock, which counts what it handed on: rejects where no daemon could be woken. */
  handOn(kind: SweepKind, at: number): Promise<void>
  /**
   * From now on this daemon sweeps. On `hearing`, a connection of its own, it is woken by others; where it may
   * not or can't, it tries again, and its own ticks bring every sweep meanwhile.
   */
  listenForWakes(hearing: Store, look: (kind: SweepKind, at: number) => void): Promise<void>
  close(): Promise<void>
}

/** Names of the queues; a refresh never waits behind a poll because each has its own. */
export const QUEUE = {
  refreshTokens: 'refresh-tokens',
  pollLimits: 'poll-limits',
  uninstall: 'uninstall',
  deliver: 'deliver',
  tendHistory: 'tend-history',
} as const

/** Jobs that wait in their queue once, by their id; a failed one must not keep that id taken. */
const ONCE_OPTIONS = { attempts: 1, removeOnComplete: true, removeOnFail: true }
/** A thousand polls that find work in one slot send one wake-up. */
const SLOT_MS = 250
/** Subscribed anew at an interval: a subscriber gets no answers, so it would not notice a lost connection. */
const LISTEN_EVERY_MS = 5_000

export function createQueues(connection: Store, prefix: string, clock: Clock, log: Logger): Queues {
  // BullMQ wants its own type of connection; a Cluster is one too. Without `skipMetasUpdate` it would write its version
  // at once, into data that may yet turn out to be of a newer one of ours.
  const shared = { connection: connection as Redis, prefix, skipMetasUpdate: true }
  const once = (name: string) => new Queue(name, { ...shared, defaultJobOptions: ONCE_OPTIONS })
  const queues = {
    refreshTokens: once(QUEUE.refreshTokens),
    pollLimits: once(QUEUE.pollLimits),
    uninstall: once(QUEUE.uninstall),
    deliver: once(QUEUE.deliver),
    tendHistory: once(QUEUE.tendHistory),
  }
  // A job of a process that died is held by its worker for a while: that of another is not kept from being taken.
  let jobId = newOperation()
  // A master that takes over may still hold a job that has ended. BullMQ finds it stalled 45 s later: until then its id is taken.
  onReady(connection, () => {
    jobId = newOperation()
  })
  for (const queue of Object.values(queues)) {
    queue.on('error', (error) => log.warn({ code: 'queue.error', queue: queue.name, err: error }, 'queue: no Redis'))
  }
  const { close, ...wakes } = openWakes(connection, `${prefix}:wakes`, clock, log)
  return {
    ...queues,
    ...wakes,
    // BullMQ would note by the clock of this machine since when a job waits.
    look: async (kind, timestamp) => {
      await queues[kind].add(QUEUE[kind], {}, { jobId, timestamp })
    },
    close: async () => {
      close()
      await Promise.all(Object.values(queues).map((queue) => queue.close()))
    },
  }
}

/** How one daemon has the others sweep, and hears of it. */
function openWakes(
  connection: Store,
  channel: string,
  clock: Clock,
  log: Logger,
): Pick<Queues, 'wake' | 'handOn' | 'listenForWakes'> & { close(): void } {
  const announced = new Map<SweepKind, { moment: number; done: Promise<unknown> }>()
  let sweepHere: ((kind: SweepKind, at: number) => void) | undefined
  let endListening = () => {}
  const handOn = async (kind: SweepKind, at: number) => {
    if (sweepHere !== undefined) return sweepHere(kind, at)
    // The end of the slot: a sweep then finds all of it.
    const moment = Math.ceil(Math.max(at, clock.now()) / SLOT_MS) * SLOT_MS
    const before = announced.get(kind)
    const done = before?.moment === moment ? before.done : connection.publish(channel, `${kind} ${moment}`)
    announced.set(kind, { moment, done })
    await done
  }
  const troubles = new Set<string>()
  /** A failure is logged once, until it succeeds again. */
  const tolerate = (work: Promise<unknown>, trouble: string) =>
    work.then(
      () => void troubles.delete(trouble),
      (error: unknown) => {
        if (!troubles.has(trouble)) log.warn({ code: 'redis.error', err: error }, trouble)
        troubles.add(trouble)
      },
    )
  return {
    handOn,
    wake: (kind, at) =>
      tolerate(handOn(kind, at), 'other daemons can not be notified of new work: they find it at their ticks'),
    listenForWakes: async (hearing, sweep) => {
      sweepHere = sweep
      hearing.on('message', (_: string, text: string) => {
        const [name, at] = text.split(' ')
        const kind = SWEEPS.find((known) => known === name)
        if (kind !== undefined && Number(at) >= 0) sweep(kind, Number(at))
      })
      const listen = async () => {
        if (hearing.status === 'end') return
        await tolerate(
          hearing.subscribe(channel),
          'wake-ups of other daemons are not received: their work is found at the ticks',
        )
      }
      endListening = atInterval(listen, LISTEN_EVERY_MS)
      await listen()
    },
    close: () => endListening(),
  }
}
