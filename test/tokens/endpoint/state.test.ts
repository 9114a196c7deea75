import { describe, expect, test } from 'vitest'
import {
  afterReport,
  decodeEndpoint,
  type EndpointState,
  emptyReport,
  encodeEndpoint,
  grant,
  newState,
  type Report,
} from '../../../src/tokens/endpoint/state.ts'
import { NOW, SETTINGS } from './simulate.ts'

const failure = (status: number) => ({ class: 'transient' as const, code: 'x', message: 'x', status })
const report = (more: Partial<Report>): Report => ({ ...emptyReport(), ...more })
const told = (state: EndpointState, more: Partial<Report>, now = NOW) => afterReport(state, report(more), SETTINGS, now)
const failures = (status: number, count = 10) =>
  Array.from({ length: count }, (_, n) => ({ hubId: n + 1, failure: failure(status) }))

describe("the endpoint's state", () => {
  test('is the same after a round through Redis', () => {
    const states = [
      newState(SETTINGS, NOW),
      told(newState(SETTINGS, NOW), { outcomes: [17, ...failures(429, 3), 2], fleet: 1_000, skewMs: -7 }),
      told(newState(SETTINGS, NOW), { outcomes: failures(503), fleet: 1_000 }),
    ]
    for (const state of states) expect(decodeEndpoint(encodeEndpoint(state))).toEqual(state)
    for (const junk of ['', '{', 'null', '7', '[]', '{"pace":{}}']) expect(decodeEndpoint(junk)).toBeUndefined()
  })

  test('knows for good that refresh tokens rotate once one daemon has seen it', () => {
    const before = newState(SETTINGS, NOW)
    expect(told(before, { outcomes: [3] }).rotates).toBe(false)
    const seen = told(before, { outcomes: [1], rotated: true })
    expect(told(decodeEndpoint(encodeEndpoint(seen)) ?? before, { outcomes: [500, ...failures(503)] }).rotates).toBe(
      true,
    )
  })

  test('is learnt anew where any part of it is not what it should be', () => {
    const open = told(newState(SETTINGS, NOW), { outcomes: [3, ...failures(429, 3), ...failures(503)], fleet: 1_000 })
    const half = told(grant(open, 1, NOW + 5_000).state, { outcomes: [1, ...failures(503, 1)] }, NOW + 5_000)
    const spoilt = (at: string[], junk: unknown) => {
      const state = JSON.parse(encodeEndpoint(half))
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
        at.join('.').startsWith('alerts.') || at.join('.') === 'breaker.detail' ? expect.anything() : undefined,
      )
    }
  })

  test('takes what happened in its order: a success clears who failed before it, not after', () => {
    const before = newState(SETTINGS, NOW)
    const all = failures(503)
    expect(told(before, { outcomes: [...all.slice(0, 9), 9, ...all.slice(9)], fleet: 99 }).breaker.is).toBe('closed')
    expect(told(before, { outcomes: [9, ...all], fleet: 99 }).breaker.is).toBe('open')
  })

  test('while open lets one call through at a time, and none that nobody wants', () => {
    const open = told(newState(SETTINGS, NOW), { outcomes: failures(503), fleet: 99 })
    expect(grant(open, 50, NOW)).toMatchObject({ granted: 0, until: NOW + 5_000 })
    expect(grant(open, 0, NOW + 5_000)).toEqual({ state: open, granted: 0, until: NOW + 5_000 })
    const probed = grant(open, 50, NOW + 5_000)
    expect(probed.granted).toBe(1)
    expect(grant(probed.state, 50, NOW + 5_001).granted).toBe(0)
  })

  test('probes at once for a daemon that was just started', () => {
    const open = told(newState(SETTINGS, NOW), { outcomes: failures(503), fleet: 99 })
    expect(grant(told(open, { started: true }, NOW + 1), 9, NOW + 1).granted).toBe(1)
  })

  test('comes out of a trouble slowly, however fast it had been', () => {
    const quick = told(newState(SETTINGS, NOW), { outcomes: [5_000] })
    expect(quick.pace.perSecond).toBe(1_000)
    const open = told(quick, { outcomes: failures(503), fleet: 99 })
    const better = told(grant(open, 1, NOW + 5_000).state, { outcomes: [1] }, NOW + 5_000)
    expect(better.breaker.is).toBe('half-open')
    expect(better.pace.perSecond).toBe(50)
    expect(grant(better, 1_000, NOW + 5_000).granted).toBe(8)
  })

  test('takes back permits that were not used, up to a burst', () => {
    const taken = grant(newState(SETTINGS, NOW), 8, NOW)
    expect(taken.granted).toBe(8)
    expect(grant(told(taken.state, { unused: 5 }), 100, NOW).granted).toBe(5)
    expect(told(taken.state, { unused: 5_000 }).pace.permits).toBe(10)
  })

  test('believes the daemon whose clock is furthest off, until it has not been heard for ten minutes', () => {
    const wrong = told(newState(SETTINGS, NOW), { skewMs: -90_000 })
    const right = told(wrong, { skewMs: 200 }, NOW + 1_000)
    expect(right.skewMs).toBe(-90_000)
    expect(told(right, { skewMs: 200 }, NOW + 600_001).skewMs).toBe(200)
    expect(told(right, { skewMs: undefined }, NOW + 600_001).skewMs).toBe(-90_000)
    const still = told(right, { skewMs: -90_000 }, NOW + 500_000)
    expect(told(still, { skewMs: 200 }, NOW + 600_001).skewMs).toBe(-90_000)
  })
})
