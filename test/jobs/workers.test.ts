import { Worker } from 'bullmq'
import { expect, onTestFinished, test, vi } from 'vitest'
import { createQueues } from '../../jobs/queues.ts'
import { startWorkers } from '../../jobs/workers.ts'
import { judgeHealth } from '../../src/checks/health-report.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InForce } from '../../src/runtime/concurrency.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

async function workersOf(prefix: string, more = {}) {
  const { log } = logLines()
  const keys = createKeys(prefix)
  const store = redis.connect('steps')
  const queues = createQueues(redis.connect('queues'), keys.queues, systemClock, log)
  const done: number[] = []
  const deps = {
    store,
    keys,
    queues,
    clock: systemClock,
    movement: new Movement(systemClock),
    receivers: new Map(),
    log,
    due: {
      claim: async () => {
        done.push(1)
        return []
      },
    },
    ...more,
  }
  const connection = redis.connect('queues')
  const inForce = new InForce(deps)
  const workers = startWorkers(connection, inForce as never)
  onTestFinished(() => workers.stop(1_000).then(queues.close))
  return { queues, done, workers, deps, inForce }
}

test('a job takes up what is due for as long as one is slow, is well meanwhile, and ends for another config', async () => {
  const clock = new HandClock()
  const movement = new Movement(clock)
  const slow = Promise.withResolvers<never>()
  let claims = 0
  const due = { claim: async () => (claims++ === 0 ? [{ hubId: 1, claim: 1 }] : []), move: async () => {} }
  const reading: object = {
    hgetallBuffer: () => reading,
    hmget: () => reading,
    hget: () => reading,
    exec: () => slow.promise,
  }
  const store = Object.assign(redis.connect('steps'), { multi: () => reading })
  const more = { movement, due, store, callMs: 1, putAside: async () => {} }
  const { queues, inForce, deps } = await workersOf('goes-on', more)
  await queues.uninstall.add('uninstall', {})
  await eventually('one is under way, and others are looked for', async () => claims > 2)
  clock.move(120_001)
  const before = claims
  await eventually('others are looked for', async () => claims > before)
  expect(movement.standstills()).toEqual({ uninstall: 0 })
  const ended = inForce.replace({ ...deps })
  const claimed = claims
  slow.reject(new Error('over'))
  await ended
  expect(claims).toBe(claimed)
})

test('workers that Redis refuses wait between their tries, and work again once they are let', async () => {
  const refused = vi.spyOn(Worker.prototype as unknown as { _getNextJob(): Promise<unknown> }, '_getNextJob')
  onTestFinished(() => refused.mockRestore())
  const begun = performance.now()
  const reply = Object.assign(new Error('OOM command not allowed'), { name: 'ReplyError' })
  refused.mockImplementation(() => Promise.reject(reply))
  const { queues, done } = await workersOf('refused')
  // Five workers: the third try of one comes two rests after its first.
  await eventually('several tries of each', async () => refused.mock.calls.length >= 15)
  expect(performance.now() - begun).toBeGreaterThan(1_500)
  refused.mockRestore()
  await queues.tendHistory.add('tend-history', {})
  await eventually('the job', async () => done.length > 0)
})

test('a look that hangs makes the process unhealthy that has it in hand, whatever other daemons look at', async () => {
  const clock = new HandClock()
  const movement = new Movement(clock)
  const { promise: hangs, resolve: letGo } = Promise.withResolvers<[]>()
  const planned = vi.fn(() => hangs)
  const store = Object.assign(redis.connect('steps'), { zrange: planned })
  const { workers } = await workersOf('hanging', { movement, store, digests: new Map() })
  onTestFinished(() => letGo([]))
  workers.wake('digests', systemClock.now())
  await eventually('the look', async () => planned.mock.calls.length > 0)
  const unwell = () =>
    judgeHealth({
      now: clock.now(),
      startedAt: 0,
      redisOk: true,
      lastSweeps: {},
      expected: {},
      standstills: movement.standstills(),
      oldest: movement.oldest(),
    }).findings.flatMap(({ name, level }) => (level === 'ok' ? [] : [name]))
  expect(unwell()).toEqual([])
  clock.move(150_000)
  expect(unwell()).toEqual([])
  clock.move(1)
  expect(unwell()).toEqual(['oldest:sweep digests'])
})
