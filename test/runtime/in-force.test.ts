import { expect, test } from 'vitest'
import { InForce } from '../../src/runtime/in-force.ts'

test('work goes on to its end with what was in force when it began; what begins later has the new', async () => {
  const inForce = new InForce('old')
  const gate = Promise.withResolvers<void>()
  const seen: string[] = []
  const begun = inForce.run(async (value) => {
    await gate.promise
    seen.push(value)
  })
  void inForce.replace('new')
  await inForce.run(async (value) => void seen.push(value))
  gate.resolve()
  await begun
  expect(seen).toEqual(['new', 'old'])
  expect(inForce.value).toBe('new')
})

test('what was replaced is over when the last who works with it ends, also one that fails', async () => {
  const inForce = new InForce(1)
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  const works = [inForce.run(() => first.promise), inForce.run(() => second.promise)]
  let isOver = false
  const over = inForce.replace(2).then(() => {
    isOver = true
  })
  first.resolve()
  await works[0]
  expect(isOver).toBe(false)
  second.reject(new Error('failed'))
  await expect(works[1]).rejects.toThrow('failed')
  await over
  expect(isOver).toBe(true)
})

test('what nobody works with is over at once', async () => {
  await new InForce(1).replace(2)
})
