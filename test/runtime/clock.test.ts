import { expect, onTestFinished, test, vi } from 'vitest'
import { createClock, systemClock } from '../../src/runtime/clock.ts'

const HOUR = 3_600_000

test('a wait ends at once when it is called off, before or meanwhile, without failing', async () => {
  const stop = new AbortController()
  const waiting = systemClock.wait(3_600_000, stop.signal)
  stop.abort(new Error('SIGTERM'))
  await expect(waiting).resolves.toBeUndefined()
  await expect(systemClock.wait(3_600_000, stop.signal)).resolves.toBeUndefined()
})

test('a wait that nobody calls off lasts as long as it was asked to', async () => {
  const before = systemClock.now()
  await systemClock.wait(20)
  expect(systemClock.now() - before).toBeGreaterThanOrEqual(19)
})

test('nothing that lasts is measured by a clock that can be set', () => {
  const passed = systemClock.stopwatch()
  const set = vi.spyOn(Date, 'now').mockReturnValue(Date.now() + HOUR)
  onTestFinished(() => set.mockRestore())
  expect(passed()).toBeLessThan(HOUR)
})

test.each([HOUR, -HOUR])('a machine whose clock is %i ms ahead shows the time of Redis once it is known', (ahead) => {
  const clock = createClock()
  const right = Date.now()
  const set = vi.spyOn(Date, 'now').mockReturnValue(right + ahead)
  onTestFinished(() => set.mockRestore())
  expect(clock.now()).toBe(right + ahead)
  const at = clock.steady()
  clock.follow(right, at - 2, at + 2)
  expect(Math.abs(clock.now() - right)).toBeLessThan(1_000)
  // Set right: nothing jumps.
  set.mockReturnValue(right)
  expect(Math.abs(clock.now() - right)).toBeLessThan(1_000)
})

test('an answer moves the time as far as it must, and one that came late tells nothing', () => {
  const clock = createClock()
  const shown = () => clock.now() - clock.steady()
  clock.follow(1_000_000, 0, 0)
  const known = shown()
  clock.follow(1_000_000 + 3_000, 0, 9_000)
  expect(shown()).toBeCloseTo(known, -1)
  clock.follow(1_000_000 + 3_000, 2_000, 2_500)
  expect(shown() - known).toBeCloseTo(500, -1)
  clock.follow(1_000_000 - HOUR, 2_000, 2_500)
  expect(shown() - known).toBeCloseTo(-HOUR - 2_000, -1)
})
