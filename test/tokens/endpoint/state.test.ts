import { describe, expect, test } from 'vitest'
import {
  afterReport,
  decodeEndpoint,
  type EndpointState,
  grant,
  newState,
  nextAt,
  type Seen,
} from '../../../src/tokens/endpoint/state.ts'
import { NOW } from './simulate.ts'

const failure = (status: number) => ({ class: 'transient' as const, code: 'x', message: 'x', status })
const told = (state: EndpointState, seen: Seen[], now = NOW) => afterReport(state, seen, now)
const failures = (status: number, count = 10): Seen[] =>
  Array.from({ length: count }, (_, n) => ({ failed: { hubId: n + 1, failure: failure(status) } }))
const refreshes = (state: EndpointState, count: number, now: number) => {
  const { state: after, granted } = grant(state, { refreshes: count, codes: 0 }, now)
  return { state: after, granted: granted.calls, until: nextAt(after, 'refreshes', now) }
}

describe("the endpoint's state", () => {
  test('is the same after a round through Redis', () => {
    const states = [
      newState(NOW),
      told(newState(NOW), [{ fleet: 1_000 }, { worked: 17 }, ...failures(429, 3), { worked: 2 }]),
      told(newState(NOW), [{ fleet: 1_000 }, ...failures(503)]),
    ]
    for (const state of states) expect(decodeEndpoint(JSON.stringify(state))).toEqual(state)
    for (const junk of ['', '{', 'null', '7', '[]', '{"pace":{}}']) expect(decodeEndpoint(junk)).toBeUndefined()
  })

  test('knows for good that refresh tokens rotate once one daemon has seen it', () => {
    const before = newState(NOW)
    expect(told(before, [{ worked: 3 }]).rotates).toBe(false)
    const seen = told(before, [{ worked: 1 }, { rotated: true }])
    expect(told(decodeEndpoint(JSON.stringify(seen)) ?? before, [{ worked: 500 }, ...failures(503)]).rotates).toBe(true)
  })

  test('is learnt anew where a part of it is not what it should be', () => {
    const state = JSON.stringify(told(newState(NOW), [{ fleet: 1_000 }, ...failures(503)]))
    const spoilt = [/"fleet":1000/, /"is":"open"/, /"cause":"\w+"/, /"perSecond":\d+/, /"probeAt":\d+/]
    for (const part of spoilt) {
      const junk = state.replace(part, (text) => text.replace(/(:)[^{]*({?)$/, '$1["junk"]$2'))
      expect(junk).not.toBe(state)
      expect(decodeEndpoint(junk), String(part)).toBeUndefined()
    }
    expect(decodeEndpoint(state.replace(/"cause":"\w+"/, '"cause":null'))).toBeUndefined()
  })

  test('takes what happened in its order: a success clears who failed before it, not after', () => {
    const before = newState(NOW)
    const all = failures(503)
    expect(told(before, [{ fleet: 99 }, ...all.slice(0, 9), { worked: 9 }, ...all.slice(9)]).breaker.is).toBe('closed')
    expect(told(before, [{ fleet: 99 }, { worked: 9 }, ...all]).breaker.is).toBe('open')
  })

  test('while open lets one call through at a time, and none that nobody wants', () => {
    const open = told(newState(NOW), [{ fleet: 99 }, ...failures(503)])
    expect(refreshes(open, 50, NOW)).toMatchObject({ granted: 0, until: NOW + 5_000 })
    expect(refreshes(open, 0, NOW + 5_000)).toEqual({ state: open, granted: 0, until: NOW + 5_000 })
    const probed = refreshes(open, 50, NOW + 5_000)
    expect(probed.granted).toBe(1)
    expect(refreshes(probed.state, 50, NOW + 5_001).granted).toBe(0)
  })

  const quick = (): EndpointState => {
    const state = told(newState(NOW), [{ worked: 1 }])
    return { ...state, pace: { ...state.pace, perSecond: 1_000 } }
  }

  test('comes out of a trouble slowly, however fast it had been', () => {
    const open = told(quick(), [{ fleet: 99 }, ...failures(503)])
    const better = told(refreshes(open, 1, NOW + 5_000).state, [{ worked: 1 }], NOW + 5_000)
    expect(better.breaker.is).toBe('half-open')
    expect(better.pace.perSecond).toBe(50)
    expect(refreshes(better, 1_000, NOW + 5_000).granted).toBe(8)
  })

  test('after ten quiet seconds is slow again', () => {
    expect(told(quick(), [], NOW + 10_000).pace.perSecond).toBe(1_000)
    expect(told(quick(), [], NOW + 10_001).pace).toMatchObject({ perSecond: 50, permits: 10 })
  })

  test('lets codes through while refresh tokens are refused, and none while the provider is down', () => {
    const refused = { class: 'rejected' as const, code: 'x', message: 'x', status: 400 }
    const all = Array.from({ length: 10 }, (_, n) => ({ failed: { hubId: n + 1, failure: refused } }))
    const wanted = { refreshes: 9, codes: 3 }
    const dead = told(newState(NOW), [{ fleet: 99 }, ...all])
    expect(grant(dead, wanted, NOW).granted).toEqual({ calls: 3, most: { refreshes: 0, codes: 3 } })
    expect(grant(dead, wanted, NOW + 5_000).granted).toEqual({ calls: 4, most: { refreshes: 1, codes: 3 } })
    const { state: spent } = grant(dead, { refreshes: 0, codes: 99 }, NOW + 5_000)
    expect(grant(spent, wanted, NOW + 5_000).granted).toEqual({ calls: 1, most: { refreshes: 1, codes: 0 } })
    const down = told(newState(NOW), [{ fleet: 99 }, ...failures(503)])
    expect(grant(down, wanted, NOW).granted.calls).toBe(0)
    expect(nextAt(down, 'codes', NOW)).toBe(NOW + 30_000)
  })
})
