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
    for (const [n, queue] of all.entries()) commands.hmget(queue.toKey(oldest[n] ?? ''), 'timestamp', 'opts')
  })
  return all.map((queue, n) => {
    const [waiting = 0, active = 0, delayed = 0, failed = 0] = counted.slice(n * 5, n * 5 + 4).map(Number)
    const [timestamp = null, options = null] = times[n] as (string | null)[]
    return { queue: queue.name, waiting, active, delayed, failed, oldestWaitingAt: waitingSince(timestamp, options) }
  })
}

/** Since when the oldest job of each queue waits, also one whose moment has come and whom no worker has taken up yet; null: none. */
export async function readWaiting(queues: EachQueue, store: Store, now: number) {
  const depths = await readDepths(queues, store)
  const all = Object.keys(QUEUE).map((name) => queues[name as keyof typeof QUEUE])
  const planned = await inOneTrip(store, (commands) => {
    for (const queue of all) commands.zrange(queue.toKey('delayed'), '0', '0', 'WITHSCORES')
  })
  return depths.map(({ queue, oldestWaitingAt }, n) => {
    const [, score] = planned[n] as string[]
    // BullMQ's score of a moment, whose lower 12 bits keep the order within it.
    const plannedAt = score === undefined ? Number.POSITIVE_INFINITY : Math.floor(Number(score) / 0x1000)
    const oldest = Math.min(oldestWaitingAt ?? Number.POSITIVE_INFINITY, plannedAt)
    return { queue, oldestWaitingAt: oldest <= now ? oldest : null }
  })
}

/** A job that was planned for later waits since then, not since it was planned. */
function waitingSince(timestamp: string | null, options: string | null): number | null {
  if (timestamp === null) return null
  const { delay } = JSON.parse(options ?? '{}') as { delay?: unknown }
  return Number(timestamp) + (typeof delay === 'number' ? delay : 0)
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
