import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  answerFingerprints,
  decodeSeen,
  differingGroups,
  encodeSeen,
  fingerprint,
  groupOfPair,
  NOT_JUDGED,
  PROPERTIES,
  wordFingerprints,
} from '../../src/limits/seen.ts'
import { associations, fetched, properties, readings } from './reports.ts'

const NOW = 1_763_719_200_000
const bytes = fc.string({ maxLength: 40 }).map((text) => Buffer.from(text))
const answers = fc.tuple(bytes, fc.array(bytes, { maxLength: 7 }))

function words(report: ReturnType<typeof properties>, pairs: Record<string, ReturnType<typeof associations>>) {
  return wordFingerprints(readings(NOW, report, pairs), fetched(NOW, report, pairs).associations, 'full')
}

describe('what a poll saw', () => {
  test('reads back, and is short enough for Redis to keep the record of the account in its short form', () => {
    const nearness = fc.constantFrom(null, 0, 12.3, 89.9, 100, 149.9, 150)
    fc.assert(
      fc.property(answers, fc.boolean(), nearness, ([report, pairs], isJudged, near) => {
        const seen = {
          answers: answerFingerprints(report, pairs),
          words: words(properties(1), {}),
          judged: isJudged ? fingerprint(report.toString()) : NOT_JUDGED,
          nearness: near,
        }
        const stored = encodeSeen(seen)
        expect(Buffer.byteLength(stored)).toBeLessThanOrEqual(64)
        expect(decodeSeen(stored)).toEqual(seen)
      }),
    )
  })

  test('is nothing where nothing is stored, or what an earlier version saw', () => {
    expect(decodeSeen('')).toBeUndefined()
    expect(decodeSeen(`${'a'.repeat(11 + 8 + 8 + 8)}149.9`)).toBeUndefined()
  })

  test('differs in the group of the answer that is another one', () => {
    fc.assert(
      fc.property(answers, fc.nat(), bytes, ([report, pairs], any, other) => {
        const place = any % (pairs.length + 1)
        const changed = pairs.map((pair, n) => (n + 1 === place ? other : pair))
        const after = answerFingerprints(place === 0 ? other : report, changed)
        const isOther = !other.equals(place === 0 ? report : (pairs[place - 1] as Buffer))
        const group = place === 0 ? PROPERTIES : groupOfPair(place - 1)
        expect(differingGroups(answerFingerprints(report, pairs), after)).toEqual(isOther ? [group] : [])
      }),
    )
  })

  test('bytes that move from one answer of a group to another are other bytes', () => {
    const none = Buffer.alloc(0)
    const four = (first: string, fourth: string) =>
      answerFingerprints(none, [Buffer.from(first), none, none, Buffer.from(fourth)])
    expect(four('1', '12')).not.toEqual(four('11', '2'))
  })

  test('has names in the group of custom properties, and records in that of their pair', () => {
    const pairs = { '0-1/0-2': associations(100, [90]), '0-2/0-1': associations(100, [90]) }
    const before = words(properties(1, 2, { '0-1': [1, 2] }), pairs)
    const differing = (...now: Parameters<typeof words>) => differingGroups(before, words(...now))
    expect(differing(properties(9, 9, { '0-1': [9, 9] }), pairs)).toEqual([])
    expect(differing(properties(1, 2, { '0-2': [1, 2] }), pairs)).toEqual([PROPERTIES])
    expect(differing(properties(1, 2, { '0-1': [1, 2] }), { ...pairs, '0-2/0-1': associations(100, [91]) })).toEqual([
      2,
    ])
    expect(differing(properties(1, 2, { '0-1': [1, 2] }), { '0-1/0-2': associations(100, [90]) })).toEqual([0, 2])
  })
})
