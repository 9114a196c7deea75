import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  answersFingerprint,
  fingerprint,
  NOT_JUDGED,
  PRINT,
  recordsFingerprint,
} from '../../src/limits/fingerprints.ts'
import { associations as associationsReport } from '../../src/limits/reports/associations.ts'
import type { RecordChoice } from '../../src/limits/samples.ts'
import { associations } from './reports.ts'

const PAIR = { from: '0-1', to: '0-2' }
const bytes = fc.string({ maxLength: 40 }).map((text) => Buffer.from(text))
const answers = fc.array(bytes, { minLength: 1, maxLength: 8 })

const recordsIn = (report: object, choice: RecordChoice = 'full') =>
  recordsFingerprint('a', associationsReport.read(report, PAIR), choice)

describe('what a poll saw', () => {
  test('is short: it is kept of every account', () => {
    fc.assert(
      fc.property(answers, (bodies) => {
        const seen = [
          answersFingerprint(bodies.slice(0, 2)),
          recordsIn(associations(100, [90])),
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

  test('has a print of each answer in its place, and of its records apart from the rest', () => {
    const bodies = ['a', 'b', 'c'].map((text) => Buffer.from(text))
    const moved = answersFingerprint(bodies.with(1, Buffer.from('other')))
    const places = [0, 1, 2].map((n) => moved.slice(n * PRINT, (n + 1) * PRINT))
    const before = [0, 1, 2].map((n) => answersFingerprint(bodies).slice(n * PRINT, (n + 1) * PRINT))
    expect(places.map((print, n) => print === before[n])).toEqual([true, false, true])

    const some = recordsIn(associations(100, [90]))
    expect(some).toHaveLength(PRINT)
    expect(recordsIn({ ...associations(100, [90]), totalRecordsNearLimit: 70 })).toBe(some)
    expect(recordsIn(associations(100, [91]))).not.toBe(some)
    expect(recordsFingerprint('b', associationsReport.read(associations(100, [90]), PAIR), 'full')).not.toBe(some)
    expect(recordsIn(associations(100, [90]), 'ids')).not.toBe(some)
    expect(recordsIn(associations(100, [90]), 'none')).toBe(recordsIn(associations(100, [91]), 'none'))
  })
})
