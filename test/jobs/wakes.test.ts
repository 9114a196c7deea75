import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createQueues, type Queues } from '../../jobs/queues.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'

let redis: TestRedis
let prefixes = 0
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

const opened: Queues[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((queues) => queues.close()))
})

/** A daemon that serves pages, and one that looks, whose clock is ten seconds behind. */
async function openTwo() {
  const prefix = `test-${prefixes++}`
  const [clock, behind] = [new HandClock(), new HandClock()]
  behind.move(-10_000)
  const open = (by: HandClock) => {
    const queues = createQueues(redis.store('queues'), prefix, by, logLines().log)
    opened.push(queues)
    return queues
  }
  const [web, worker] = [open(clock), open(behind)]
  const hearing = redis.store('queues')
  const heard: [string, number][] = []
  await worker.hearWakes(hearing, (kind, at) => heard.push([kind, at - behind.now()]))
  return { clock, web, worker, hearing, heard }
}

test('what a daemon finds that does not look is looked at by one that does, within a quarter of a second', async () => {
  const { web, hearing, heard } = await openTwo()
  await web.wake('alerts', 0)
  await eventually('the word', async () => heard.length === 1)
  expect(heard[0]?.[0]).toBe('alerts')
  expect(heard[0]?.[1]).toBeGreaterThanOrEqual(0)
  expect(heard[0]?.[1]).toBeLessThanOrEqual(250)
  hearing.disconnect()
})

test('of a thousand findings of one moment it is told once, after all of them; of another kind or moment again', async () => {
  const { clock, web, hearing, heard } = await openTwo()
  clock.move(250 - (clock.now() % 250) + 1)
  for (let n = 0; n < 1_000; n++) await web.wake('alerts', clock.now())
  clock.move(248)
  await web.wake('alerts', clock.now())
  await web.wake('poll-limits', clock.now() + 60_001)
  await eventually('both', async () => heard.some(([kind]) => kind === 'poll-limits'))
  expect(heard).toEqual([
    ['alerts', 249],
    ['poll-limits', 60_001],
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
