import { describe, expect, test } from 'vitest'
import { typeChanges } from '../../../src/limits/poll-lines.ts'
import type { PollBlocked } from '../../../src/limits/poll-state.ts'
import { gapsAfter, outcomeOf, type PollRecord, troublesAfter } from '../../../src/limits/polling/poll-outcome.ts'
import type { FailureClass, ProviderFailure } from '../../../src/provider/failure.ts'
import { associations, fetched as heard, properties, readings } from '../reports.ts'

const NOW = 1_763_719_200_000
const failure = (kind: FailureClass, scopes?: string[]): ProviderFailure => ({
  class: kind,
  code: kind,
  message: `it is ${kind}`,
  status: 400,
  ...(scopes === undefined ? {} : { scopes }),
})
const NEW: PollRecord = { failing: undefined, blocked: undefined }
const failing = (count: number, since: number) => ({ count, reason: 'before', at: NOW - 1, since })
const blocked = (since: number): PollBlocked => ({ what: 'all', since, scopes: ['before'] })

function fetched(own: object, ...pairs: object[]) {
  const all = heard(NOW, own, Object.fromEntries(pairs.map((report, n) => [`0-1/0-${n + 2}`, report])))
  return { ...all, troubles: [], notAvailable: {} }
}

const READ = properties(1)
const PAIR = associations(100)

describe('what a poll says of its account', () => {
  test('that has none of the reports that are asked for is no failure, and nothing is missing', () => {
    const outcome = outcomeOf({ reports: new Map(), troubles: [], notAvailable: { associationLabels: NOW } })
    const lacking = ['association labels']
    expect(outcome).toEqual({ readAnything: true, readAll: true, failures: [], refused: undefined, lacking })
  })

  test('that reads everything takes away whatever was held against it', () => {
    const outcome = outcomeOf(fetched(READ, PAIR))
    expect(outcome).toEqual({ readAnything: true, readAll: true, failures: [], refused: undefined, lacking: [] })
    expect(troublesAfter(NEW, outcome, NOW)).toEqual(NEW)
    expect(troublesAfter({ failing: failing(3, NOW - 5), blocked: blocked(NOW - 5) }, outcome, NOW)).toEqual(NEW)
  })

  test('that fails, wholly or in part, counts on from the first that did', () => {
    const outcome = outcomeOf(fetched(READ, failure('transient')))
    expect(outcome).toMatchObject({ readAnything: true, failures: [{ class: 'transient' }] })
    expect(troublesAfter(NEW, outcome, NOW)).toEqual({
      failing: {
        count: 1,
        reason: 'it is transient',
        at: NOW,
        since: NOW,
        partly: { unread: ['associations'], read: ['customProperties'] },
      },
      blocked: undefined,
    })
    const before = { ...NEW, failing: failing(6, NOW - 9) }
    expect(troublesAfter(before, outcomeOf(fetched(failure('transient'))), NOW).failing).toEqual({
      count: 7,
      reason: 'it is transient',
      at: NOW,
      since: NOW - 9,
    })
  })

  test('that fails only in what it asks beside the reports fails, and has read everything', () => {
    const outcome = outcomeOf({ ...fetched(READ, PAIR), troubles: [failure('transient'), failure('forbidden')] })
    expect(outcome).toMatchObject({ readAnything: true, readAll: true, failures: [{ class: 'transient' }] })
    expect(outcome.refused).toBeUndefined()
    expect(troublesAfter(NEW, outcome, NOW).failing).toMatchObject({ count: 1 })
  })

  test('that is refused for want of a scope did not fail: what is missing is noted, since when, and what would do', () => {
    const outcome = outcomeOf(
      fetched(failure('forbidden', ['contacts']), failure('forbidden', ['contacts', 'x y <b>'])),
    )
    expect(outcome).toEqual({
      readAnything: false,
      readAll: false,
      failures: [],
      lacking: [],
      refused: { what: ['custom properties', 'associations'], scopes: ['contacts'] },
    })
    expect(troublesAfter({ ...NEW, failing: failing(1, NOW - 5) }, outcome, NOW)).toEqual({
      failing: undefined,
      blocked: { what: 'all', since: NOW, scopes: ['contacts'] },
    })
    const known = { ...NEW, blocked: blocked(NOW - 7) }
    const part = outcomeOf(fetched(failure('forbidden'), PAIR))
    expect(troublesAfter(known, part, NOW).blocked).toEqual({ what: 'part', since: NOW - 7, scopes: [] })
  })

  test('that fails says nothing of the scopes that are known to be missing', () => {
    const known = { ...NEW, blocked: blocked(NOW - 7) }
    for (const rest of [failure('transient'), failure('forbidden')]) {
      const outcome = outcomeOf(fetched(failure('transient'), rest))
      expect(troublesAfter(known, outcome, NOW).blocked).toEqual(known.blocked)
    }
  })

  test('that fails and is refused, too, has something missing, in part: what failed may not be', () => {
    const outcome = outcomeOf(fetched(failure('transient'), failure('forbidden', ['contacts'])))
    expect(troublesAfter(NEW, outcome, NOW).blocked).toEqual({ what: 'part', since: NOW, scopes: ['contacts'] })
  })
})

describe('what could not be read of the reports', () => {
  const withGaps = (own: object) => ({ reports: new Map([['customProperties', own as never]]) })
  const gaps = { 'custom properties': ['a gap'] }

  test('is what this poll found, and of a report that was not read what was known before', () => {
    expect(gapsAfter({}, withGaps({ values: [], gaps: ['a gap'] }))).toEqual(gaps)
    expect(gapsAfter(gaps, withGaps({ values: [] }))).toEqual({})
    expect(gapsAfter(gaps, withGaps(failure('transient')))).toEqual(gaps)
    expect(gapsAfter(gaps, { reports: new Map() })).toEqual({})
  })
})

describe('object types that come and go', () => {
  const series = (...types: string[]) =>
    readings(NOW, properties(1, 10, Object.fromEntries(types.map((type) => [type, [1, 10]]))))

  test('are named', () => {
    expect(typeChanges(series('0-1', '0-2'), series('0-2', '2-7'))).toEqual({ appeared: ['2-7'], disappeared: ['0-1'] })
    expect(typeChanges(series(), series('0-1'))).toEqual({ appeared: ['0-1'], disappeared: [] })
  })

  test('are none where the report was not read before', () => {
    expect(typeChanges(undefined, series('0-1'))).toEqual({ appeared: [], disappeared: [] })
    expect(typeChanges(series('0-1'), {})).toEqual({ appeared: [], disappeared: [] })
  })
})
