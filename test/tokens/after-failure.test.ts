import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { FailureClass, ProviderFailure } from '../../src/provider/failure.ts'
import { retryAfterMs } from '../../src/runtime/retry-after.ts'
import { afterFailure, confirmedBy, type FailedRefresh } from '../../src/tokens/after-failure.ts'

const SETTINGS = { refreshFrom: 0.5, refreshBy: 0.8 }
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const OBTAINED = 1_763_719_200_000
const LIFE = 30 * MINUTE
const EARLY = OBTAINED + 16 * MINUTE
const LATE_FROM = OBTAINED + 24 * MINUTE
const LATE = OBTAINED + 25 * MINUTE

function failure(kind: FailureClass, retryAfterMs?: number): ProviderFailure {
  return { class: kind, code: 'x', message: 'x', status: 0, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
}

function failed(kind: FailureClass, more: Partial<FailedRefresh> = {}, retryAfterMs?: number): FailedRefresh {
  return {
    hubId: 123,
    state: 'active',
    times: { obtainedAt: OBTAINED, expiresAt: OBTAINED + LIFE },
    failures: 0,
    rejectedAt: null,
    failure: failure(kind, retryAfterMs),
    standing: { fleetTrouble: false, lastSuccessAt: 0, fleet: 1, until: 0 },
    ...more,
  }
}

const decide = (one: FailedRefresh, now: number, random = 0.5) => afterFailure(one, SETTINGS, now, random)

describe('a transient failure', () => {
  test('in the early window is one try: the next comes when the late window begins, and nothing is counted', () => {
    expect(decide(failed('transient'), EARLY)).toEqual({
      state: 'active',
      refreshAt: LATE_FROM,
      pollAt: 'unchanged',
      failures: 0,
      rejectedAt: null,
      alert: 'none',
    })
  })

  test('in the early window waits longer where the provider says so', () => {
    const justBefore = LATE_FROM - SECOND
    expect(decide(failed('transient', {}, 2 * MINUTE), justBefore).refreshAt).toBe(justBefore + 2 * MINUTE)
    expect(decide(failed('transient', {}, MINUTE), EARLY).refreshAt).toBe(LATE_FROM)
  })

  test.each([
    [0, SECOND],
    [1, 2 * SECOND],
    [2, 4 * SECOND],
    [5, 32 * SECOND],
    [8, 256 * SECOND],
    [9, 300 * SECOND],
    [50, 300 * SECOND],
    [5_000, 300 * SECOND],
  ])('in the late window, after %i failures, is tried again after %i ms', (failures, ms) => {
    const next = decide(failed('transient', { failures }), LATE)
    expect(next).toMatchObject({ state: 'failing', refreshAt: LATE + ms, failures: failures + 1, alert: 'none' })
  })

  test.each([
    [20 * SECOND, (20 * SECOND) / 6],
    [6 * SECOND, 3 * SECOND],
    [6 * HOUR, 5 * MINUTE],
  ])('of a token that lives %i ms is never put off by more than %i ms', (life, cap) => {
    const times = { obtainedAt: OBTAINED, expiresAt: OBTAINED + life }
    const next = decide(failed('transient', { times, failures: 30 }), OBTAINED + life)
    expect(next.refreshAt).toBe(OBTAINED + life + Math.round(cap))
  })

  test('is jittered by a quarter either way', () => {
    const one = failed('transient', { failures: 3 })
    expect(decide(one, LATE, 0).refreshAt).toBe(LATE + 6 * SECOND)
    expect(decide(one, LATE, 1).refreshAt).toBe(LATE + 10 * SECOND)
  })

  test('obeys Retry-After, also where it says longer than the back-off would', () => {
    expect(decide(failed('transient', {}, 90 * SECOND), LATE).refreshAt).toBe(LATE + 90 * SECOND)
    expect(decide(failed('transient', {}, 0), LATE).refreshAt).toBe(LATE + SECOND)
  })

  test('obeys it no longer than a back-off may last: a day would be the end of the token', () => {
    expect(decide(failed('transient', {}, 24 * HOUR), LATE).refreshAt).toBe(LATE + 5 * MINUTE)
    expect(decide(failed('transient', {}, 24 * HOUR), EARLY).refreshAt).toBe(LATE_FROM)
    const times = { obtainedAt: OBTAINED, expiresAt: OBTAINED + 60 * SECOND }
    expect(decide(failed('transient', { times }, 24 * HOUR), LATE).refreshAt).toBe(LATE + 10 * SECOND)
  })

  test('never ends in reauthorize, however often it comes, but is told once the token has been dead for a while', () => {
    const often = failed('transient', { failures: 100_000, state: 'failing' })
    expect(decide(often, LATE + 30 * 24 * HOUR)).toMatchObject({ state: 'failing', alert: 'failing' })
    expect(decide(often, OBTAINED + LIFE + 3 * MINUTE - 1)).toMatchObject({ alert: 'none' })
    expect(decide(often, OBTAINED + LIFE + 3 * MINUTE)).toMatchObject({ alert: 'failing' })
    expect(decide(failed('transient', { failures: 1 }), LATE + HOUR)).toMatchObject({ alert: 'none' })
  })
})

describe('an account that is told to wait', () => {
  test('is parked until then, and is not polled either', () => {
    const until = LATE + 3 * HOUR
    expect(decide(failed('parked', {}, 3 * HOUR), LATE)).toMatchObject({
      state: 'parked',
      refreshAt: until,
      pollAt: until,
      // Its token will have expired by then.
      alert: 'failing',
    })
    expect(decide(failed('parked', {}, 2 * MINUTE), LATE)).toMatchObject({ state: 'parked', alert: 'none' })
  })

  test('without being told how long waits an hour', () => {
    expect(decide(failed('parked'), EARLY)).toMatchObject({ refreshAt: EARLY + HOUR, pollAt: EARLY + HOUR })
  })

  test('for no time at all still waits a while', () => {
    const told = retryAfterMs('0', LATE)
    expect(decide(failed('parked', {}, told), LATE).refreshAt).toBeGreaterThan(LATE)
  })
})

describe('a refresh token that is refused', () => {
  test('is not believed at once: the account is failing, and asked again some time later', () => {
    expect(decide(failed('rejected'), EARLY)).toMatchObject({
      state: 'failing',
      refreshAt: EARLY + 3 * MINUTE,
      rejectedAt: EARLY,
      pollAt: 'unchanged',
      alert: 'none',
    })
  })

  test('and is refused again too soon is still not believed', () => {
    expect(decide(failed('rejected', { state: 'failing', rejectedAt: EARLY }), EARLY + MINUTE)).toMatchObject({
      state: 'failing',
      refreshAt: EARLY + 3 * MINUTE,
      rejectedAt: EARLY,
      alert: 'none',
    })
  })

  test('and is refused again after that time is believed: the account must be authorised again', () => {
    const now = EARLY + 3 * MINUTE
    const next = decide(failed('rejected', { state: 'failing', rejectedAt: EARLY }), now)
    expect(next).toMatchObject({ state: 'reauthorize', pollAt: 'never', alert: 'reauthorize', rejectedAt: EARLY })
    expect(next.refreshAt).toBe(now + 24 * HOUR)
  })

  test.each([
    [20 * SECOND, 2 * SECOND],
    [5 * SECOND, 2 * SECOND],
    [10 * HOUR, 5 * MINUTE],
  ])('with a life of %i ms is asked again after %i ms', (life, ms) => {
    const times = { obtainedAt: OBTAINED, expiresAt: OBTAINED + life }
    expect(decide(failed('rejected', { times }), EARLY).refreshAt).toBe(EARLY + ms)
  })

  test('of an account that waits to be authorised is asked about once a day, and told nobody again', () => {
    for (const kind of ['rejected', 'transient', 'client', 'parked'] as const) {
      const next = decide(failed(kind, { state: 'reauthorize', rejectedAt: EARLY, failures: 2 }), LATE, 0)
      expect(next).toMatchObject({ state: 'reauthorize', refreshAt: LATE + 0.9 * 24 * HOUR, alert: 'none' })
    }
  })
})

describe('in a fleet of more than one a refused refresh token', () => {
  const REFUSED_AT = LATE
  const AGAIN = REFUSED_AT + 3 * MINUTE
  const refused = (standing: Partial<FailedRefresh['standing']>) =>
    failed('rejected', {
      state: 'failing',
      rejectedAt: REFUSED_AT,
      failures: 1,
      standing: { fleetTrouble: false, lastSuccessAt: 0, fleet: 1_000, until: 0, ...standing },
    })

  test('is believed when another account was refreshed since it was first refused', () => {
    expect(decide(refused({ lastSuccessAt: REFUSED_AT + 1 }), AGAIN)).toMatchObject({
      state: 'reauthorize',
      alert: 'reauthorize',
      pollAt: 'never',
    })
  })

  test('is not believed while nobody was, and asked about again some time later', () => {
    for (const lastSuccessAt of [0, REFUSED_AT - 1, REFUSED_AT]) {
      expect(decide(refused({ lastSuccessAt }), AGAIN)).toMatchObject({
        state: 'failing',
        rejectedAt: REFUSED_AT,
        refreshAt: AGAIN + 3 * MINUTE,
        alert: 'none',
      })
    }
  })

  test('is not believed before the time is over, whoever was refreshed meanwhile', () => {
    expect(decide(refused({ lastSuccessAt: AGAIN - 1 }), AGAIN - 1)).toMatchObject({
      state: 'failing',
      refreshAt: AGAIN,
    })
  })

  test('is believed after a whole life of the token though nobody came by, and told as failing until then', () => {
    const almost = REFUSED_AT + LIFE - 1
    expect(decide({ ...refused({}), failures: 9 }, almost)).toMatchObject({ state: 'failing', alert: 'failing' })
    expect(decide(refused({}), almost + 1)).toMatchObject({ state: 'reauthorize', alert: 'reauthorize' })
  })

  test.each([20 * SECOND, LIFE, 6 * HOUR])('is believed no later than promised, with tokens of %i ms', (life) => {
    const times = { obtainedAt: OBTAINED, expiresAt: OBTAINED + life }
    let one = failed('rejected', { times, standing: { fleetTrouble: false, lastSuccessAt: 0, fleet: 1_000, until: 0 } })
    let now = OBTAINED
    for (let next = decide(one, now); next.state !== 'reauthorize'; next = decide(one, now)) {
      one = { ...one, state: next.state, rejectedAt: next.rejectedAt, failures: next.failures }
      now = next.refreshAt
    }
    expect(now).toBeGreaterThan(OBTAINED)
    expect(now).toBeLessThanOrEqual(confirmedBy(OBTAINED, times))
  })
})

describe('a trouble of the whole fleet', () => {
  const until = LATE + 20 * SECOND

  test.each(['transient', 'rejected', 'client', 'unauthorized', 'forbidden'] as const)(
    'changes nothing of an account that fails with %s meanwhile, and lets it wait for the endpoint',
    (kind) => {
      for (const state of ['active', 'failing', 'parked'] as const) {
        const rejectedAt = state === 'failing' ? EARLY : null
        const one = failed(kind, {
          state,
          failures: 7,
          rejectedAt,
          standing: { fleetTrouble: true, lastSuccessAt: LATE, fleet: 1_000, until },
        })
        for (const now of [LATE, LATE + 30 * 24 * HOUR]) {
          const refreshAt = Math.max(now, until) + SECOND / 2
          expect(decide(one, now)).toEqual({
            state,
            refreshAt,
            pollAt: 'unchanged',
            failures: 7,
            rejectedAt,
            alert: 'none',
          })
        }
      }
    },
  )

  test('does not keep an account from being parked', () => {
    const standing = { fleetTrouble: true, lastSuccessAt: LATE, fleet: 1_000, until }
    expect(decide(failed('parked', { standing }, 2 * MINUTE), LATE)).toMatchObject({ state: 'parked' })
  })
})

describe('an app that is refused', () => {
  test.each(['active', 'failing', 'parked', 'reauthorize'] as const)('leaves the account %s', (state) => {
    const next = decide(failed('client', { state, failures: 3, rejectedAt: state === 'failing' ? EARLY : null }), LATE)
    expect(next).toMatchObject({ state, pollAt: 'unchanged', alert: 'none' })
  })
})

test('whatever fails, there is a next moment in the future, and only a second refusal asks for authorisation', () => {
  const any = fc.record({
    state: fc.constantFrom('active', 'failing', 'parked', 'reauthorize'),
    kind: fc.constantFrom<FailureClass>('transient', 'parked', 'unauthorized', 'forbidden', 'rejected', 'client'),
    retryAfterMs: fc.option(fc.integer({ min: 1, max: 24 * HOUR }), { nil: undefined }),
    failures: fc.nat(1_000_000),
    rejectedAgo: fc.option(fc.nat(48 * HOUR)),
    life: fc.integer({ min: 1_000, max: 24 * HOUR }),
    age: fc.nat(48 * HOUR),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
    standing: fc.record({
      fleetTrouble: fc.boolean(),
      lastSuccessAt: fc.integer({ min: OBTAINED, max: OBTAINED + 48 * HOUR }),
      fleet: fc.nat(100),
      until: fc.constant(0),
    }),
  })
  fc.assert(
    fc.property(any, ({ state, kind, retryAfterMs, failures, rejectedAgo, life, age, random, standing }) => {
      const now = OBTAINED + age
      const rejectedAt = rejectedAgo === null ? null : now - rejectedAgo
      const times = { obtainedAt: OBTAINED, expiresAt: OBTAINED + life }
      const one = { ...failed(kind, { times, failures, rejectedAt, standing }, retryAfterMs), state } as FailedRefresh
      const next = decide(one, now, random)
      expect(next.refreshAt).toBeGreaterThanOrEqual(now)
      if (!standing.fleetTrouble) expect(next.refreshAt).toBeGreaterThan(now)
      expect(next.refreshAt).toBeLessThanOrEqual(Math.max(now + 26.5 * HOUR, times.expiresAt))
      if (next.alert === 'reauthorize')
        expect([kind, rejectedAt === null, state === 'reauthorize']).toEqual(['rejected', false, false])
      const vouched = standing.fleet <= 1 || standing.lastSuccessAt > (rejectedAt ?? now)
      if (next.alert === 'reauthorize') {
        expect(standing.fleetTrouble).toBe(false)
        expect(vouched || now - (rejectedAt ?? now) >= Math.min(life, HOUR)).toBe(true)
      }
      if (kind !== 'rejected' && state !== 'reauthorize') expect(next.state).not.toBe('reauthorize')
    }),
  )
})

describe('a failure of an account that has no token yet', () => {
  const times = { obtainedAt: 0, expiresAt: 0 }

  test('is answered with the pauses of a usual life, and never with a poll', () => {
    expect(decide(failed('transient', { times, failures: 9 }), LATE)).toMatchObject({ refreshAt: LATE + 300 * SECOND })
    expect(decide(failed('rejected', { times }), LATE)).toMatchObject({
      state: 'failing',
      refreshAt: LATE + 3 * MINUTE,
    })
    expect(decide(failed('parked', { times }), LATE)).toMatchObject({ state: 'parked', pollAt: 'unchanged' })
  })
})
