import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type CallsMade, callsAfter, type ShareSettings, shareLeft } from '../../../src/limits/polling/account-calls.ts'

const NOW = 1_763_719_200_000
const WINDOW_MS = 10_000
const of = (requests: number): ShareSettings => ({ requests, perMs: WINDOW_MS })

describe('the share of an account', () => {
  test('lets an account be polled more often than its window is long, for as long as the share allows', () => {
    let before: CallsMade | undefined
    for (let n = 0; n < 100; n++) {
      const now = NOW + n * 2_000
      expect(shareLeft(of(12), before, [], now).granted).toBeGreaterThanOrEqual(2)
      before = callsAfter(of(12), before, [now, now])
    }
  })

  test('does not wait for calls from before the clock was set back, and does not count them any more', () => {
    const ahead: CallsMade = [[NOW, 2]]
    const back = NOW - 86_400_000
    expect(shareLeft(of(2), ahead, [], back)).toEqual({ granted: 2, waitMs: 0 })
    expect(shareLeft(of(2), undefined, [NOW, NOW], back)).toEqual({ granted: 2, waitMs: 0 })
    expect(callsAfter(of(2), ahead, [back])).toEqual([[back, 1]])
    // But clocks of daemons differ.
    expect(shareLeft(of(2), ahead, [], NOW - 5_000)).toEqual({ granted: 0, waitMs: 15_000 })
    expect(callsAfter(of(3), ahead, [NOW - 5_000])).toEqual([
      [NOW, 2],
      [NOW - 5_000, 1],
    ])
  })
})

/** What comes to pass with the calls of an account: polls, one after the other, each as many calls as it wants. */
const polls = fc.array(
  fc.record({
    idleMs: fc.oneof(fc.nat(500), fc.nat(25_000)),
    calls: fc.integer({ min: 1, max: 15 }),
    atOnce: fc.integer({ min: 1, max: 5 }),
    // How long the way there takes, and the way back.
    thereMs: fc.oneof(fc.nat(300), fc.nat(15_000)),
    backMs: fc.oneof(fc.nat(300), fc.nat(15_000)),
  }),
  { maxLength: 12 },
)

/** When the provider counted each call, and how long each wait for the share was. */
function play(share: ShareSettings, list: typeof polls extends fc.Arbitrary<infer T> ? T : never) {
  const counted: number[] = []
  const waits: number[] = []
  let now = NOW
  let before: CallsMade | undefined
  for (const { idleMs, calls, atOnce, thereMs, backMs } of list) {
    now += idleMs
    const own: number[] = []
    while (own.length < calls) {
      let left = shareLeft(share, before, own, now)
      if (left.granted === 0) {
        waits.push(left.waitMs)
        now += left.waitMs
        left = shareLeft(share, before, own, now)
        // One wait is enough.
        expect(left.granted).toBeGreaterThan(0)
      }
      const count = Math.min(left.granted, atOnce, calls - own.length)
      for (let n = 0; n < count; n++) counted.push(now + thereMs)
      now += thereMs + backMs
      own.push(...Array<number>(count).fill(now))
    }
    before = callsAfter(share, before, own)
  }
  return { counted, waits }
}

describe('whatever polls ask for, and however slow the answers are', () => {
  const requests = fc.integer({ min: 1, max: 20 })

  test('no more calls than the share reach the provider within any window', () => {
    fc.assert(
      fc.property(requests, polls, (most, list) => {
        const { counted } = play(of(most), list)
        for (const at of counted)
          expect(counted.filter((other) => other > at - WINDOW_MS && other <= at).length).toBeLessThanOrEqual(most)
      }),
      { numRuns: 500 },
    )
  })

  test('nobody waits longer than the window, nor waits at all for less than a ms', () => {
    fc.assert(
      fc.property(requests, polls, (most, list) => {
        for (const ms of play(of(most), list).waits) {
          expect(ms).toBeGreaterThanOrEqual(1)
          expect(ms).toBeLessThanOrEqual(WINDOW_MS)
        }
      }),
      { numRuns: 500 },
    )
  })

  test('a poll of no more calls than the share never waits where the one before was longer ago than the window', () => {
    fc.assert(
      fc.property(requests, fc.nat(20), fc.nat(WINDOW_MS), (most, calls, ms) => {
        const before: CallsMade = [[NOW, calls]]
        expect(shareLeft(of(most), before, [], NOW + WINDOW_MS + ms)).toEqual({ granted: most, waitMs: 0 })
      }),
    )
  })

  test('whatever the clock is set to, a wait is over after two windows', () => {
    const moment = fc.integer({ min: NOW - 30_000, max: NOW + 30_000 })
    const made = fc.option(fc.array(fc.tuple(moment, fc.nat(30)), { maxLength: 3 }), { nil: undefined })
    fc.assert(
      fc.property(requests, made, fc.array(moment), moment, (most, before, own, now) => {
        const { granted, waitMs } = shareLeft(of(most), before, own, now)
        expect(granted > 0).toBe(waitMs === 0)
        expect(granted).toBeLessThanOrEqual(most)
        expect(waitMs).toBeLessThanOrEqual(2 * WINDOW_MS)
      }),
    )
  })
})
