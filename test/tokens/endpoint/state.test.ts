import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  afterCalls,
  afterReport,
  budgetSchema,
  decodeEndpoint,
  type EndpointState,
  grant,
  newState,
  refreshAt,
  type Seen,
} from '../../../src/tokens/endpoint/state.ts'
import { NOW, SETTINGS } from './simulate.ts'

const failure = (status: number) => ({ class: 'transient' as const, code: 'x', message: 'x', status })
const told = (state: EndpointState, seen: Seen[], now = NOW) => afterReport(state, seen, SETTINGS, now)
const failures = (status: number, count = 10): Seen[] =>
  Array.from({ length: count }, (_, n) => ({ failed: { hubId: n + 1, failure: failure(status) } }))
const refreshes = (state: EndpointState, count: number, now: number) => {
  const { state: after, granted } = grant(state, { refreshes: count, codes: 0 }, now)
  return { state: after, granted: granted.refreshes, until: refreshAt(after) }
}

describe("the endpoint's state", () => {
  test('is the same after a round through Redis', () => {
    const states = [
      newState(SETTINGS, NOW),
      told(newState(SETTINGS, NOW), [
        { fleet: 1_000 },
        { worked: 17 },
        ...failures(429, 3),
        { worked: 2 },
        { clock: { skewMs: -7, machine: 'a' } },
      ]),
      told(newState(SETTINGS, NOW), [{ fleet: 1_000 }, ...failures(503)]),
    ]
    for (const state of states) expect(decodeEndpoint(JSON.stringify(state))).toEqual(state)
    for (const junk of ['', '{', 'null', '7', '[]', '{"pace":{}}']) expect(decodeEndpoint(junk)).toBeUndefined()
  })

  test('knows for good that refresh tokens rotate once one daemon has seen it', () => {
    const before = newState(SETTINGS, NOW)
    expect(told(before, [{ worked: 3 }]).rotates).toBe(false)
    const seen = told(before, [{ worked: 1 }, { rotated: true }])
    expect(told(decodeEndpoint(JSON.stringify(seen)) ?? before, [{ worked: 500 }, ...failures(503)]).rotates).toBe(true)
  })

  test('is learnt anew where any part of it is not what it should be', () => {
    const open = told(newState(SETTINGS, NOW), [{ fleet: 1_000 }, { worked: 3 }, ...failures(429, 3), ...failures(503)])
    const half = told(refreshes(open, 1, NOW + 5_000).state, [{ worked: 1 }, ...failures(503, 1)], NOW + 5_000)
    const spoilt = (at: string[], junk: unknown) => {
      const state = JSON.parse(JSON.stringify(half))
      const part = at.slice(0, -1).reduce((inner, name) => inner[name], state)
      part[at.at(-1) ?? ''] = junk
      return decodeEndpoint(JSON.stringify(state))
    }
    const every = (value: unknown, at: string[]): string[][] =>
      typeof value === 'object' && value !== null
        ? [
            ...(at.length > 0 ? [at] : []),
            ...Object.entries(value).flatMap(([name, inner]) => every(inner, [...at, name])),
          ]
        : [at]
    for (const at of every(half, [])) {
      expect(spoilt(at, { a: 1 }), at.join('.')).toBeUndefined()
      expect(spoilt(at, 'x'), at.join('.')).toEqual(
        ['breaker.detail', 'skewOf'].includes(at.join('.')) ? expect.anything() : undefined,
      )
    }
  })

  test('takes what happened in its order: a success clears who failed before it, not after', () => {
    const before = newState(SETTINGS, NOW)
    const all = failures(503)
    expect(told(before, [{ fleet: 99 }, ...all.slice(0, 9), { worked: 9 }, ...all.slice(9)]).breaker.is).toBe('closed')
    expect(told(before, [{ fleet: 99 }, { worked: 9 }, ...all]).breaker.is).toBe('open')
  })

  test('while open lets one call through at a time, and none that nobody wants', () => {
    const open = told(newState(SETTINGS, NOW), [{ fleet: 99 }, ...failures(503)])
    expect(refreshes(open, 50, NOW)).toMatchObject({ granted: 0, until: NOW + 5_000 })
    expect(refreshes(open, 0, NOW + 5_000)).toEqual({ state: open, granted: 0, until: NOW + 5_000 })
    const probed = refreshes(open, 50, NOW + 5_000)
    expect(probed.granted).toBe(1)
    expect(refreshes(probed.state, 50, NOW + 5_001).granted).toBe(0)
  })

  test('probes at once for a daemon that was just started', () => {
    const open = told(newState(SETTINGS, NOW), [{ fleet: 99 }, ...failures(503)])
    expect(refreshes(told(open, [{ started: true }], NOW + 1), 9, NOW + 1).granted).toBe(1)
  })

  test('comes out of a trouble slowly, however fast it had been', () => {
    const quick = told(newState(SETTINGS, NOW), [{ worked: 5_000 }])
    expect(quick.pace.perSecond).toBe(1_000)
    const open = told(quick, [{ fleet: 99 }, ...failures(503)])
    const better = told(refreshes(open, 1, NOW + 5_000).state, [{ worked: 1 }], NOW + 5_000)
    expect(better.breaker.is).toBe('half-open')
    expect(better.pace.perSecond).toBe(50)
    expect(refreshes(better, 1_000, NOW + 5_000).granted).toBe(8)
  })

  test('takes back permits that were not used, up to a burst', () => {
    const taken = refreshes(newState(SETTINGS, NOW), 8, NOW)
    expect(taken.granted).toBe(8)
    expect(refreshes(told(taken.state, [{ unused: 5 }]), 100, NOW).granted).toBe(5)
    expect(told(taken.state, [{ unused: 5_000 }]).pace.permits).toBe(10)
  })

  test('believes the machine whose clock is furthest off, until it has not been heard for ten minutes', () => {
    const wrong = told(newState(SETTINGS, NOW), [{ clock: { skewMs: -90_000, machine: 'a' } }])
    const right = told(wrong, [{ clock: { skewMs: 200, machine: 'b' } }], NOW + 1_000)
    expect(right.skewMs).toBe(-90_000)
    expect(told(right, [{ clock: { skewMs: 200, machine: 'b' } }], NOW + 600_001).skewMs).toBe(200)
    expect(told(right, [], NOW + 600_001).skewMs).toBe(-90_000)
    const still = told(right, [{ clock: { skewMs: -90_000, machine: 'a' } }], NOW + 500_000)
    expect(told(still, [{ clock: { skewMs: 200, machine: 'b' } }], NOW + 600_001).skewMs).toBe(-90_000)
  })

  test('believes a machine at once that its own clock is right again', () => {
    const wrong = told(newState(SETTINGS, NOW), [{ clock: { skewMs: -90_000, machine: 'a' } }])
    const set = told(
      told(wrong, [{ clock: { skewMs: 200, machine: 'b' } }], NOW + 1_000),
      [{ clock: { skewMs: 100, machine: 'a' } }],
      NOW + 2_000,
    )
    expect(set.skewMs).toBe(100)
    const other = told(set, [{ clock: { skewMs: 70_000, machine: 'c' } }], NOW + 3_000)
    expect(told(other, [{ clock: { skewMs: 100, machine: 'a' } }], NOW + 4_000).skewMs).toBe(70_000)
  })
})

const AT_FIRST = 100
const newBudget = (at: number) => budgetSchema.parse({ at })

describe('the retry budget', () => {
  test('earns a fraction of a retry with every call that works, and pays one for every error', () => {
    const empty = { credit: 0, at: NOW }
    expect(afterCalls(empty, { worked: 19, failed: 0 }, 0.05, NOW).credit).toBeCloseTo(1)
    expect(afterCalls({ credit: 7, at: NOW }, { worked: 0, failed: 3 }, 0.05, NOW).credit).toBe(4)
    expect(afterCalls(empty, { worked: 0, failed: 1_000 }, 0.05, NOW).credit).toBe(0)
    expect(afterCalls(empty, { worked: 1e9, failed: 0 }, 0.95, NOW).credit).toBe(1_000)
  })

  test('allows one retry every five seconds where nothing works, and does not save them up', () => {
    const spent = afterCalls(newBudget(NOW), { worked: 0, failed: AT_FIRST }, 0.05, NOW)
    expect(afterCalls(spent, { worked: 0, failed: 0 }, 0.05, NOW + 4_999).credit).toBe(0)
    expect(afterCalls(spent, { worked: 0, failed: 0 }, 0.05, NOW + 5_000).credit).toBe(1)
    expect(afterCalls(spent, { worked: 0, failed: 0 }, 0.05, NOW + 3_600_000).credit).toBe(1)
  })

  test('survives a clock that is set back', () => {
    const back = afterCalls({ credit: 0, at: NOW }, { worked: 0, failed: 0 }, 0.05, NOW - 3_600_000)
    expect(afterCalls(back, { worked: 0, failed: 0 }, 0.05, NOW - 3_595_000).credit).toBe(1)
  })

  test('keeps errors that come of retries below their share, whatever fails', () => {
    const run = fc.record({
      ceiling: fc.double({ min: 0.01, max: 0.5, noNaN: true }),
      everyNthFails: fc.integer({ min: 1, max: 30 }),
      retriesFail: fc.boolean(),
      calls: fc.integer({ min: 1, max: 3_000 }),
      apartMs: fc.nat(2_000),
    })
    fc.assert(
      fc.property(run, ({ ceiling, everyNthFails, retriesFail, calls, apartMs }) => {
        let budget = newBudget(NOW)
        let [waiting, errorsOfRetries, all] = [0, 0, 0]
        for (let n = 1; n <= calls; n++) {
          const now = NOW + n * apartMs
          const isRetry = waiting > 0 && budget.credit >= 1
          const fails = isRetry ? retriesFail : n % everyNthFails === 0
          all++
          if (isRetry) waiting--
          if (fails) waiting++
          if (isRetry && fails) errorsOfRetries++
          budget = afterCalls(budget, fails ? { worked: 0, failed: 1 } : { worked: 1, failed: 0 }, ceiling, now)
          const trickle = (n * apartMs) / 5_000
          expect(errorsOfRetries).toBeLessThanOrEqual(AT_FIRST + trickle + ceiling * all + 1)
          expect(budget.credit).toBeGreaterThanOrEqual(0)
        }
      }),
    )
  })
})
