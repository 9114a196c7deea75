import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InFlight } from '../../src/runtime/in-flight.ts'

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
