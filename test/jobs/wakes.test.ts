import { Worker } from 'bullmq'
import type { Redis } from 'ioredis'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { createQueues, type Queues } from '../../jobs/queues.ts'
import { connectRedis, type Store } from '../../src/redis/connect.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { serverOfFile } from '../support/of-file.ts'

const redis = serverOfFile()
let prefixes = 0

const opened: { close(): Promise<void> }[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((queues) => queues.close()))
})

/** A daemon that serves pages, and one that looks. */
async function openTwo() {
  const prefix = `test-${prefixes++}`
  const clock = new HandClock()
  const open = () => {
    const queues = createQueues(redis.connect('queues'), prefix, clock, logLines().log)
    opened.push(queues)
    return queues
  }
  const [web, worker] = [open(), open()]
  const hearing = redis.connect('queues')
  const heard: [string, number][] = []
  await worker.listenForWakes(hearing, (kind, at) => heard.push([kind, at]))
  return { clock, web, worker, hearing, heard }
}

test('what a daemon finds that does not look is looked at by one that does, within a quarter of a second', async () => {
  const { clock, web, hearing, heard } = await openTwo()
  await web.wake('alerts', 0)
  await eventually('the word', async () => heard.length === 1)
  expect(heard[0]?.[0]).toBe('alerts')
  expect(heard[0]?.[1]).toBeGreaterThanOrEqual(clock.now())
  expect(heard[0]?.[1]).toBeLessThanOrEqual(clock.now() + 250)
  hearing.disconnect()
})

test('a job that a failover brought back, though its worker is done with it, keeps no other from being added', async () => {
  const connection = redis.connect('queues')
  const prefix = `test-${prefixes++}`
  const queues = createQueues(connection, prefix, new HandClock(), logLines().log)
  const worker = new Worker(queues.pollLimits.name, null, { connection: redis.connect('queues') as Redis, prefix })
  opened.push(queues, worker)
  await connection.ping()
  await queues.look('pollLimits', 0)
  await worker.getNextJob('of a worker that is gone')
  await queues.look('pollLimits', 0)
  expect(await queues.pollLimits.getJobCounts('active', 'waiting')).toEqual({ active: 1, waiting: 0 })
  await redis.store.call('CLIENT', 'KILL', 'ID', String(await connection.client('ID')))
  await eventually(
    'another job',
    async () => {
      await queues.look('pollLimits', 0)
      return (await queues.pollLimits.getWaitingCount()) > 0
    },
    60_000,
  )
})

test('of a thousand findings of one moment it is told once, after all of them; of another kind or moment again', async () => {
  const { clock, web, hearing, heard } = await openTwo()
  clock.move(250 - (clock.now() % 250) + 1)
  const from = clock.now()
  for (let n = 0; n < 1_000; n++) await web.wake('alerts', clock.now())
  clock.move(248)
  await web.wake('alerts', clock.now())
  await web.wake('poll-limits', clock.now() + 60_001)
  await eventually('both', async () => heard.some(([kind]) => kind === 'poll-limits'))
  expect(heard).toEqual([
    ['alerts', from + 249],
    ['poll-limits', from + 248 + 60_001],
  ])
  clock.move(1)
  await web.wake('alerts', clock.now() + 1)
  await eventually('the next', async () => heard.length === 3)
  hearing.disconnect()
})

test('what a daemon finds that looks itself goes over no wire, and no stranger’s word is taken for one', async () => {
  const { worker, web, hearing, heard } = await openTwo()
  await worker.wake('receivers', 0)
  expect(heard.map(([kind]) => kind)).toEqual(['receivers'])
  await web.wake('no-such-kind' as never, 0)
  await web.wake('uninstall', 0)
  await eventually('the word', async () => heard.length > 1)
  expect(heard.map(([kind]) => kind)).toEqual(['receivers', 'uninstall'])
  hearing.disconnect()
})

/** As a Redis user that has all keys and commands, and no channel. */
async function openDeaf(name: string): Promise<{ store: Store; allow(): Promise<unknown> }> {
  const admin = redis.connect('pages')
  await admin.acl('SETUSER', name, 'on', '>pw', '~*', '+@all', 'resetchannels')
  const url = new Secret(`redis://${name}:pw@127.0.0.1:${redis.port}`)
  const store = connectRedis({ kind: 'url', url }, 'queues', () => {})
  onTestFinished(() => store.disconnect())
  return { store, allow: () => admin.acl('SETUSER', name, '&*') }
}

test('who may tell nobody goes on all the same, and says so once; only the clock is told that nobody was', async () => {
  const { store } = await openDeaf('mute')
  const { log, lines } = logLines()
  const queues = createQueues(store, 'test-mute', new HandClock(), log)
  opened.push(queues)
  await queues.wake('alerts', 0)
  await queues.wake('poll-limits', 0)
  await Promise.all([queues.wake('receivers', 0), queues.wake('receivers', 0)])
  expect(lines()).toMatchObject([{ code: 'redis.error', err: { message: expect.stringContaining('NOPERM') } }])
  await expect(queues.handOn('alerts', 0)).rejects.toThrow('NOPERM')
})

test('who may hear nothing asks again until it may, and says so once', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  onTestFinished(() => void vi.useRealTimers())
  const { store, allow } = await openDeaf('deaf')
  const { log, lines } = logLines()
  const clock = new HandClock()
  const [web, worker] = [0, 1].map(() => createQueues(redis.connect('queues'), 'test-deaf', clock, log)) as [
    Queues,
    Queues,
  ]
  opened.push(web, worker)
  const heard: string[] = []
  await worker.listenForWakes(store, (kind) => heard.push(kind))
  const asked = vi.spyOn(store, 'subscribe')
  await vi.advanceTimersByTimeAsync(5_000)
  await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(1))
  await asked.mock.results[0]?.value.catch(() => undefined)
  expect(lines()).toMatchObject([{ code: 'redis.error', err: { message: expect.stringContaining('NOPERM') } }])
  await allow()
  await eventually('its ear', async () => {
    await vi.advanceTimersByTimeAsync(5_000)
    clock.move(250)
    await web.wake('alerts', 0)
    return heard.includes('alerts')
  })
})
