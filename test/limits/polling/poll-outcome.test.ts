import { describe, expect, test } from 'vitest'
import { typeChanges } from '../../../jobs/poll-logs.ts'
import { outcomeOf, recordFields } from '../../../src/limits/polling/poll-outcome.ts'
import { failuresOf } from '../../../src/limits/readings.ts'
import type { FailureClass, ProviderFailure } from '../../../src/provider/failure.ts'
import { associations, fetched as heard, properties, readings } from '../reports.ts'

const NOW = 1_763_719_200_000
const failure = (kind: FailureClass, scopes?: string[]): ProviderFailure => ({
  ...{ class: kind, code: kind, message: `it is ${kind}`, status: 400 },
  ...(scopes === undefined ? {} : { scopes }),
})
const NEW = { pollFailures: 0, pollFailingSince: 0, pollBlockedSince: 0 }

function fetched(own: object, ...pairs: object[]) {
  const all = heard(NOW, own, Object.fromEntries(pairs.map((report, n) => [`0-1/0-${n + 2}`, report])))
  return { ...all, failures: failuresOf(all.reports.values()) }
}

const READ = properties(1)
const PAIR = associations(100)

describe('what a poll says of its account', () => {
  test('that has none of the reports that are asked for is no failure, and nothing is missing', () => {
    const outcome = outcomeOf({ reports: new Map(), failures: [] })
    expect(outcome).toEqual({ readAnything: true, readAll: true, failures: [], refused: undefined })
  })

  test('that reads everything takes away whatever was held against it', () => {
    const outcome = outcomeOf(fetched(READ, PAIR))
    expect(outcome).toEqual({ readAnything: true, readAll: true, failures: [], refused: undefined })
    expect(recordFields(NEW, outcome, NOW, NOW)).toEqual({ polledAt: String(NOW) })
    const before = { pollFailures: 3, pollFailingSince: NOW - 5, pollBlockedSince: NOW - 5 }
    expect(recordFields(before, outcome, NOW, NOW)).toEqual({
      ...{ polledAt: String(NOW), pollFailures: '', pollFailureReason: '', pollFailureAt: '', pollFailingSince: '' },
      ...{ pollBlocked: '', pollBlockedSince: '', pollBlockedScopes: '' },
    })
  })

  test('that fails, wholly or in part, counts on from the first that did', () => {
    const outcome = outcomeOf(fetched(READ, failure('transient')))
    expect(outcome).toMatchObject({ readAnything: true, failures: [{ class: 'transient' }] })
    expect(recordFields(NEW, outcome, NOW, NOW)).toMatchObject({ pollFailures: '1', pollFailingSince: String(NOW) })
    const before = { ...NEW, pollFailures: 6, pollFailingSince: NOW - 9 }
    expect(recordFields(before, outcomeOf(fetched(failure('transient'))), undefined, NOW)).toEqual({
      ...{ pollFailures: '7', pollFailureReason: 'it is transient', pollFailureAt: String(NOW) },
      pollFailingSince: String(NOW - 9),
    })
  })

  test('that fails after the clock was set back fails since now: what began in the future never did', () => {
    const ahead = { ...NEW, pollFailures: 3, pollFailingSince: NOW + 86_400_000 }
    expect(recordFields(ahead, outcomeOf(fetched(failure('transient'))), undefined, NOW)).toMatchObject({
      ...{ pollFailures: '4', pollFailingSince: String(NOW) },
    })
  })

  test('that is refused for want of a scope did not fail: what is missing is noted, since when, and what would do', () => {
    const outcome = outcomeOf(
      fetched(failure('forbidden', ['contacts']), failure('forbidden', ['contacts', 'x y <b>'])),
    )
    expect(outcome).toEqual({
      ...{ readAnything: false, readAll: false, failures: [] },
      refused: { what: ['custom properties', 'associations'], scopes: ['contacts'] },
    })
    expect(recordFields({ ...NEW, pollFailures: 1 }, outcome, undefined, NOW)).toMatchObject({
      ...{ pollFailures: '', pollBlocked: 'all', pollBlockedSince: String(NOW), pollBlockedScopes: 'contacts' },
    })
    const known = { ...NEW, pollBlockedSince: NOW - 7 }
    const part = outcomeOf(fetched(failure('forbidden'), PAIR))
    expect(recordFields(known, part, NOW, NOW)).toMatchObject({
      pollBlocked: 'part',
      pollBlockedSince: String(NOW - 7),
    })
  })

  test('that fails says nothing of the scopes that are known to be missing', () => {
    const known = { ...NEW, pollBlockedSince: NOW - 7 }
    for (const rest of [failure('transient'), failure('forbidden')]) {
      const fields = recordFields(known, outcomeOf(fetched(failure('transient'), rest)), undefined, NOW)
      expect(Object.keys(fields).filter((name) => name.startsWith('pollBlocked'))).toEqual([])
    }
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
