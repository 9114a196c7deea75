import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Because, decodeTurn, encodeTurn, type PollTurn } from '../../src/limits/poll-turn.ts'

const AT = 1_763_719_200_000
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
  since: fc.nat(AT),
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
  fc.nat(AT).map((at) => ({ is: 'changed' as const, at })),
  fc.constantFrom('new' as const, 'still' as const, 'failed' as const, 'told' as const).map((is) => ({ is })),
)
const because: fc.Arbitrary<Because> = fc.oneof(
  wish,
  wish.map((instead) => ({ is: 'budget' as const, instead })),
)

describe('a turn as the record keeps it', () => {
  test('reads back as it was, its urgency by ninths', () => {
    fc.assert(
      fc.property(because, fc.nat(AT), fc.nat(9), (why, regularAt, ninths) => {
        const turn: PollTurn = { regularAt, urgency: ninths / 9, because: why }
        expect(decodeTurn(encodeTurn(turn))).toEqual(turn)
      }),
    )
  })

  test('is short', () => {
    expect(encodeTurn({ regularAt: AT, urgency: 0, because: { is: 'still' } })).toBe('["s",1763719200000,0]')
  })

  test.each([
    undefined,
    '',
    'x',
    '{}',
    '[]',
    '["s"]',
    '["s",1763719200000]',
    '["q",1763719200000,0]',
    '["constructor",1763719200000,0]',
    '["s",1763719200000,10]',
    '["s",-1,0]',
    '["s",1.5,0]',
    '["s","1763719200000",0]',
    '["s",1763719200000,0,1]',
    '["c",1763719200000,0,"x"]',
    '["r",1763719200000,0,"overall",1,"x"]',
    '["r",1763719200000,0,"overall",-1,"w"]',
    '["n",1763719200000,0,"overall",93,100,"l","e","p",95,5]',
    '["n",1763719200000,0,"overall",93,"100","w","e","p",95,5]',
    '["n",1763719200000,0,"overall",93,100,"w","e","p",95]',
    '["n",1763719200000,0,"overall",93,100,"w","e","p",95,-5]',
    '["n",1763719200000,0,"overall",93,100,"w","toString","p",95,5]',
    '["b",1763719200000,0]',
    '["b",1763719200000,0,"b","s"]',
  ])('is none if it is %j', (stored) => {
    expect(decodeTurn(stored)).toBeUndefined()
  })

  test('never throws, whatever stands there', () => {
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (stored) => void decodeTurn(stored)))
  })
})
