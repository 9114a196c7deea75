import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Because, decodeTurn, encodeTurn, type PollTurn } from '../../../src/limits/polling/poll-turn.ts'

const AT = 1_763_719_200_000
/** Whole seconds are kept. */
const moment = fc.nat(AT / 1_000).map((seconds) => seconds * 1_000)
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
const because: fc.Arbitrary<Because> = fc.oneof(
  wish,
  wish.map((instead) => ({ is: 'budget' as const, instead })),
)

describe('a turn as the record keeps it', () => {
  test('reads back as it was, its urgency by ninths', () => {
    fc.assert(
      fc.property(because, moment, fc.nat(9), (why, regularAt, ninths) => {
        const turn: PollTurn = { regularAt, urgency: ninths / 9, because: why }
        expect(decodeTurn(encodeTurn(turn))).toEqual(turn)
      }),
    )
  })

  test('is short: above 64 bytes Redis keeps the whole record in a dearer form', () => {
    expect(encodeTurn({ regularAt: AT + 999, urgency: 0, because: { is: 'still' } })).toBe('s0 1763719200')
    const wish: Because = {
      ...{ is: 'near', series: 'type/2-12345678', usage: 123_456, limit: 200_000, level: 'critical', move: 'leave' },
      ...{ asks: 'percent', of: 92.5, since: AT },
    }
    const longest = encodeTurn({ regularAt: AT, urgency: 1, because: { is: 'budget', instead: wish } })
    expect(longest).toBe('bn9 1763719200 clp 1763719200 123456 200000 92.5 type/2-12345678')
    expect(longest.length).toBeLessThanOrEqual(64)
  })

  test.each([
    undefined,
    '',
    'x',
    '[]',
    's',
    's0',
    's0 ',
    's 1763719200',
    's10 1763719200',
    's0 -1',
    's0 1.5',
    's0 1763719200 1',
    'q0 1763719200',
    'c0 1763719200',
    'c0 1763719200 x',
    'r0 1763719200 x 1 overall',
    'r0 1763719200 w -1 overall',
    'n0 1763719200 lep 1763719200 93 100 95 overall',
    'n0 1763719200 wep 1763719200 93 x 95 overall',
    'n0 1763719200 wep 1763719200 93 100 95',
    'n0 1763719200 wep -5 93 100 95 overall',
    'n0 1763719200 wep 1763719200 1e9 100 95 overall',
    'b0 1763719200',
    'bb0 1763719200',
    'bbs0 1763719200',
    'bs0 1763719200 1',
  ])('is none if it is %j', (stored) => {
    expect(decodeTurn(stored)).toBeUndefined()
  })

  test('never throws, whatever stands there', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (stored) => void decodeTurn(stored)))
  })
})
