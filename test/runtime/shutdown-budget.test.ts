import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { ShutdownBudget } from '../../src/runtime/shutdown-budget.ts'
import { HandClock } from '../support/hand-clock.ts'

describe('the budget of several steps', () => {
  test('is one: what a step has used up the next ones lack', () => {
    const clock = new HandClock()
    const budget = new ShutdownBudget(clock, 9_000)
    clock.move(60_000) // It runs from the first question on.
    expect(budget.of(8_000)).toBe(8_000)
    clock.move(7_500)
    expect(budget.of(500)).toBe(500)
    expect(budget.of(5_000)).toBe(1_500)
    clock.move(1_600)
    expect(budget.of(5_000)).toBe(0)
  })

  test('ends a wait for work that hangs', async () => {
    const clock = new HandClock()
    const waited = new ShutdownBudget(clock, 9_000).wait(500, new Promise(() => {}))
    await clock.sleeper()
    clock.move(500)
    await waited
  })

  test('leaves no timer behind when the work ends in time, or fails', async () => {
    const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    const before = timers()
    const budget = new ShutdownBudget(systemClock, 60_000)
    await budget.wait(60_000, Promise.resolve())
    await expect(budget.wait(60_000, Promise.reject(new Error('no Redis')))).rejects.toThrow('no Redis')
    expect(timers()).toBe(before)
  })
})
