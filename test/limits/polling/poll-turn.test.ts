import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decodeTurn, encodeTurn, type PollTurn, type TurnBecause } from '../../../src/limits/polling/poll-turn.ts'

const AT = 1_763_719_200_000
const moment = fc.nat(AT)
const number = fc.integer({ min: -1_000_000, max: 100_000_000 }).map((n) => n / 100)

const near = fc.record({
  is: fc.constant('near' as const),
  series: fc.string({ unit: 'binary' }),
  usage: fc.nat(),
  limit: fc.option(fc.nat(), { nil: null }),
  level: fc.constantFrom('warning' as const, 'critical' as const),
  move: fc.constantFrom('enter' as const, 'leave' as const),
  asks: fc.constantFrom('percent' as const, 'count' as const, 'remaining' as const),
  of: number,
  since: moment,
})
const rising = fc.record({
  is: fc.constant('rising' as const),
  series: fc.string(),
  days: fc.nat(100_000).map((n) => n / 100),
  to: fc.constantFrom('warning' as const, 'critical' as const, 'limit' as const),
})
const wish = fc.oneof(
  near,
  rising,
  moment.map((at) => ({ is: 'changed' as const, at })),
  fc.constantFrom('new' as const, 'still' as const, 'failed' as const, 'told' as const).map((is) => ({ is })),
)
const because: fc.Arbitrary<TurnBecause> = fc.oneof(
  wish,
  wish.map((instead) => ({ is: 'budget' as const, instead })),
)

describe('a turn as the record keeps it', () => {
  test('reads back as it was', () => {
    fc.assert(
      fc.property(because, moment, fc.nat(100), (why, regularAt, hundredths) => {
        const turn: PollTurn = { regularAt, urgency: hundredths / 100, because: why }
        expect(decodeTurn(encodeTurn(turn))).toEqual(turn)
      }),
    )
  })

  test.each<TurnBecause>([
    { is: 'still' },
    { is: 'failed' },
    { is: 'changed', at: AT },
    { is: 'budget', instead: { is: 'still' } },
  ])('is short where it is $is: above 64 bytes Redis keeps the whole record in a dearer form', (why) => {
    expect(encodeTurn({ regularAt: AT, urgency: 0.123, because: why }).length).toBeLessThanOrEqual(64)
  })

  test.each([
    undefined,
    '',
    'x',
    'null',
    '[]',
    '{}',
    // As an earlier version wrote it.
    's0 1763719200',
    '[1,0]',
    '[1,0,{"is":"quick"}]',
    '["1",0,{"is":"still"}]',
    '[1,2,{"is":"still"}]',
    '[1,0,{"is":"changed"}]',
    '[1,0,{"is":"rising","series":"overall","days":-1,"to":"warning"}]',
    '[1,0,{"is":"budget","instead":{"is":"budget","instead":{"is":"still"}}}]',
  ])('is none if it is %j', (stored) => {
    expect(decodeTurn(stored)).toBeUndefined()
  })

  test('never throws, whatever stands there', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (stored) => void decodeTurn(stored)))
  })
})
