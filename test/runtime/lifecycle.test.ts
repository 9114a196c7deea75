import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle, ShutdownBudget } from '../../src/runtime/lifecycle.ts'
import { HandClock } from '../support/hand-clock.ts'

describe('a lifecycle', () => {
  test('closes backwards, each step after the one before has ended', async () => {
    const closed: string[] = []
    const lifecycle = new Lifecycle()
    for (const name of ['store', 'workers', 'clock']) {
      lifecycle.onClose(name, async () => {
        closed.push(`${name} begins`)
        await Promise.resolve()
        closed.push(`${name} ends`)
      })
    }
    await lifecycle.close()
    expect(closed).toEqual([
      'clock begins',
      'clock ends',
      'workers begins',
      'workers ends',
      'store begins',
      'store ends',
    ])
  })

  test('runs every step although others fail, and reports all that failed, each with its cause', async () => {
    const closed: string[] = []
    const broken = new Error('socket hung up')
    const lifecycle = new Lifecycle()
    lifecycle.onClose('the store', () => void closed.push('store'))
    lifecycle.onClose('the workers', () => Promise.reject(broken))
    lifecycle.onClose('the page', () => void closed.push('page'))
    lifecycle.onClose('the clock', () => {
      throw new Error('no such task')
    })
    const failure = (await lifecycle.close().catch((error: unknown) => error)) as AggregateError
    expect(closed).toEqual(['page', 'store'])
    expect(failure).toBeInstanceOf(AggregateError)
    expect(failure.message).toBe('could not close the clock; could not close the workers')
    expect(failure.errors[1].cause).toBe(broken)
  })

  test('closes once, however often it is asked and whatever came of it', async () => {
    let times = 0
    const lifecycle = new Lifecycle()
    lifecycle.onClose('it', () => {
      times++
      throw new Error('no')
    })
    const both = await Promise.allSettled([lifecycle.close(), lifecycle.close()])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(times).toBe(1)
  })

  test('without steps closes', async () => {
    await expect(new Lifecycle().close()).resolves.toBeUndefined()
  })

  test('closes what is registered while it closes', async () => {
    const closed: string[] = []
    const lifecycle = new Lifecycle()
    lifecycle.onClose('the first', () => lifecycle.onClose('the late one', () => void closed.push('late')))
    await lifecycle.close()
    expect(closed).toEqual(['late'])
  })

  test('does not hurry the rest for what is registered while a step is closing', async () => {
    const closed: string[] = []
    const lifecycle = new Lifecycle()
    const workers = Promise.withResolvers<void>()
    lifecycle.onClose('the store', () => void closed.push('store'))
    lifecycle.onClose('the workers', () => workers.promise.then(() => void closed.push('workers')))
    const closing = lifecycle.close()
    lifecycle.onClose('the clock', () => void closed.push('clock'))
    await new Promise((resolve) => setImmediate(resolve))
    expect(closed).not.toContain('store')
    workers.resolve()
    await closing
    await lifecycle.close()
    expect(closed.filter((name) => name !== 'clock')).toEqual(['workers', 'store'])
    expect(closed).toContain('clock')
  })

  test('reports also what could not be closed late, to whoever asks it to close', async () => {
    const lifecycle = new Lifecycle()
    await lifecycle.close()
    lifecycle.onClose('the page', () => Promise.reject(new Error('no')))
    await expect(lifecycle.close()).rejects.toThrow('could not close the page')
  })

  test('closes at once what is registered after it has closed', async () => {
    const closed: string[] = []
    const lifecycle = new Lifecycle()
    await lifecycle.close()
    lifecycle.onClose('the embedded Redis', () => void closed.push('redis'))
    await Promise.resolve()
    expect(closed).toEqual(['redis'])
  })
})

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
