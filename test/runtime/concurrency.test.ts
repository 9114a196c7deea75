import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { atInterval, InFlight, InForce, inTurn } from '../../src/runtime/concurrency.ts'

/** Work that ends when it is told to. */
function work(order: string[], name: string) {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const run = () => {
    order.push(name)
    return promise
  }
  return { run, end: () => resolve(name), fail: () => reject(new Error(name)) }
}

const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

describe('calls in flight', () => {
  test('are let in up to the limit at once; the rest waits its turn, in order', async () => {
    const order: string[] = []
    const inFlight = new InFlight(2)
    const jobs = ['a', 'b', 'c', 'd'].map((name) => work(order, name))
    const results = jobs.map(({ run }) => inFlight.run('normal', run))
    await settled()
    expect(order).toEqual(['a', 'b'])
    jobs[1]?.end()
    await settled()
    expect(order).toEqual(['a', 'b', 'c'])
    for (const job of jobs) job.end()
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'd'])
  })

  test('that are urgent find places that the others may not take', async () => {
    const order: string[] = []
    const inFlight = new InFlight(3, 1)
    const polls = ['a', 'b', 'c'].map((name) => work(order, name))
    const token = work(order, 'token')
    const results = [...polls.map(({ run }) => inFlight.run('normal', run)), inFlight.run('urgent', token.run)]
    await settled()
    expect(order).toEqual(['a', 'b', 'token'])
    token.end()
    await settled()
    expect(order).toEqual(['a', 'b', 'token'])
    polls[0]?.end()
    await settled()
    expect(order).toEqual(['a', 'b', 'token', 'c'])
    for (const poll of polls) poll.end()
    expect(await Promise.all(results)).toEqual(['a', 'b', 'c', 'token'])
  })

  test('that are urgent come ahead of all that waited longer', async () => {
    const order: string[] = []
    const inFlight = new InFlight(1)
    const [first, poll, token, other] = ['first', 'poll', 'token', 'other token'].map((name) => work(order, name))
    if (!first || !poll || !token || !other) throw new Error('four jobs')
    const results = [
      inFlight.run('normal', first.run),
      inFlight.run('normal', poll.run),
      inFlight.run('urgent', token.run),
      inFlight.run('urgent', other.run),
    ]
    for (const job of [first, token, other, poll]) job.end()
    await Promise.all(results)
    expect(order).toEqual(['first', 'token', 'other token', 'poll'])
  })

  test('that fail give their place back, and tell only whoever asked', async () => {
    const order: string[] = []
    const inFlight = new InFlight(1)
    const bad = work(order, 'bad')
    const good = work(order, 'good')
    const failing = inFlight.run('normal', bad.run)
    const fine = inFlight.run('normal', good.run)
    bad.fail()
    good.end()
    await expect(failing).rejects.toThrow('bad')
    await expect(fine).resolves.toBe('good')
  })

  test('that throw before they begin give their place back too', async () => {
    const inFlight = new InFlight(1)
    const thrown = inFlight.run('urgent', () => {
      throw new Error('at once')
    })
    await expect(thrown).rejects.toThrow('at once')
    await expect(inFlight.run('normal', async () => 'in')).resolves.toBe('in')
  })

  test('are never more than the limit and all get in, whatever comes and goes', async () => {
    const plan = fc.record({
      limit: fc.integer({ min: 1, max: 5 }),
      calls: fc.array(fc.record({ urgent: fc.boolean(), turns: fc.nat(4), fails: fc.boolean() }), { maxLength: 40 }),
    })
    await fc.assert(
      fc.asyncProperty(plan, async ({ limit, calls }) => {
        const inFlight = new InFlight(limit)
        let running = 0
        let most = 0
        const results = calls.map(({ urgent, turns, fails }) =>
          inFlight.run(urgent ? 'urgent' : 'normal', async () => {
            most = Math.max(most, ++running)
            for (let turn = 0; turn < turns; turn++) await Promise.resolve()
            running--
            if (fails) throw new Error('failed')
          }),
        )
        await Promise.allSettled(results)
        expect(most).toBeLessThanOrEqual(limit)
        expect(running).toBe(0)
      }),
    )
  })
})

test('what is asked for while it is under way is done once more after that, however often it was asked for', async () => {
  const ends: (() => void)[] = []
  let underWay = 0
  let most = 0
  const ask = inTurn(async () => {
    most = Math.max(most, ++underWay)
    await new Promise<void>((resolve) => ends.push(resolve))
    underWay--
  })
  ask()
  ask()
  ask()
  expect(ends).toHaveLength(1)
  ends[0]?.()
  await new Promise(setImmediate)
  expect(ends).toHaveLength(2)
  ends[1]?.()
  await new Promise(setImmediate)
  expect(ends).toHaveLength(2)

  ask()
  expect(ends).toHaveLength(3)
  expect(most).toBe(1)
})

describe('repeated work', () => {
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
})

test('work goes on to its end with what was in force when it began; what begins later has the new', async () => {
  const inForce = new InForce('old')
  const gate = Promise.withResolvers<void>()
  const seen: string[] = []
  const begun = inForce.run(async (value) => {
    await gate.promise
    seen.push(value)
  })
  void inForce.replace('new')
  await inForce.run(async (value) => void seen.push(value))
  gate.resolve()
  await begun
  expect(seen).toEqual(['new', 'old'])
  expect(inForce.value).toBe('new')
})

test('what was replaced is over when the last who works with it ends, also one that fails', async () => {
  const inForce = new InForce(1)
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  const works = [inForce.run(() => first.promise), inForce.run(() => second.promise)]
  let isOver = false
  const over = inForce.replace(2).then(() => {
    isOver = true
  })
  first.resolve()
  await works[0]
  expect(isOver).toBe(false)
  second.reject(new Error('failed'))
  await expect(works[1]).rejects.toThrow('failed')
  await over
  expect(isOver).toBe(true)
})

test('what nobody works with is over at once', async () => {
  await new InForce(1).replace(2)
})
