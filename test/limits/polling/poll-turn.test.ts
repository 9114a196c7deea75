import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { shortTurn } from '../../../src/limits/polling/poll-turn.ts'
import { turns } from '../watch/watches.ts'

const AT = 1_763_719_200_000

describe('a turn as a watch keeps it', () => {
  test('has nothing that a plan has beside', () => {
    const plan = { at: AT, regularAt: AT + 5, because: { is: 'still' }, isNear: true } as const
    expect(shortTurn(plan)).toEqual({ regularAt: AT + 5, because: { is: 'still' } })
  })

  test('is the same where it is short already', () => {
    fc.assert(
      fc.property(turns, (turn) => {
        expect(shortTurn(turn)).toEqual(turn)
      }),
    )
  })
})
