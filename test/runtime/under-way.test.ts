import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type OneUnderWay, UnderWay } from '../../src/runtime/under-way.ts'

interface One extends OneUnderWay<One> {
  name: number
}

test('is who began and has not ended, in that order, whoever comes and goes', () => {
  const turn = fc.record({ ends: fc.boolean(), which: fc.nat() })
  fc.assert(
    fc.property(fc.array(turn, { maxLength: 60 }), (turns) => {
      const underWay = new UnderWay<One>()
      let plain: One[] = []
      const ended: One[] = []
      for (const [name, { ends, which }] of turns.entries()) {
        const one = plain[which % (plain.length + 1)]
        if (ends && one !== undefined) {
          underWay.delete(one)
          plain = plain.filter((other) => other !== one)
          ended.push(one)
        } else {
          const begun: One = { name, before: undefined, after: undefined }
          underWay.add(begun)
          plain.push(begun)
        }
        // One that has ended already ends nothing more.
        for (const before of ended) underWay.delete(before)
        expect([...underWay].map((other) => other.name)).toEqual(plain.map((other) => other.name))
        expect([underWay.size, underWay.first]).toEqual([plain.length, plain[0]])
      }
      expect(ended.every(({ before, after }) => before === undefined && after === undefined)).toBe(true)
    }),
  )
})

test('each may end while it is looked at', () => {
  const underWay = new UnderWay<One>()
  for (const name of [1, 2, 3]) underWay.add({ name, before: undefined, after: undefined })
  const seen: number[] = []
  for (const one of underWay) {
    seen.push(one.name)
    underWay.delete(one)
  }
  expect([seen, underWay.size, underWay.first]).toEqual([[1, 2, 3], 0, undefined])
})
