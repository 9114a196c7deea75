import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { atInterval } from '../../src/runtime/interval.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('it is done again and again, also after it failed, until it is stopped', async () => {
  const work = vi.fn(() => Promise.reject(new Error('no Redis')))
  const stop = atInterval(work, 1_000)
  await vi.advanceTimersByTimeAsync(3_000)
  expect(work).toHaveBeenCalledTimes(3)
  stop()
  await vi.advanceTimersByTimeAsync(3_000)
  expect(work).toHaveBeenCalledTimes(3)
})

test('where it takes long it is never under way twice', async () => {
  const done = Promise.withResolvers<void>()
  const work = vi.fn(() => done.promise)
  const stop = atInterval(work, 1_000)
  await vi.advanceTimersByTimeAsync(5_000)
  expect(work).toHaveBeenCalledTimes(1)
  done.resolve()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(work).toHaveBeenCalledTimes(2)
  stop()
})
