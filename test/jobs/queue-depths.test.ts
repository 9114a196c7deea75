import { afterEach, expect, test } from 'vitest'
import { readQueueDepths, readWaiting } from '../../jobs/queue-depths.ts'
import { createQueues, type Queues } from '../../jobs/queues.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const opened: Queues[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((queues) => queues.close()))
})

function openQueues(): Queues {
  const queues = createQueues(redis.store, redis.freshKeys().queues, new HandClock(), logLines().log)
  opened.push(queues)
  return queues
}

async function depthOf(queues: Queues, name: string) {
  return (await readQueueDepths(queues, redis.store)).find(({ queue }) => queue === name)
}

test('every queue is there, also one that nothing was ever put into', async () => {
  const depths = await readQueueDepths(openQueues(), redis.store)
  expect(depths.map(({ queue }) => queue).sort()).toEqual([
    'deliver',
    'poll-limits',
    'refresh-tokens',
    'tend-history',
    'uninstall',
  ])
  for (const depth of depths) {
    expect(depth).toMatchObject({ waiting: 0, active: 0, delayed: 0, failed: 0, oldestWaitingAt: null })
  }
})

test('counts what waits and what is planned, and tells the time of the job that is next', async () => {
  const queues = openQueues()
  await queues.pollLimits.addBulk(
    [3_000, 1_000, 2_000].map((timestamp) => ({ name: 'poll', data: { hubIds: [1] }, opts: { timestamp } })),
  )
  await queues.pollLimits.add('poll', { hubIds: [2] }, { delay: 60_000 })
  expect(await depthOf(queues, 'poll-limits')).toEqual({
    queue: 'poll-limits',
    waiting: 3,
    active: 0,
    delayed: 1,
    failed: 0,
    // The first to come is the first to go, whatever its clock said.
    oldestWaitingAt: 3_000,
  })
  expect(await depthOf(queues, 'refresh-tokens')).toMatchObject({ waiting: 0, delayed: 0 })
})

test('a job that has a worker look for what is due waits for nothing while another worker does', async () => {
  const queues = openQueues()
  await queues.pollLimits.add('any', {}, { timestamp: 1_000 })
  await redis.store.lpush(queues.pollLimits.toKey('active'), 'another')
  expect(await depthOf(queues, 'poll-limits')).toMatchObject({ waiting: 1, active: 1, oldestWaitingAt: null })
  const waiting = await readWaiting(queues, redis.store, 2_000)
  expect(waiting).toContainEqual({ queue: 'poll-limits', oldestWaitingAt: 1_000 })
})

test('asks Redis twice, however many queues there are, and for nobody’s data', async () => {
  const queues = openQueues()
  await queues.uninstall.add('uninstall', { hubIds: [1] })
  const before = await commandsRun()
  await readQueueDepths(queues, redis.store)
  const ran = await commandsRun()
  expect(ran.hgetall ?? 0).toBe(before.hgetall ?? 0)
  expect((ran.llen ?? 0) - (before.llen ?? 0)).toBe(10)
})

/** How often Redis ran each command. */
async function commandsRun(): Promise<Record<string, number>> {
  const text = await redis.store.info('commandstats')
  return Object.fromEntries(
    [...text.matchAll(/cmdstat_(\w+):calls=(\d+)/g)].map(([, name, calls]) => [name, Number(calls)]),
  )
}
