import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FailureClass } from '../../src/provider/failure.ts'
import { retryAfterMs } from '../../src/runtime/retry-after.ts'
import { type AfterFailure, afterFailure, confirmedBy, type FailedRefresh } from '../../src/tokens/after-failure.ts'

const SETTINGS = { refreshFrom: 0.5, refreshBy: 0.8 }
const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const OBTAINED = 1_763_719_200_000
const LIFE = 30 * MINUTE
const EARLY = OBTAINED + 16 * MINUTE
const LATE_FROM = OBTAINED + 24 * MINUTE
const LATE = OBTAINED + 25 * MINUTE
const OVER = OBTAINED + LIFE
const UNTIL = LATE + 20 * SECOND

interface Case extends Partial<Omit<FailedRefresh, 'standing' | 'failure'>> {
  kind: FailureClass
  status?: number
  /** Retry-After, ms. */
  told?: number | undefined
  life?: number
  standing?: Partial<FailedRefresh['standing']>
}

function failed({ kind, status = 0, told, life = LIFE, standing, ...more }: Case): FailedRefresh {
  return {
    hubId: 123,
    state: 'active',
    times: { obtainedAt: OBTAINED, expiresAt: OBTAINED + life },
    failures: 0,
    rejectedAt: null,
    failure: { class: kind, code: 'x', message: 'x', status, ...(told === undefined ? {} : { retryAfterMs: told }) },
    standing: { fleetTrouble: false, lastSuccessAt: 0, fleet: 1, until: 0, ...standing },
    ...more,
  }
}

const decide = (one: Case, now: number, random = 0.5) => afterFailure(failed(one), SETTINGS, now, random)

/** Refused once, in a fleet of a thousand. */
const AGAIN = { state: 'failing', rejectedAt: LATE, failures: 1, standing: { fleet: 1_000 } } as const
const OTHERS_WORK = { ...AGAIN, standing: { fleet: 1_000, lastSuccessAt: LATE + 1 } }
const DOUBTED = { state: 'failing', rejectedAt: EARLY } as const
const NO_TOKEN = { times: { obtainedAt: 0, expiresAt: 0 } }
const SAME = { state: 'active', pollAt: 'unchanged', failures: 0, alert: 'none' } as const

test.each<[FailureClass, Omit<Case, 'kind'>, number, Partial<AfterFailure>]>([
  // In the early window there is one try; then each is held against the account, at growing pauses.
  ['transient', {}, EARLY, { ...SAME, refreshAt: LATE_FROM }],
  ['transient', { told: 10 * MINUTE }, LATE_FROM - 1, { refreshAt: LATE_FROM - 1 + 5 * MINUTE }],
  ['transient', { told: MINUTE }, EARLY, { refreshAt: LATE_FROM }],
  ['transient', {}, LATE, { state: 'failing', refreshAt: LATE + SECOND, failures: 1, alert: 'none' }],
  ['transient', { failures: 5 }, LATE, { refreshAt: LATE + 32 * SECOND, failures: 6 }],
  ['transient', { failures: 5_000 }, LATE, { refreshAt: LATE + 300 * SECOND }],
  ['transient', { failures: 30, life: 60 * SECOND }, LATE, { refreshAt: LATE + 10 * SECOND }],
  ['transient', { failures: 30, life: 6 * SECOND }, LATE, { refreshAt: LATE + 3 * SECOND }],
  // Retry-After is obeyed, but a day of it would be the end of the token. A 429 is held against nobody.
  ['transient', { told: 90 * SECOND }, LATE, { refreshAt: LATE + 90 * SECOND }],
  ['transient', { told: DAY }, LATE, { refreshAt: LATE + 5 * MINUTE }],
  ['transient', { told: 0 }, LATE, { refreshAt: LATE + SECOND }],
  ['transient', { status: 429, told: 9_000 }, LATE, { ...SAME, refreshAt: LATE + 9_000 }],
  // Told the third time, once the token is over for a while; it never ends in reauthorize.
  ['transient', { failures: 2 }, OVER + 3 * MINUTE, { alert: 'failing' }],
  ['transient', { failures: 2 }, OVER + 3 * MINUTE - 1, { alert: 'none' }],
  ['transient', { failures: 1 }, OVER + HOUR, { alert: 'none' }],
  ['transient', { failures: 100_000 }, LATE + 30 * DAY, { state: 'failing', alert: 'failing' }],
  // An account that is told to wait is not polled either, and told of where its token ends before.
  ['parked', { told: HOUR }, LATE, { state: 'parked', refreshAt: LATE + HOUR, pollAt: LATE + HOUR, alert: 'failing' }],
  ['parked', { told: 2 * MINUTE }, LATE, { state: 'parked', alert: 'none' }],
  ['parked', {}, EARLY, { refreshAt: EARLY + HOUR, pollAt: EARLY + HOUR }],
  ['parked', { standing: { fleetTrouble: true } }, LATE, { state: 'parked' }],
  // A refusal is believed the second time, after a tenth of a life.
  ['rejected', {}, EARLY, { state: 'failing', refreshAt: EARLY + 3 * MINUTE, rejectedAt: EARLY, alert: 'none' }],
  ['rejected', DOUBTED, EARLY + MINUTE, { ...DOUBTED, refreshAt: EARLY + 3 * MINUTE }],
  ['rejected', DOUBTED, EARLY + 3 * MINUTE, { state: 'reauthorize', pollAt: 'never', alert: 'reauthorize' }],
  ['rejected', DOUBTED, EARLY + 3 * MINUTE, { rejectedAt: EARLY, refreshAt: EARLY + 3 * MINUTE + DAY }],
  ['rejected', { ...DOUBTED, rejectedAt: LATE }, EARLY, { state: 'failing', rejectedAt: EARLY }],
  ['rejected', { life: 5 * SECOND }, EARLY, { refreshAt: EARLY + 2 * SECOND }],
  ['rejected', { life: 10 * HOUR }, EARLY, { refreshAt: EARLY + 5 * MINUTE }],
  // And where another account was refreshed since, or after a whole life.
  ['rejected', OTHERS_WORK, LATE + 3 * MINUTE, { state: 'reauthorize', alert: 'reauthorize' }],
  ['rejected', OTHERS_WORK, LATE + 3 * MINUTE - 1, { state: 'failing', refreshAt: LATE + 3 * MINUTE }],
  ['rejected', AGAIN, LATE + 3 * MINUTE, { state: 'failing', rejectedAt: LATE, refreshAt: LATE + 6 * MINUTE }],
  ['rejected', { ...AGAIN, failures: 9 }, LATE + LIFE - 1, { state: 'failing', alert: 'failing' }],
  ['rejected', AGAIN, LATE + LIFE, { state: 'reauthorize', alert: 'reauthorize' }],
  // Without a token yet: the pauses of a usual life, and no polls.
  ['transient', { ...NO_TOKEN, failures: 9 }, LATE, { refreshAt: LATE + 300 * SECOND }],
  ['rejected', NO_TOKEN, LATE, { state: 'failing', refreshAt: LATE + 3 * MINUTE }],
  ['parked', NO_TOKEN, LATE, { state: 'parked', pollAt: 'unchanged' }],
])('after a failure of class %s: %j at %i', (kind, account, now, expected) => {
  expect(decide({ kind, ...account }, now)).toMatchObject(expected)
})

test('pauses are jittered by a quarter either way, and a wait of no time is none', () => {
  const one: Case = { kind: 'transient', failures: 3 }
  expect([decide(one, LATE, 0).refreshAt, decide(one, LATE, 1).refreshAt]).toEqual([
    LATE + 6 * SECOND,
    LATE + 10 * SECOND,
  ])
  expect(decide({ kind: 'parked', told: retryAfterMs('0', LATE) }, LATE).refreshAt).toBeGreaterThan(LATE)
})

test('an account that must be connected again is probed once a day, and told nobody again', () => {
  for (const kind of ['rejected', 'transient', 'client', 'parked'] as const) {
    const next = decide({ kind, state: 'reauthorize', rejectedAt: EARLY, failures: 2 }, LATE, 0)
    expect(next).toMatchObject({ state: 'reauthorize', refreshAt: LATE + 0.9 * DAY, alert: 'none' })
  }
})

test.each([20 * SECOND, LIFE, 6 * HOUR])(
  'a refusal is believed no later than promised, with tokens of %i ms',
  (life) => {
    let one: Case = { kind: 'rejected', life, standing: { fleet: 1_000 } }
    let now = OBTAINED
    for (let next = decide(one, now); next.state !== 'reauthorize'; next = decide(one, now)) {
      one = { ...one, state: next.state, rejectedAt: next.rejectedAt, failures: next.failures }
      now = next.refreshAt
    }
    expect(now).toBeGreaterThan(OBTAINED)
    expect(now).toBeLessThanOrEqual(confirmedBy(OBTAINED, failed(one).times))
  },
)

test('a trouble of the fleet, or of the app, is held against no account; in the former it waits for the endpoint', () => {
  for (const state of ['active', 'failing', 'parked'] as const) {
    const account = { state, failures: 7, rejectedAt: state === 'failing' ? EARLY : null }
    const same = { state, rejectedAt: account.rejectedAt, pollAt: 'unchanged', alert: 'none' }
    expect(decide({ kind: 'client', ...account, failures: 0 }, LATE)).toMatchObject(same)
    for (const kind of ['transient', 'rejected', 'client', 'unauthorized', 'forbidden'] as const) {
      const one = {
        kind,
        ...account,
        standing: { fleetTrouble: true, lastSuccessAt: LATE, fleet: 1_000, until: UNTIL },
      }
      for (const now of [LATE, LATE + 30 * DAY]) {
        expect(decide(one, now)).toEqual({ ...same, failures: 7, refreshAt: Math.max(now, UNTIL) + SECOND / 2 })
      }
    }
  }
})

test('whatever fails, there is a next moment in the future, and only a second refusal asks for authorisation', () => {
  const any = fc.record({
    state: fc.constantFrom('active', 'failing', 'parked', 'reauthorize'),
    kind: fc.constantFrom<FailureClass>('transient', 'parked', 'unauthorized', 'forbidden', 'rejected', 'client'),
    told: fc.option(fc.integer({ min: 1, max: DAY }), { nil: undefined }),
    failures: fc.nat(1_000_000),
    rejectedAgo: fc.option(fc.nat(2 * DAY)),
    life: fc.integer({ min: 1_000, max: DAY }),
    age: fc.nat(2 * DAY),
    random: fc.double({ min: 0, max: 1, noNaN: true }),
    standing: fc.record({
      fleetTrouble: fc.boolean(),
      lastSuccessAt: fc.integer({ min: OBTAINED, max: OBTAINED + 2 * DAY }),
      fleet: fc.nat(100),
      until: fc.constant(0),
    }),
  })
  fc.assert(
    fc.property(any, ({ state, rejectedAgo, age, random, ...one }) => {
      const now = OBTAINED + age
      const { kind, life, standing } = one
      const rejectedAt = rejectedAgo === null ? null : now - rejectedAgo
      const next = decide({ ...one, state: state as FailedRefresh['state'], rejectedAt }, now, random)
      expect(next.refreshAt).toBeGreaterThanOrEqual(standing.fleetTrouble ? now : now + 1)
      expect(next.refreshAt).toBeLessThanOrEqual(Math.max(now + 26.5 * HOUR, OBTAINED + life))
      if (kind !== 'rejected' && state !== 'reauthorize') expect(next.state).not.toBe('reauthorize')
      if (next.alert !== 'reauthorize') return
      expect([kind, rejectedAt === null, state === 'reauthorize']).toEqual(['rejected', false, false])
      expect(standing.fleetTrouble).toBe(false)
      const isVouchedFor = standing.fleet <= 1 || standing.lastSuccessAt > (rejectedAt ?? now)
      expect(isVouchedFor || now - (rejectedAt ?? now) >= Math.min(life, HOUR)).toBe(true)
    }),
  )
})
