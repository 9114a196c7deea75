import { expect, test } from 'vitest'
import { workOff } from '../../jobs/work-off.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'

const MANY = Array.from({ length: 100 }, (_, n) => 1_000 + n)

/** Accounts that are due, and work on them that ends when the test says so. */
function fleet(hubIds: readonly number[], clock = systemClock, goesOn = () => true) {
  const due = [...hubIds]
  const begun: number[] = []
  const asked: number[] = []
  const failed: number[] = []
  const ends = new Map<number, PromiseWithResolvers<void>>()
  const stop = new AbortController()
  const run = (work?: (hubId: number) => Promise<unknown>) =>
    workOff({ clock, goesOn }, stop.signal, {
      atOnce: 20,
      claim: async (most) => {
        asked.push(most)
        return due.splice(0, most)
      },
      work: (hubId) => {
        begun.push(hubId)
        ends.set(hubId, Promise.withResolvers())
        return work?.(hubId) ?? (ends.get(hubId) as PromiseWithResolvers<void>).promise
      },
      failed: async (hubId) => void failed.push(hubId),
    })
  const end = (some = [...ends.keys()]) => {
    for (const hubId of some) ends.get(hubId)?.resolve()
    for (const hubId of some) ends.delete(hubId)
  }
  return { due, begun, asked, failed, stop, run, end }
}

test('each account that is due is worked on once, as many at a time as there are places, and no more are claimed than places are free', async () => {
  const { run, begun, asked, end } = fleet(MANY)
  const working = run()
  await eventually('some are under way', async () => begun.length === 20)
  expect(asked).toEqual([20])
  end(MANY.slice(0, 3))
  await eventually('the next ones', async () => begun.length === 23)
  expect(asked.at(-1)).toBe(3)
  const ending = setInterval(() => end(), 1)
  await working
  clearInterval(ending)
  expect(begun).toEqual(MANY)
})

test('one that fails stops no other', async () => {
  const { run, begun, failed } = fleet(MANY)
  await run(async (hubId) => {
    if (hubId === 1_003) throw new Error('a bug')
  })
  expect([begun, failed]).toEqual([MANY, [1_003]])
})

test('one that hangs keeps no other waiting that comes due meanwhile, however long it hangs', async () => {
  const clock = new HandClock()
  const { run, due, begun, end } = fleet([1], clock)
  const working = run()
  await eventually('the first is under way', async () => begun.length === 1)
  clock.move(60_000)
  await new Promise(setImmediate)
  due.push(2)
  clock.move(1_000)
  await eventually('the second one', async () => begun.length === 2)
  end()
  await working
})

test('after the signal to stop, or once another config is in force, nothing is begun, and what is under way is waited for', async () => {
  for (const is of ['stopped', 'over'] as const) {
    let isInForce = true
    const { run, begun, stop, end } = fleet(MANY, systemClock, () => isInForce)
    let isDone = false
    const working = run().finally(() => {
      isDone = true
    })
    await eventually('some are under way', async () => begun.length === 20)
    if (is === 'stopped') stop.abort()
    else isInForce = false
    end(MANY.slice(0, 19))
    await new Promise(setImmediate)
    expect(isDone).toBe(false)
    end()
    await working
    expect(begun).toHaveLength(20)
  }
})

test('a claim that is refused ends it once what is under way has ended', async () => {
  const { run, due, begun, end } = fleet(MANY)
  due.splice = () => {
    if (begun.length === 0) return [1]
    throw new Error('no Redis')
  }
  const working = expect(run()).rejects.toThrow('no Redis')
  await eventually('the first is under way', async () => begun.length === 1)
  end()
  await working
})
