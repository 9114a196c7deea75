import { expect, test } from 'vitest'
import { inTurn } from '../../src/runtime/in-turn.ts'

test('what is asked for while it is under way is done once more after that, however often it was asked for', async () => {
  const ends: (() => void)[] = []
  let underWay = 0
  let most = 0
  const ask = inTurn(async () => {
    most = Math.max(most, ++underWay)
    await new Promise<void>((resolve) => ends.push(resolve))
    underWay--
  })
  ask()
  ask()
  ask()
  expect(ends).toHaveLength(1)
  ends[0]?.()
  await new Promise(setImmediate)
  expect(ends).toHaveLength(2)
  ends[1]?.()
  await new Promise(setImmediate)
  expect(ends).toHaveLength(2)

  ask()
  expect(ends).toHaveLength(3)
  expect(most).toBe(1)
})
