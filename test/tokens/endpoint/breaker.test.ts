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
  throttled: failure('transient', 429),
}
const CAUSES = Object.keys(OF_CAUSE) as Cause[]

function failure(kind: FailureClass, status: number, code = String(status)): ProviderFailure {
  return { class: kind, code, message: `the provider answered ${status}`, status }
}

type Failed = Parameters<typeof noteFailure>[1]

/** After so many failures, the nth of which is this, one every `everyMs`. */
function afterRow(count: number, nth: (n: number) => Failed, everyMs = 0, from = CLOSED, fleet = FLEET): Breaker {
  const all = Array.from({ length: count }, (_, n) => n + 1)
  return all.reduce((breaker, n) => noteFailure(breaker, nth(n), fleet, NOW + n * everyMs), from)
}

/** After `count` accounts have failed, one every `everyMs`. */
function afterFailures(cause: Cause, count: number, fleet = FLEET, everyMs = 0, from = CLOSED): Breaker {
  return afterRow(count, (hubId) => ({ hubId, failure: OF_CAUSE[cause] }), everyMs, from, fleet)
}

function opened(cause: Cause = 'unreachable'): Breaker {
  const breaker = cause === 'throttled' ? afterFailures(cause, 9, FLEET, 20 * SECOND) : afterFailures(cause, 10)
  expect(breaker.is).toBe('open')
  return breaker
}

/** Open, with a probe under way. */
function probed(): Breaker {
  return takeProbe(opened(), NOW + 5 * SECOND).breaker
}

/** The same chance every time, from 0 to below 1. */
function chance(seed: number): () => number {
  let s = seed
  return () => {
    s = (Math.imul(s, 1_664_525) + 1_013_904_223) >>> 0
    return s / 2 ** 32
  }
}

describe('the breaker', () => {
  test('an import full of dead tokens is no trouble of the fleet while other accounts are refreshed', () => {
    const isNew = (cause: Cause) => (hubId: number) => ({ hubId, failure: OF_CAUSE[cause], isNew: true })
    const dead = (from: Breaker) => afterRow(5_000, isNew('refused'), 1, from).is
    expect(dead(noteSuccesses(CLOSED, 1, NOW - 59 * MINUTE))).toBe('closed')
    // Nobody else vouches for the app: then it may well be the app.
    expect(dead(CLOSED)).toBe('open')
    expect(dead(noteSuccesses(CLOSED, 1, NOW - 60 * MINUTE))).toBe('open')
    // Of accounts that worked before each counts, whoever is refreshed.
    expect(afterFailures('refused', 10, FLEET, 1, noteSuccesses(CLOSED, 1, NOW - MINUTE)).is).toBe('open')
    // That the app itself is refused, new accounts tell as well as others.
    expect(afterRow(5, isNew('credentials'), 0, noteSuccesses(CLOSED, 1, NOW)).is).toBe('open')
  })

  test.each([
    ['credentials', FLEET, 5],
    ['credentials', 4, 4],
    ['credentials', 3, 3],
    ['refused', FLEET, 10],
    ['refused', 7, 7],
    ['refused', 5, 5],
    ['unreachable', FLEET, 10],
    ['unreachable', 6, 6],
  ] as const)('opens for %s in a fleet of %i after %i accounts, and not before', (cause, fleet, count) => {
    expect(afterFailures(cause, count - 1, fleet)).toMatchObject({ is: 'closed', cause: null })
    expect(afterFailures(cause, count, fleet)).toMatchObject({
      is: 'open',
      cause,
      since: NOW,
      probeAt: NOW + 5 * SECOND,
      probes: 0,
      detail: OF_CAUSE[cause].message,
    })
  })

  test('never opens in a fleet so small that its accounts can be told of one by one', () => {
    for (const fleet of [1, 2]) for (const cause of CAUSES) expect(afterFailures(cause, fleet, fleet).is).toBe('closed')
  })

  test.each(CAUSES)('counts accounts, not failures: one that fails for %s a hundred times is one', (cause) => {
    const breaker = afterRow(100, () => ({ hubId: 7, failure: OF_CAUSE[cause] }), 5 * SECOND)
    expect(breaker.is).toBe('closed')
    expect(breaker.suspects[cause]).toHaveLength(1)
  })

  test('believes the causes one by one: nine of each are nothing yet', () => {
    expect(afterFailures('unreachable', 9, FLEET, 0, afterFailures('refused', 9)).is).toBe('closed')
  })

  test.each(['credentials', 'refused', 'throttled'] as const)(
    'forgets who failed for %s as soon as one works',
    (cause) => {
      let breaker = CLOSED
      for (let n = 0; n < 200; n++) {
        breaker = noteFailure(breaker, { hubId: n, failure: OF_CAUSE[cause] }, FLEET, NOW + n * 30 * SECOND)
        if (n % 4 === 3) breaker = noteSuccesses(breaker, 1, NOW + n * 30 * SECOND)
      }
      expect(breaker.is).toBe('closed')
    },
  )

  test('forgets who failed an hour ago', () => {
    const long = afterFailures('refused', 9)
    expect(noteFailure(long, { hubId: 99, failure: OF_CAUSE.refused }, FLEET, NOW + 60 * MINUTE).is).toBe('closed')
    expect(noteFailure(long, { hubId: 99, failure: OF_CAUSE.refused }, FLEET, NOW + 59 * MINUTE).is).toBe('open')
  })

  test('never blames the fleet for an account that moves house', () => {
    expect(afterRow(1_000, (hubId) => ({ hubId, failure: failure('parked', 477) }))).toEqual(CLOSED)
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
    ['transient', 429, '429', 'throttled'],
    ['parked', 477, '477', undefined],
  ] as const)('takes %s with status %i and %s for %s', (kind, status, code, cause) => {
    expect(causeOf(failure(kind, status, code))).toBe(cause)
  })
})

describe('a flood of 429s', () => {
  test('is told only after two minutes in which nothing went through', () => {
    expect(afterFailures('throttled', 13, FLEET, 10 * SECOND)).toMatchObject({ is: 'open', cause: 'throttled' })
    expect(afterFailures('throttled', 12, FLEET, 10 * SECOND).is).toBe('closed')
  })

  test('is told however many accounts are refused in a minute', () => {
    expect(afterFailures('throttled', 2_000, FLEET, SECOND).is).toBe('open')
    expect(afterFailures('throttled', 110, FLEET, SECOND).is).toBe('closed')
  })

  test('is told in a fleet of three whose accounts come round and round', () => {
    const inTurn = (n: number) => ({ hubId: n % 3, failure: OF_CAUSE.throttled })
    expect(afterRow(20, inTurn, 7 * SECOND, CLOSED, 3)).toMatchObject({ is: 'open', cause: 'throttled' })
  })

  test('after an outage does not bring the outage back: the pace sees to it', () => {
    const better = noteSuccesses(probed(), 1, NOW + MINUTE)
    expect(afterFailures('throttled', 8, FLEET, 0, better).is).toBe('half-open')
  })
})

describe('an outage that is not whole', () => {
  /** How often it opens in 10,000 calls. */
  function opens(share: number): number {
    const random = chance(7)
    let [breaker, count] = [CLOSED, 0]
    for (let n = 0; n < 10_000; n++) {
      const now = NOW + n * 10
      breaker =
        random() < share
          ? noteFailure(breaker, { hubId: n, failure: OF_CAUSE.unreachable }, FLEET, now)
          : noteSuccesses(breaker, 1, now)
      if (breaker.is === 'closed') continue
      count++
      breaker = CLOSED
    }
    return count
  }

  test('does not open it at three failures in ten, and does at eight', () => {
    expect(opens(0.3)).toBe(0)
    expect(opens(0.8)).toBeGreaterThan(100)
  })
})

describe('an open breaker', () => {
  test.each(CAUSES)('for %s probes, soon at first, twice a minute for as long as it lasts', (cause) => {
    let breaker = opened(cause)
    const start = breaker.probeAt - 5 * SECOND
    const probes: number[] = []
    for (let now = start; now < start + 60 * MINUTE; now += 20) {
      const taken = takeProbe(breaker, now)
      breaker = taken.breaker
      if (taken.granted === 0) continue
      expect(breaker.probeAt).toBeGreaterThan(now)
      probes.push(now)
      breaker = noteFailure(breaker, { hubId: probes.length, failure: OF_CAUSE[cause] }, FLEET, now)
    }
    expect(probes[0]).toBe(start + 5 * SECOND)
    const inMinute = (at: number) => probes.filter((other) => other >= at && other < at + MINUTE).length
    expect(Math.max(...probes.map(inMinute))).toBeLessThan(10)
    expect(inMinute(start + 30 * MINUTE)).toBe(2)
    expect(breaker).toMatchObject({ is: 'open', cause })
  })

  test('says what the last probe was told', () => {
    const last = { hubId: 99, failure: OF_CAUSE.credentials }
    const breaker = noteFailure(opened('unreachable'), last, FLEET, NOW + MINUTE)
    expect(breaker).toMatchObject({ is: 'open', cause: 'credentials', detail: 'the provider answered 401', since: NOW })
  })

  test('is not closed by what was asked before it opened and is told late', () => {
    expect(noteSuccesses(opened(), 50, NOW + 200)).toEqual({ ...opened(), lastSuccessAt: NOW + 200 })
  })

  test('is half open once one works, and closed after ten', () => {
    const one = noteSuccesses(probed(), 1, NOW + MINUTE)
    expect(one).toMatchObject({ is: 'half-open', cause: 'unreachable', since: NOW, worked: 1 })
    const nine = noteSuccesses(one, 8, NOW + MINUTE)
    expect(nine.is).toBe('half-open')
    expect(noteSuccesses(nine, 1, NOW + MINUTE)).toEqual({ ...CLOSED, lastSuccessAt: NOW + MINUTE })
  })
})

describe('a half-open breaker', () => {
  const halfOpen = () => noteSuccesses(probed(), 1, NOW + MINUTE)

  test('opens again after three more accounts fail, as the same trouble', () => {
    const two = afterFailures('unreachable', 2, FLEET, 0, halfOpen())
    expect(two.is).toBe('half-open')
    const three = noteFailure(two, { hubId: 3, failure: OF_CAUSE.unreachable }, FLEET, NOW + 2 * MINUTE)
    expect(three).toMatchObject({ is: 'open', since: NOW, probes: 0, probeAt: NOW + 2 * MINUTE + 5 * SECOND })
  })

  test('closes in a quiet fleet once nothing has failed for half a minute', () => {
    const at = NOW + MINUTE
    expect(settle(halfOpen(), at + 29 * SECOND).is).toBe('half-open')
    expect(settle(halfOpen(), at + 30 * SECOND).is).toBe('closed')
    const failed = noteFailure(halfOpen(), { hubId: 3, failure: OF_CAUSE.unreachable }, FLEET, at + 20 * SECOND)
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
        if (is === 'failure') breaker = noteFailure(breaker, { hubId: hubId, failure: OF_CAUSE[cause] }, fleet, now)
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

describe('codes of installs', () => {
  test.each<[Cause, boolean]>([
    ['credentials', true],
    ['unreachable', true],
    ['throttled', true],
    // New customers, and those who connect again, may be the only way out.
    ['refused', false],
  ])('wait while the breaker is open because of %s: %s', (cause, waits) => {
    const breaker = opened(cause)
    expect(holdsCodes(breaker, breaker.probeAt)).toBe(waits)
    expect(holdsCodes(takeProbe(breaker, breaker.probeAt).breaker, breaker.probeAt)).toBe(waits)
  })

  test('do not wait for a breaker that no account is left to close', () => {
    const breaker = opened()
    expect(holdsCodes(breaker, breaker.probeAt + 30 * SECOND - 1)).toBe(true)
    expect(holdsCodes(breaker, breaker.probeAt + 30 * SECOND)).toBe(false)
  })

  test('go through while it is closed, or half-open', () => {
    expect(holdsCodes(CLOSED, NOW)).toBe(false)
    expect(holdsCodes(noteSuccesses(probed(), 1, NOW + 6 * SECOND), NOW + 6 * SECOND)).toBe(false)
  })
})
