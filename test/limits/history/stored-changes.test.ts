import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/limits/history/change.ts'
import { decodeChanges, encodeBlock, encodeChange } from '../../../src/limits/history/change.ts'
import { polls, recordOf } from './records.ts'

const lines = (changes: readonly Change[]) => changes.map((change) => Buffer.from(encodeChange(change)))

test('changes read back as they were stored, wherever those of before were made a block', () => {
  fc.assert(
    fc.property(polls, fc.nat(40), (all, older) => {
      const { changes } = recordOf(all)
      expect(decodeChanges([encodeBlock(changes.slice(0, older)), ...lines(changes.slice(older))])).toEqual(changes)
    }),
  )
})

describe('what is no record of changes is unreadable', () => {
  const [line = Buffer.alloc(0)] = lines([{ at: 1, before: [['overall', { usage: 1, limit: 2 }]] }])
  const block = encodeBlock([{ at: 1, before: [] }])

  test.each([
    ['nothing', Buffer.alloc(0)],
    ['a word', Buffer.from('x')],
    ['a line that is cut off', line.subarray(0, -1)],
    ['a block that is cut off', block.subarray(0, -1)],
    ['a block in which a byte is another', Buffer.concat([block.subarray(0, -1), Buffer.from([7])])],
    ['a line without changes', Buffer.from('{"at":1}')],
  ])('%s', (_, spoiled) => {
    expect(() => decodeChanges([line, spoiled, line])).toThrow()
  })
})
