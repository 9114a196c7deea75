import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type PollTurn, shortTurn } from '../../../src/limits/polling/poll-turn.ts'
import { turns } from '../watch/watches.ts'

const AT = 1_763_719_200_000

describe('a turn as a watch keeps it', () => {
  test('has its urgency in hundredths, and nothing that a plan has beside', () => {
    const plan = { at: AT, regularAt: AT + 5, urgency: 0.126, because: { is: 'still' }, isNear: true } as const
    expect(shortTurn(plan)).toEqual({ regularAt: AT + 5, urgency: 0.13, because: { is: 'still' } })
  })

  test('is the same where it is short already', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        expect(shortTurn(turn)).toEqual(turn)
      }),
    )
  })

  test('keeps an urgency from 0 to 1 there', () => {
    const urgency = fc.double({ min: 0, max: 1, noNaN: true })
    fc.assert(
      fc.property(urgency, (urgent) => {
        const turn: PollTurn = { regularAt: AT, urgency: urgent, because: { is: 'failed' } }
        const { urgency: short } = shortTurn(turn)
        expect(Math.abs(short - urgent)).toBeLessThanOrEqual(0.005 + 1e-9)
        expect(short >= 0 && short <= 1).toBe(true)
        expect(String(short).length).toBeLessThanOrEqual(4)
      }),
    )
  })
})
