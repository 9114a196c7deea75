import { expect, test } from 'vitest'
import { ClockWatch } from '../../src/runtime/clock.ts'
import { HandClock } from '../support/hand-clock.ts'

test('a clock that was set, or a machine that slept, is noticed by everybody who asks; a correction is not', () => {
  const clock = new HandClock()
  const watch = new ClockWatch(clock)
  clock.move(60_000)
  expect(watch.clockSteadyForMs()).toBe(Number.POSITIVE_INFINITY)
  for (const jump of [3_600_000, -3_600_000]) {
    clock.set(jump)
    expect([watch.clockSteadyForMs(), watch.clockSteadyForMs()]).toEqual([0, 0])
    clock.move(7_000)
    clock.set(4_000)
    expect([watch.clockSteadyForMs(), watch.clockSteadyForMs()]).toEqual([7_000, 7_000])
    clock.set(-4_000)
  }
})
