import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  answersFingerprint,
  fingerprint,
  NOT_JUDGED,
  recordsFingerprint,
  saidFingerprint,
} from '../../src/limits/fingerprints.ts'
import { associations, fetched, properties } from './reports.ts'

const NOW = 1_763_719_200_000
const bytes = fc.string({ maxLength: 40 }).map((text) => Buffer.from(text))
const answers = fc.array(bytes, { minLength: 1, maxLength: 8 })

function words(report: ReturnType<typeof properties>, pairs: Record<string, ReturnType<typeof associations>>) {
  const reports = fetched(NOW, report, pairs)
  return { said: saidFingerprint(reports), records: recordsFingerprint(reports, 'full') }
}

describe('what a poll saw', () => {
  test('is short: it is kept of every account', () => {
    fc.assert(
      fc.property(answers, (bodies) => {
        const seen = [
          answersFingerprint(bodies),
          ...Object.values(words(properties(1), {})),
          fingerprint(bodies.join('')),
        ]
        for (const one of [...seen, NOT_JUDGED]) expect(one).toMatch(/^\S{1,16}$/)
        expect(seen).not.toContain(NOT_JUDGED)
      }),
    )
  })

  test('differs where any answer is another one', () => {
    fc.assert(
      fc.property(answers, fc.nat(), bytes, (bodies, any, other) => {
        const place = any % bodies.length
        const isSame = answersFingerprint(bodies) === answersFingerprint(bodies.with(place, other))
        expect(isSame).toBe(other.equals(bodies[place] as Buffer))
      }),
    )
  })

  test('bytes that move from one answer to another are other bytes', () => {
    const two = (first: string, second: string) => answersFingerprint([Buffer.from(first), Buffer.from(second)])
    expect(two('1', '12')).not.toEqual(two('11', '2'))
  })

  test('has records apart from the rest', () => {
    const pairs = { '0-1/0-2': associations(100, [90]), '0-2/0-1': associations(100, [90]) }
    const before = words(properties(1, 2, { '0-1': [1, 2] }), pairs)
    const differing = (...now: Parameters<typeof words>) => {
      const { said, records } = words(...now)
      return { said: said !== before.said, records: records !== before.records }
    }
    expect(differing(properties(1, 2, { '0-1': [1, 2] }), pairs)).toEqual({ said: false, records: false })
    expect(differing(properties(1, 2, { '0-1': [2, 2] }), pairs)).toEqual({ said: true, records: false })
    expect(differing(properties(1, 2, { '0-2': [1, 2] }), pairs)).toEqual({ said: true, records: false })
    const another = { ...pairs, '0-2/0-1': associations(100, [91]) }
    expect(differing(properties(1, 2, { '0-1': [1, 2] }), another)).toEqual({ said: true, records: true })
  })
})
