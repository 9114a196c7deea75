import { describe, expect, test } from 'vitest'
import { judgeHealth } from '../../src/checks/health-report.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import { HandClock } from '../support/hand-clock.ts'

/** A job that ends when it is told to. */
function job() {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  return { work: () => promise, end: () => resolve(), fail: () => reject(new Error('failed')) }
}

function movement() {
  const clock = new HandClock()
  return { clock, movement: new Movement(clock) }
}

describe('the oldest that is in hand', () => {
  test('is told of each kind, with how long it may be: more where calls are given more time', async () => {
    const clock = new HandClock()
    const one = new Movement(clock, 30_000)
    const [first, second] = [job(), job()]
    const working = [one.inHand('poll', 1, first.work), one.watch('sweep', second.work)]
    clock.move(5_000)
    working.push(one.inHand('poll', 2, first.work), one.watch('poll-limits', second.work))
    expect(one.oldest().filter(({ ms }) => ms > 0)).toEqual([
      { what: 'sweep', hubId: undefined, ms: 5_000, longestMs: 600_000 },
      { what: 'poll', hubId: 1, ms: 5_000, longestMs: 360_000 },
    ])
    one.goesOn('poll', 1)
    clock.move(1_000)
    expect(one.oldest().find(({ what }) => what === 'poll')).toMatchObject({ ms: 1_000 })
    first.end()
    second.end()
    await Promise.all(working)
    expect(one.oldest().map(({ ms }) => ms)).toEqual([0, 0, 0, 0, 0])
  })

  test('is nobody whose work failed', async () => {
    const { movement: one } = movement()
    const bad = job()
    const working = one.inHand('refresh', 1, bad.work)
    bad.fail()
    await expect(working).rejects.toThrow('failed')
    expect(one.oldest().find(({ what }) => what === 'refresh')?.hubId).toBeUndefined()
  })
})

describe('a queue', () => {
  test('that never had a job stands nowhere', () => {
    expect(movement().movement.standstills()).toEqual({})
  })

  test('without a job under way does not stand still, however long it has been quiet', async () => {
    const { movement: one, clock } = movement()
    await one.watch('deliver', async () => {})
    clock.move(3_600_000)
    expect(one.standstills()).toEqual({ deliver: 0 })
  })

  test('stands still for as long as its oldest job is under way and none ends', async () => {
    const { movement: one, clock } = movement()
    const [first, second] = [job(), job()]
    const watching = [one.watch('poll', first.work)]
    clock.move(2_000)
    watching.push(one.watch('poll', second.work))
    clock.move(3_000)
    expect(one.standstills()).toEqual({ poll: 5_000 })
    first.end()
    second.end()
    await Promise.all(watching)
    expect(one.standstills()).toEqual({ poll: 0 })
  })

  test('moves while jobs end, and stands still from the last that did', async () => {
    const { movement: one, clock } = movement()
    const stuck = job()
    const watching = one.watch('poll', stuck.work)
    clock.move(60_000)
    await one.watch('poll', async () => {})
    expect(one.standstills()).toEqual({ poll: 0 })
    clock.move(7_000)
    expect(one.standstills()).toEqual({ poll: 7_000 })
    stuck.end()
    await watching
  })

  test('that was quiet for long stands still only from when its job began', async () => {
    const { movement: one, clock } = movement()
    await one.watch('poll', async () => {})
    clock.move(3_600_000)
    const late = job()
    const watching = one.watch('poll', late.work)
    clock.move(10)
    expect(one.standstills()).toEqual({ poll: 10 })
    late.end()
    await watching
  })

  test('moves by a job that fails too, whose error goes on to whoever began it', async () => {
    const { movement: one, clock } = movement()
    const bad = job()
    const watching = one.watch('poll', bad.work)
    clock.move(5_000)
    bad.fail()
    await expect(watching).rejects.toThrow('failed')
    expect(one.standstills()).toEqual({ poll: 0 })
  })

  test('is not moved by another one, and its standstill is noticed by whoever asks for our health', async () => {
    const { movement: one, clock } = movement()
    const stuck = job()
    const watching = one.watch('refresh-tokens', stuck.work)
    const alive = () =>
      judgeHealth({
        now: clock.now(),
        startedAt: 0,
        redisOk: true,
        lastSweeps: {},
        expected: {},
        standstills: one.standstills(),
      }).alive
    clock.move(120_000)
    await one.watch('deliver', async () => {})
    expect(alive()).toBe(true)
    clock.move(1)
    await one.watch('deliver', async () => {})
    expect(one.standstills()).toEqual({ 'refresh-tokens': 120_001, deliver: 0 })
    expect(alive()).toBe(false)
    stuck.end()
    await watching
    expect(alive()).toBe(true)
  })

  test('whose oldest job waits while none is under way here is left for as long as that was seen, and we have been idle', async () => {
    const { movement: one, clock } = movement()
    const left = (oldestWaitingAt: number | null) => one.untaken([{ queue: 'poll', oldestWaitingAt }]).poll
    clock.move(3_600_000)
    expect(left(1)).toBe(0)
    clock.move(10_000)
    expect(left(1)).toBe(10_000)
    await one.watch('poll', async () => {})
    clock.move(5_000)
    expect(left(1)).toBe(5_000)
    const slow = job()
    const watching = one.watch('poll', slow.work)
    clock.move(60_000)
    expect(left(1)).toBe(0)
    slow.end()
    await watching
    clock.move(1_000)
    expect([left(1), left(2), left(null)]).toEqual([1_000, 0, 0])
  })
})

test.each([3_600_000, -3_600_000])('a clock that is set by %d ms makes nothing older or younger', async (jump) => {
  const { movement: one, clock } = movement()
  const stuck = job()
  const working = [one.watch('poll-limits', stuck.work), one.inHand('poll', 1, stuck.work)]
  const aged = () => [
    one.standstills()['poll-limits'],
    one.oldest().find(({ what }) => what === 'poll')?.ms,
    one.untaken([{ queue: 'deliver', oldestWaitingAt: 1 }]).deliver,
  ]
  aged()
  clock.move(1_000)
  clock.set(jump)
  expect(aged()).toEqual([1_000, 1_000, 1_000])
  stuck.end()
  await Promise.all(working)
})
