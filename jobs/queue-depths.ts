import type { Commands, Store } from '../src/redis/connect.ts'
import type { QueueDepth } from '../src/views/fleet-health.ts'
import { QUEUE, type Queues } from './queues.ts'

type EachQueue = Pick<Queues, keyof typeof QUEUE>

/**
 * Every queue's, in two round trips at any length: how many, and the time of the oldest; no job's data. A job that has a worker look for
 * what is due waits for nothing while another one does.
 */
export async function readQueueDepths(queues: EachQueue, store: Store): Promise<QueueDepth[]> {
  const depths = await readDepths(queues, store)
  return depths.map((depth) => (depth.active > 0 ? { ...depth, oldestWaitingAt: null } : depth))
}

async function readDepths(queues: EachQueue, store: Store): Promise<QueueDepth[]> {
  const all = Object.keys(QUEUE).map((name) => queues[name as keyof typeof QUEUE])
  const counted = await inOneTrip(store, (commands) => {
    for (const queue of all) {
      commands.llen(queue.toKey('wait')).llen(queue.toKey('active'))
      commands.zcard(queue.toKey('delayed')).zcard(queue.toKey('failed'))
      // Jobs come in at the head and are taken from the tail.
      commands.lindex(queue.toKey('wait'), -1)
    }
  })
  const oldest = all.map((_, n) => counted[n * 5 + 4] as string | null)
  const times = await inOneTrip(store, (commands) => {
    for (const [n, queue] of all.entries()) commands.hget(queue.toKey(oldest[n] ?? ''), 'timestamp')
  })
  return all.map((queue, n) => {
    const [waiting = 0, active = 0, delayed = 0, failed = 0] = counted.slice(n * 5, n * 5 + 4).map(Number)
    const oldestWaitingAt = times[n] === null ? null : Number(times[n])
    return { queue: queue.name, waiting, active, delayed, failed, oldestWaitingAt }
  })
}

/** Since when the oldest job of each queue waits, whether another one is at work or not; null: none. */
export async function readWaiting(queues: EachQueue, store: Store, now: number) {
  const depths = await readDepths(queues, store)
  return depths.map(({ queue, oldestWaitingAt: at }) => ({
    queue,
    oldestWaitingAt: at !== null && at <= now ? at : null,
  }))
}

async function inOneTrip(store: Store, add: (commands: Commands) => void): Promise<unknown[]> {
  const commands = store.pipeline()
  add(commands)
  const answers = (await commands.exec()) ?? []
  return answers.map(([error, value]) => {
    if (error !== null) throw error
    return value
  })
}
