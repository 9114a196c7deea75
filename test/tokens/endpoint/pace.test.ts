import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterRefusal,
  afterSuccesses,
  callsWithin,
  nextPermitAt,
  type Pace,
  paceSchema,
  refillPermits,
  slowed,
  take,
} from '../../../src/tokens/endpoint/pace.ts'
import { NOW, simulate } from './simulate.ts'

const HOUR = 3_600_000
const newPace = (perSecond = 50) => paceSchema.parse({ perSecond, at: NOW })

describe('a backlog of 10,000 refreshes', () => {
  const limits = [
    ['10 a second', { calls: 10, perMs: 1_000 }],
    ['100 in 10 seconds', { calls: 100, perMs: 10_000 }],
    ['1,000 a second', { calls: 1_000, perMs: 1_000 }],
    ['5 a second', { calls: 5, perMs: 1_000 }],
    ['3,000 in a minute', { calls: 3_000, perMs: 60_000 }],
  ] as const
  for (const [name, limit] of limits) {
    for (const saysHowLong of [true, false]) {
      test(`under a limit of ${name}, ${saysHowLong ? 'told how long to wait' : 'told nothing'}, takes little longer than the limit allows`, () => {
        const { ms, idealMs, refusedShare, opened } = simulate({ limit, saysHowLong, backlog: 10_000 })
        // Measured: 1.15 to 1.6 times as long; 0.5 to 2 % of the calls refused.
        expect(ms / idealMs).toBeLessThan(1.7)
        if (saysHowLong) expect(refusedShare).toBeLessThan(0.025)
        expect(opened).toBe(0)
      })
    }
  }

  test('begins slowly, and is let through at full speed seconds later', () => {
    const { sent } = simulate({ limit: { calls: 10_000, perMs: 1_000 }, saysHowLong: true, backlog: 10_000 })
    expect(sent[0]).toBeLessThan(200)
    expect(sent[4]).toBeGreaterThan(800)
  })

  test('finds within two minutes that the provider takes more than it did', () => {
    const before = afterRefusal(newPace(5), 1_000, NOW)
    const { ms, idealMs } = simulate(
      { limit: { calls: 1_000, perMs: 1_000 }, saysHowLong: true, backlog: 10_000 },
      before,
    )
    expect(ms - idealMs).toBeLessThan(120_000)
  })
})

describe('the pace', () => {
  test('lets calls through one after the other, each when it was said', () => {
    for (const perSecond of [0.5, 5, 50]) {
      let pace = take(newPace(perSecond), 1_000).pace
      for (const nth of [1, 2, 3]) {
        const at = nextPermitAt(pace)
        expect(take(refillPermits(pace, at - 1), 1).granted, `${perSecond} ${nth}`).toBe(0)
        const taken = take(refillPermits(pace, at), 1)
        expect(taken.granted, `${perSecond} ${nth}`).toBe(1)
        pace = taken.pace
      }
    }
  })

  test('stays as it is where fewer calls are made than it allows', () => {
    const idle = refillPermits(newPace(), NOW + 1_000)
    expect(afterSuccesses(idle, 100, NOW + 1_000).perSecond).toBe(50)
    expect(afterSuccesses(take(idle, 1).pace, 100, NOW + 1_000).perSecond).toBe(250)
    expect(afterSuccesses(take(idle, 1).pace, 1e9, NOW + 1_000).perSecond).toBe(5_000)
  })

  test('is slow again after a pause, never faster', () => {
    expect(slowed(newPace(1_000))).toMatchObject({ perSecond: 50, permits: 8 })
    expect(slowed(newPace(5)).perSecond).toBe(5)
  })

  test('closes for as long as a 429 says, at most a minute', () => {
    const closed = refillPermits(afterRefusal(newPace(), 7_000, NOW), NOW + 6_999)
    expect(closed).toMatchObject({ permits: 0, closedUntil: NOW + 7_000 })
    expect(callsWithin(closed, 1, NOW + 6_999)).toBe(0)
    expect(nextPermitAt(closed)).toBeGreaterThanOrEqual(NOW + 7_000)
    expect(afterRefusal(newPace(), 24 * HOUR, NOW).closedUntil).toBe(NOW + 60_000)
  })

  test('told nothing, closes for 1, 2, 4 ... 32 seconds; others of the same moment do not count', () => {
    let pace = newPace()
    let now = NOW
    for (const seconds of [1, 2, 4, 8, 16, 32, 32]) {
      const { perSecond } = pace
      for (let n = 0; n < 10; n++) pace = afterRefusal(pace, undefined, now)
      expect(pace.closedUntil).toBe(now + seconds * 1_000)
      expect(pace.perSecond).toBeCloseTo(perSecond * 0.7)
      now = pace.closedUntil
    }
    expect(afterSuccesses(pace, 1, now).refusals).toBe(0)
  })

  test('refused each time goes down to a call every two seconds', () => {
    let pace = newPace()
    for (let n = 0; n < 100; n++) pace = afterRefusal(pace, 1_000, pace.closedUntil)
    expect(pace.perSecond).toBe(0.5)
  })

  test('takes answers to calls that were sent before the refusal for no sign that it may be faster', () => {
    const refused = afterRefusal(newPace(), 1_000, NOW)
    expect(afterSuccesses(refused, 30, NOW + 30)).toEqual(refused)
    // In the minute after it every success counts little.
    const open = take(refillPermits(refused, NOW + 1_100), 100).pace
    expect(afterSuccesses(open, 10, NOW + 1_100).perSecond).toBeCloseTo(35.2)
    expect(afterSuccesses(open, 10, NOW + 60_000).perSecond).toBeCloseTo(55)
  })

  test('stays a pace, whatever happens in whatever order: finite, within its bounds, the same after JSON', () => {
    const event = fc.record({
      is: fc.constantFrom('success', 'refused', 'told', 'take'),
      passes: fc.oneof(fc.nat(100), fc.nat(20_000), fc.constant(HOUR)),
      count: fc.nat(5_000),
    })
    fc.assert(
      fc.property(fc.array(event, { maxLength: 60 }), (events) => {
        let now = NOW
        let pace: Pace = newPace()
        for (const { is, passes, count } of events) {
          now += passes
          pace = refillPermits(pace, now)
          expect(pace.permits).toBeLessThanOrEqual(Math.max(8, 0.2 * pace.perSecond))
          if (is === 'success') pace = afterSuccesses(pace, count, now)
          if (is === 'refused') pace = afterRefusal(pace, undefined, now)
          if (is === 'told') pace = afterRefusal(pace, count * 100, now)
          if (is === 'take') {
            const { granted, pace: taken } = take(pace, count)
            expect(Number.isInteger(granted) && granted >= 0 && granted <= count).toBe(true)
            pace = taken
          }
          expect(Object.values(pace).every(Number.isFinite)).toBe(true)
          expect(pace.permits).toBeGreaterThanOrEqual(0)
          expect(pace.perSecond).toBeGreaterThanOrEqual(0.5)
          expect(pace.perSecond).toBeLessThanOrEqual(5_000)
          expect(pace.closedUntil).toBeLessThanOrEqual(now + 60_000)
          expect(nextPermitAt(pace)).toBeLessThanOrEqual(now + 60_000 + 2_000)
          expect(paceSchema.parse(JSON.parse(JSON.stringify(pace)))).toEqual(pace)
        }
      }),
    )
  })
})
