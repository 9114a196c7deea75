import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { startSweeps } from '../../jobs/planned-sweeps.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { logLines } from '../support/log-lines.ts'

beforeEach(() => {
  vi.useFakeTimers({ now: 0 })
})
afterEach(() => {
  vi.useRealTimers()
})

/** When it looked for alerts; each look takes as long, and ends as it is told. */
function openLooks(takesMs = 0) {
  const begun: number[] = []
  const world = { next: undefined as number | undefined, fails: false }
  const { log, lines } = logLines()
  const look = async (kind: string) => {
    if (kind === 'alerts') begun.push(Date.now())
    if (takesMs > 0) await new Promise((resolve) => setTimeout(resolve, takesMs))
    if (world.fails) throw new Error('a fault')
    return world.next
  }
  // One of its own: the system's may follow the Redis of another file of this worker.
  return { looks: startSweeps(look, createClock(), log), begun, world, lines }
}

test('whoever wakes it when it rests has it look at once, a thousand others together half a second later', async () => {
  const { looks, begun } = openLooks()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toEqual([])
  looks.wake('alerts', 10_000)
  await vi.advanceTimersByTimeAsync(1)
  for (let n = 0; n < 1_000; n++) looks.wake('alerts', Date.now())
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toEqual([10_000, 10_500])
})

test('looks when the look before saw that something would be due, sooner where it is woken, and then not twice', async () => {
  const { looks, begun, world } = openLooks()
  world.next = 20_000
  looks.wake('alerts', 0)
  await vi.advanceTimersByTimeAsync(5_000)
  looks.wake('alerts', 7_000)
  looks.wake('alerts', 9_000)
  await vi.advanceTimersByTimeAsync(14_000)
  expect(begun).toEqual([0, 7_000])
  world.next = undefined
  await vi.advanceTimersByTimeAsync(20_000)
  expect(begun).toEqual([0, 7_000, 20_000])
})

test('never twice at once: what is found during a look is looked at after it', async () => {
  const { looks, begun } = openLooks(3_000)
  looks.wake('alerts', 0)
  await vi.advanceTimersByTimeAsync(1_000)
  looks.wake('alerts', 1_000)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toHaveLength(2)
  expect(begun[1]).toBeGreaterThanOrEqual(3_000)
  expect(begun[1]).toBeLessThanOrEqual(3_500)
})

test('one that fails is told and tried again', async () => {
  const { looks, begun, world, lines } = openLooks()
  world.fails = true
  looks.wake('alerts', 0)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lines()).toMatchObject([{ code: 'sweep.failed', kind: 'alerts' }])
  world.fails = false
  await vi.advanceTimersByTimeAsync(10_000)
  expect(begun).toEqual([0, 2_000])
})

test('what is due by a clock of Redis that was set back an hour is looked at within a minute', async () => {
  const { looks, begun, world } = openLooks()
  world.next = 5_000
  looks.wake('alerts', 0)
  await vi.advanceTimersByTimeAsync(1_000)
  vi.setSystemTime(-3_600_000)
  world.next = undefined
  await vi.advanceTimersByTimeAsync(60_000)
  expect(begun).toHaveLength(2)
})

test('a clock of Redis that was set forward an hour holds up no wake behind what was planned before', async () => {
  const { looks, begun, world } = openLooks()
  world.next = 30_000
  looks.wake('alerts', 0)
  await vi.advanceTimersByTimeAsync(1_000)
  vi.setSystemTime(3_600_000)
  world.next = undefined
  looks.wake('alerts', 3_600_000)
  looks.wake('alerts', 3_660_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(begun).toEqual([0, 3_600_000])
})

test('a stop waits for what is under way, and begins nothing', async () => {
  const { looks, begun } = openLooks(3_000)
  looks.wake('alerts', 0)
  await vi.advanceTimersByTimeAsync(1_000)
  const stopped = vi.fn()
  void looks.stop().then(stopped)
  looks.wake('alerts', 1_000)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(stopped).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(stopped).toHaveBeenCalled()
  expect(begun).toEqual([0])
})
