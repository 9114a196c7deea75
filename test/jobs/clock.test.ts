import { afterEach, expect, test, vi } from 'vitest'
import { startClock } from '../../jobs/clock.ts'
import { createClock } from '../../src/runtime/clock.ts'
import { logLines } from '../support/log-lines.ts'

const NEVER = '0 0 1 1 *'
const AT_NOON = new Date('2026-11-22T12:00:00Z')

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

/** When the tokens' ticks came. */
function openClock(refreshTokens: string) {
  const ticks: number[] = []
  const tell = async (kind: string, at: number) => {
    if (kind === 'refresh-tokens') ticks.push(at)
  }
  const clock = startClock({ handOn: tell }, { refreshTokens, pollLimits: NEVER }, createClock(), logLines().log)
  return { ticks, clock }
}

test('a tick that fell into a time when nothing could run is handed on as soon as something can', () => {
  vi.useFakeTimers({ now: AT_NOON })
  const { ticks, clock } = openClock('*/10 * * * * *')
  vi.advanceTimersByTime(9_900)
  // For so long the process stands still.
  vi.setSystemTime(AT_NOON.getTime() + 14_000)
  ticks.length = 0
  vi.advanceTimersByTime(1_500)
  expect(ticks).toHaveLength(1)
  clock.stop()
})

test('whoever starts, or follows other times, ticks at once', () => {
  const { ticks, clock } = openClock(NEVER)
  expect(ticks).toHaveLength(1)
  clock.follow({ config: { schedule: { refreshTokens: '30 * * * * *', pollLimits: NEVER } } })
  expect(ticks).toHaveLength(2)
  clock.stop()
})

test('ticks by its expression, those that are hours away too, once each, and by no other once it follows another', () => {
  vi.useFakeTimers({ now: AT_NOON })
  const { ticks, clock } = openClock('0 0 */2 * * *')
  const hours = () => ticks.splice(0).map((at) => (at - AT_NOON.getTime()) / 3_600_000)
  expect(hours()).toEqual([0])
  vi.advanceTimersByTime(4 * 3_600_000)
  expect(hours()).toEqual([2, 4])
  clock.follow({ config: { schedule: { refreshTokens: '0 30 * * * *', pollLimits: NEVER } } })
  vi.advanceTimersByTime(2 * 3_600_000)
  expect(hours()).toEqual([4, 4.5, 5.5])
  clock.stop()
  vi.advanceTimersByTime(2 * 3_600_000)
  expect(hours()).toEqual([])
})

test('a clock that is set back by an hour is silent for a minute at most', () => {
  vi.useFakeTimers({ now: AT_NOON })
  const { ticks, clock } = openClock('*/10 * * * * *')
  vi.setSystemTime(AT_NOON.getTime() - 3_600_000)
  ticks.length = 0
  vi.advanceTimersByTime(60_000)
  expect(ticks.length).toBeGreaterThanOrEqual(5)
  clock.stop()
})

test('a run that is past by the time its delay is computed comes at once: Node warns of negative delays', () => {
  const delays = vi.spyOn(globalThis, 'setTimeout')
  const now = Date.now()
  // The process stood still after the next run was found.
  vi.spyOn(Date, 'now').mockReturnValue(now + 5_000)
  openClock('* * * * * *').clock.stop()
  const given = delays.mock.calls.map(([, ms]) => ms ?? 0)
  expect(given.length).toBeGreaterThan(0)
  expect(given.filter((ms) => ms < 0)).toEqual([])
})
