import { afterEach, expect, test } from 'vitest'
import { createQueues, type Queues } from '../../jobs/queues.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { useRedis } from '../support/test-store.ts'

const redis = useRedis()
const opened: Queues[] = []

afterEach(async () => {
  await Promise.all(opened.splice(0).map((queues) => queues.close()))
})

/** Two daemons of one installation. */
function openTwo(clock: HandClock): [Queues, Queues] {
  const prefix = redis.freshKeys().queues
  const open = () => createQueues(redis.store, prefix, clock, logLines().log)
  const two: [Queues, Queues] = [open(), open()]
  opened.push(...two)
  return two
}

const SECOND = 1_000

test('a tick that two daemons hand on is one sweep, however late one of them is', async () => {
  const clock = new HandClock()
  const [one, other] = openTwo(clock)
  const at = Math.ceil(clock.now() / SECOND) * SECOND
  clock.move(at - clock.now())
  await one.tick('refresh-tokens', at, at + SECOND)
  clock.move(SECOND / 2 + 100)
  await other.tick('refresh-tokens', at, at + SECOND)
  const jobs = await one.sweep.getJobs(['waiting', 'delayed'])
  expect(jobs.map(({ data }) => data)).toEqual([{ kind: 'refresh-tokens', until: at + SECOND, chained: false }])
})

test('a tick begins its sweep at once, and none that was woken for its moment stands in for it', async () => {
  const clock = new HandClock()
  const [queues] = openTwo(clock)
  const at = Math.ceil(clock.now() / SECOND) * SECOND
  clock.move(at - clock.now() - 1)
  // The chain before it, which knows of no later tick than this one.
  await queues.wake('refresh-tokens', at, at, { spare: undefined })
  clock.move(1)
  await queues.tick('refresh-tokens', at, at + SECOND)
  clock.move(3)
  await queues.tick('poll-limits', at, at + SECOND)
  const waiting = await queues.sweep.getJobs(['waiting'])
  expect(waiting.map(({ data: { kind, until } }) => [kind, until]).sort()).toEqual([
    ['poll-limits', at + SECOND],
    ['refresh-tokens', at + SECOND],
  ])
})

test('a look of its own is not taken for the tick of the same moment', async () => {
  const clock = new HandClock()
  const [queues] = openTwo(clock)
  const at = Math.ceil(clock.now() / SECOND) * SECOND
  clock.move(at - clock.now())
  await queues.tick('refresh-tokens', at, at + SECOND)
  await queues.look('refresh-tokens', at + 30 * SECOND)
  const jobs = await queues.sweep.getJobs(['waiting'])
  expect(jobs.map(({ data }) => data.until).sort()).toEqual([at + SECOND, at + 30 * SECOND])
})
