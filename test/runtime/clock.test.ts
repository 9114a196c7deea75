import { expect, onTestFinished, test, vi } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'

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

test('a stopwatch goes on where the clock is set back, and does not trust one that stood still while the machine slept', () => {
  const passed = systemClock.stopwatch()
  const before = Date.now()
  const set = vi.spyOn(Date, 'now')
  onTestFinished(() => set.mockRestore())
  set.mockReturnValue(before - 3_600_000)
  expect(passed()).toBeGreaterThan(0)
  set.mockReturnValue(before + 3_600_000)
  expect(passed()).toBeGreaterThanOrEqual(3_600_000)
})
