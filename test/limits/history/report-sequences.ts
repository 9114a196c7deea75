import fc from 'fast-check'
import { isFailure, mergeReadings, type Readings } from '../../../src/limits/readings.ts'
import { seriesOf } from '../../../src/limits/series.ts'
import type { ProviderFailure } from '../../../src/provider/failure.ts'
import { associations, type Fetched, fetched, properties } from '../reports.ts'

type Types = Record<string, [number, number]>

export const START = 1_763_719_200_000
/** Readings further apart than this have a gap between them. */
export const GAP_MS = 500_000

const FAILURE: ProviderFailure = { class: 'transient', code: '503', message: 'x', status: 503 }

const count = fc.oneof(
  { weight: 4, arbitrary: fc.nat(300) },
  { weight: 1, arbitrary: fc.constantFrom(0, 127, 128, 2 ** 31, 2 ** 49, 2 ** 49 + 1, Number.MAX_SAFE_INTEGER) },
  { weight: 1, arbitrary: fc.maxSafeNat() },
)
const type = fc.tuple(count, count)
const types = fc.dictionary(fc.constantFrom('0-1', '0-2', '2-123', '2-9', 'p1/odd', 'é%\0'), type, { maxKeys: 5 })
const pair = fc
  .record({ limit: count, near: fc.array(count, { maxLength: 3 }), atLimit: count, nearLimit: count })
  .map(({ limit, near, atLimit, nearLimit }) =>
    associations(limit, near, 0, { totalRecordsAtLimit: atLimit, totalRecordsNearLimit: nearLimit }),
  )
const orFailed = <T>(report: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 3, arbitrary: report }, { weight: 1, arbitrary: fc.constant(FAILURE) })

/** One poll: what each endpoint said, and how long after the one before. */
const step = fc.record({
  customProperties: orFailed(fc.record({ usage: count, limit: count, types })),
  pairs: fc.dictionary(fc.constantFrom('0-1/0-2', '0-2/0-1', '2-9/0-1'), orFailed(pair), { maxKeys: 3 }),
  passes: fc.integer({ min: 1, max: 2 * GAP_MS }),
  /** How often the same is read again, after the same time. */
  again: fc.nat(2),
})

/** Polls in any order of reports: types and pairs appear, vanish and come back, calls fail, nothing is read for long. */
export const sequences = (maxLength: number) =>
  fc.array(step, { minLength: 1, maxLength }).map((steps) => {
    let at = START
    return steps.flatMap(({ customProperties, pairs, passes, again }) =>
      Array.from({ length: 1 + again }, (): Fetched => {
        at += passes
        const { usage, limit, types } = customProperties as { usage: number; limit: number; types: Types }
        return fetched(at, 'class' in customProperties ? customProperties : properties(usage, limit, types), pairs)
      }),
    )
  })

/** What must be true after each poll of which anything could be read. */
export interface Expected {
  at: number
  readings: Readings
  series: object[]
  missingSince: number | undefined
}

export function expectedOf(sequence: readonly Fetched[]): Expected[] {
  const expected: Expected[] = []
  for (const poll of sequence) {
    if (![...poll.reports.values()].some((one) => !isFailure(one))) continue
    const before = expected.at(-1)
    const readings = mergeReadings(before?.readings, poll)
    const missing = before !== undefined && poll.at - before.at > GAP_MS
    expected.push({
      at: poll.at,
      readings,
      series: plainSeries(readings),
      missingSince: missing ? before.at : undefined,
    })
  }
  return expected
}

const plainSeries = (readings: Readings) => sorted(seriesOf(readings).map(({ id: _, label: __, ...series }) => series))

export const sorted = (series: readonly object[]) =>
  [...series].sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
