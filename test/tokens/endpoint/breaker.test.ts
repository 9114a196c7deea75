import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FailureClass, ProviderFailure } from '../../../src/provider/failure.ts'
import {
  type Breaker,
  type Cause,
  CLOSED,
  causeOf,
  holdsCodes,
  noteFailure,
  noteSuccesses,
  settle,
  takeProbe,
} from '../../../src/tokens/endpoint/breaker.ts'
import { NOW } from './simulate.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const FLEET = 10_000

const OF_CAUSE: Record<Cause, ProviderFailure> = {
  credentials: failure('client', 401, 'invalid_client'),
  refused: failure('rejected', 400),
  unreachable: failure('transient', 503),
}
const CAUSES = Object.keys(OF_CAUSE) as Cause[]

function failure(kind: FailureClass, status: number, code = String(status)): ProviderFailure {
  return { class: kind, code, message: `the provider answered ${status}`, status }
}

interface Row {
  from?: Breaker
  fleet?: number
  isNew?: boolean
}

/** After so many accounts have failed, at one moment. */
function afterFailures(cause: Cause, count: number, { from = CLOSED, fleet = FLEET, isNew = false }: Row = {}) {
  const hubIds = Array.from({ length: count }, (_, n) => n + 1)
  const fail = (breaker: Breaker, hubId: number) =>
    noteFailure(breaker, { hubId, failure: OF_CAUSE[cause], isNew }, fleet, NOW)
  return hubIds.reduce(fail, from)
}

const failedAt = (breaker: Breaker, hubId: number, now: number, cause: Cause = 'unreachable') =>
  noteFailure(breaker, { hubId, failure: OF_CAUSE[cause] }, FLEET, now)
const opened = (cause: Cause = 'unreachable') => afterFailures(cause, 10)
/** Open, with a probe under way. */
const probed = () => takeProbe(opened(), NOW + 5 * SECOND).breaker
const halfOpen = () => noteSuccesses(probed(), 1, NOW + MINUTE)

describe('the breaker', () => {
  test('an import full of dead tokens is no trouble of the fleet while other accounts are refreshed', () => {
    const dead = (from: Breaker) => afterFailures('refused', 5_000, { from, isNew: true }).is
    expect(dead(noteSuccesses(CLOSED, 1, NOW - 59 * MINUTE))).toBe('closed')
    // Nobody else vouches for the app: then it may well be the app.
    expect(dead(CLOSED)).toBe('open')
    expect(dead(noteSuccesses(CLOSED, 1, NOW - 60 * MINUTE))).toBe('open')
    // Of accounts that worked before each counts, and that the app itself is refused, new ones tell as well as others.
    const vouchedFor = noteSuccesses(CLOSED, 1, NOW - MINUTE)
    expect(afterFailures('refused', 10, { from: vouchedFor }).is).toBe('open')
    expect(afterFailures('credentials', 5, { from: vouchedFor, isNew: true }).is).toBe('open')
  })

  test.each([
    ['credentials', FLEET, 5],
    ['credentials', 4, 4],
    ['credentials', 1, 3],
    ['refused', FLEET, 10],
    ['refused', 7, 7],
    ['unreachable', FLEET, 10],
    ['unreachable', 2, 3],
  ] as const)('opens for %s in a fleet of %i after %i accounts, and not before', (cause, fleet, count) => {
    expect(afterFailures(cause, count - 1, { fleet })).toMatchObject({ is: 'closed', cause: null })
    const probing = { probeAt: NOW + 5 * SECOND, probes: 0 }
    const { message: detail } = OF_CAUSE[cause]
    expect(afterFailures(cause, count, { fleet })).toMatchObject({ is: 'open', cause, since: NOW, detail, ...probing })
  })

  test('counts accounts, not failures, each cause for itself', () => {
    const nineOfEach = afterFailures('unreachable', 9, { from: afterFailures('refused', 9) })
    for (let n = 0; n < 100; n++) expect(failedAt(nineOfEach, 7, NOW + n).is).toBe('closed')
    expect(failedAt(nineOfEach, 10, NOW).is).toBe('open')
  })

  test('forgets who failed an hour ago, and of the app, or of tokens that are refused, as soon as one works', () => {
    const nine = afterFailures('refused', 9)
    expect(failedAt(nine, 99, NOW + 60 * MINUTE, 'refused').is).toBe('closed')
    expect(failedAt(nine, 99, NOW + 59 * MINUTE, 'refused').is).toBe('open')
    expect(failedAt(noteSuccesses(nine, 1, NOW), 99, NOW, 'refused').is).toBe('closed')
    const four = noteSuccesses(afterFailures('credentials', 4), 1, NOW)
    expect(failedAt(four, 99, NOW, 'credentials').is).toBe('closed')
  })

  test('takes each success for two failures of an outage that is not whole', () => {
    const nine = afterFailures('unreachable', 9)
    expect(noteSuccesses(nine, 3, NOW).suspects.unreachable).toHaveLength(3)
    expect(noteSuccesses(nine, 5, NOW).suspects.unreachable).toEqual([])
  })

  test.each([
    ['client', 401, 'invalid_client', 'credentials'],
    ['client', 400, 'UNAUTHORIZED_CLIENT', 'credentials'],
    ['client', 400, 'BAD_CLIENT_ID', 'credentials'],
    ['client', 400, 'BAD_CLIENT_SECRET', 'credentials'],
    ['client', 400, 'MISMATCH_REDIRECT_URI_AUTH_CODE', 'credentials'],
    ['client', 400, 'unsupported_grant_type', 'unreachable'],
    ['client', 404, 'OBJECT_NOT_FOUND', 'unreachable'],
    ['rejected', 400, 'BAD_REFRESH_TOKEN', 'refused'],
    ['rejected', 488, 'other-data-center', undefined],
    ['transient', 403, 'intermediary', 'unreachable'],
    ['transient', 400, 'temporarily_unavailable', 'unreachable'],
    ['transient', 0, 'timeout', 'unreachable'],
    ['transient', 502, '502', 'unreachable'],
    ['transient', 429, '429', undefined],
    ['parked', 477, '477', undefined],
  ] as const)('takes %s with status %i and %s for %s', (kind, status, code, cause) => {
    expect(causeOf(failure(kind, status, code))).toBe(cause)
  })
})

describe('an open breaker', () => {
  test('probes soon at first, and twice a minute for as long as it lasts', () => {
    let breaker = opened()
    const probes: number[] = []
    for (let now = NOW; now < NOW + 60 * MINUTE; now += 20) {
      const taken = takeProbe(breaker, now)
      breaker = taken.breaker
      if (taken.granted === 0) continue
      expect(breaker.probeAt).toBeGreaterThan(now)
      probes.push(now)
      breaker = failedAt(breaker, probes.length, now)
    }
    expect(probes[0]).toBe(NOW + 5 * SECOND)
    const inMinute = (at: number) => probes.filter((other) => other >= at && other < at + MINUTE).length
    expect(Math.max(...probes.map(inMinute))).toBeLessThan(10)
    expect(inMinute(NOW + 30 * MINUTE)).toBe(2)
    expect(breaker).toMatchObject({ is: 'open', cause: 'unreachable' })
  })

  test('says what the last probe was told', () => {
    const breaker = failedAt(opened(), 99, NOW + MINUTE, 'credentials')
    expect(breaker).toMatchObject({ is: 'open', cause: 'credentials', detail: 'the provider answered 401', since: NOW })
  })

  test('is not closed by what was asked before it opened and is told late', () => {
    expect(noteSuccesses(opened(), 50, NOW + 200)).toEqual({ ...opened(), lastSuccessAt: NOW + 200 })
  })

  test('is half open once one works, and closed after ten', () => {
    expect(halfOpen()).toMatchObject({ is: 'half-open', cause: 'unreachable', since: NOW, worked: 1 })
    const nine = noteSuccesses(halfOpen(), 8, NOW + MINUTE)
    expect(nine.is).toBe('half-open')
    expect(noteSuccesses(nine, 1, NOW + MINUTE)).toEqual({ ...CLOSED, lastSuccessAt: NOW + MINUTE })
  })
})

describe('a half-open breaker', () => {
  test('opens again after three more accounts fail, as the same trouble', () => {
    const two = afterFailures('unreachable', 2, { from: halfOpen() })
    expect(two.is).toBe('half-open')
    const three = failedAt(two, 3, NOW + 2 * MINUTE)
    expect(three).toMatchObject({ is: 'open', since: NOW, probes: 0, probeAt: NOW + 2 * MINUTE + 5 * SECOND })
  })

  test('closes in a quiet fleet once nothing has failed for half a minute', () => {
    const at = NOW + MINUTE
    expect(settle(halfOpen(), at + 29 * SECOND).is).toBe('half-open')
    expect(settle(halfOpen(), at + 30 * SECOND).is).toBe('closed')
    const failed = failedAt(halfOpen(), 3, at + 20 * SECOND)
    expect(settle(failed, at + 30 * SECOND).is).toBe('half-open')
    expect(settle(failed, at + 50 * SECOND).is).toBe('closed')
  })
})

test('whatever happens in whatever order, a breaker makes sense', () => {
  const event = fc.record({
    is: fc.constantFrom('failure', 'success', 'probe', 'settle'),
    hubId: fc.integer({ min: 1, max: 40 }),
    cause: fc.constantFrom(...CAUSES),
    count: fc.integer({ min: 0, max: 12 }),
    passes: fc.oneof(fc.nat(2_000), fc.nat(10 * MINUTE), fc.constant(60 * MINUTE)),
  })
  fc.assert(
    fc.property(fc.nat(50), fc.array(event, { maxLength: 120 }), (fleet, events) => {
      let breaker = CLOSED
      let now = NOW
      for (const { is, hubId, cause, count, passes } of events) {
        now += passes
        if (is === 'failure') breaker = noteFailure(breaker, { hubId, failure: OF_CAUSE[cause] }, fleet, now)
        if (is === 'success') breaker = noteSuccesses(breaker, count, now)
        if (is === 'settle') breaker = settle(breaker, now)
        if (is === 'probe' && breaker.is === 'open') {
          const { breaker: after, granted } = takeProbe(breaker, now)
          if (granted > 0) expect(after.probeAt).toBeGreaterThan(now)
          expect(granted).toBeLessThanOrEqual(1)
          breaker = after
        }
        expect(breaker.cause === null).toBe(breaker.is === 'closed')
        for (const found of Object.values(breaker.suspects)) {
          expect(found.length).toBeLessThanOrEqual(10)
          expect(new Set(found.map(([id]) => id)).size).toBe(found.length)
        }
        expect(JSON.parse(JSON.stringify(breaker))).toEqual(breaker)
      }
    }),
  )
})

test('codes of installs wait while it is open, but not where they may be the only way out', () => {
  for (const cause of CAUSES) {
    const breaker = opened(cause)
    // New customers, and those who connect again.
    expect(holdsCodes(breaker, breaker.probeAt)).toBe(cause !== 'refused')
    expect(holdsCodes(takeProbe(breaker, breaker.probeAt).breaker, breaker.probeAt)).toBe(cause !== 'refused')
  }
  // No account is left to close it.
  expect(holdsCodes(opened(), opened().probeAt + 30 * SECOND - 1)).toBe(true)
  expect(holdsCodes(opened(), opened().probeAt + 30 * SECOND)).toBe(false)
  expect([CLOSED, halfOpen()].map((breaker) => holdsCodes(breaker, NOW))).toEqual([false, false])
})
