import fc from 'fast-check'
import type { Change, Value } from '../../../src/limits/history/change.ts'
import type { Retention } from '../../../src/limits/history/resolutions.ts'

export const HOUR = 3_600_000
export const DAY = 24 * HOUR
export const START = Date.parse('2026-11-21T00:00:00Z')

/** What one poll read, by series. */
export interface Poll {
  at: number
  values: Record<string, Value>
  /** Nothing was read between the poll before it and this one. */
  afterGap: boolean
}

/** An account's record: how things stand, and what changed until then. */
export interface AccountRecord {
  state: [string, Value][]
  changes: Change[]
}

/** The changes that polls leave behind. */
export function recordOf(polls: readonly Poll[]): AccountRecord {
  const changes: Change[] = []
  let values: Record<string, Value> = {}
  for (const [n, poll] of polls.entries()) {
    const ids = [...new Set([...Object.keys(values), ...Object.keys(poll.values)])]
    const before = ids
      .filter((id) => JSON.stringify(values[id]) !== JSON.stringify(poll.values[id]))
      .map((id): [string, Value | undefined] => [id, values[id]])
    const gap = n > 0 && poll.afterGap ? { missingSince: polls[n - 1]?.at ?? 0 } : {}
    if (before.length > 0 || poll.afterGap) changes.push({ at: poll.at, ...gap, before })
    values = poll.values
  }
  return { state: Object.entries(values), changes }
}

/** How things stood just before a moment; undefined before the record begins. */
export function standingBefore({ state, changes }: AccountRecord, moment: number): Record<string, Value> | undefined {
  if (!changes.some(({ at }) => at < moment)) return undefined
  const values = new Map(state)
  for (const { at, before } of changes.toReversed()) {
    if (at < moment) break
    for (const [id, was] of before) {
      if (was === undefined) values.delete(id)
      else values.set(id, was)
    }
  }
  return Object.fromEntries(values)
}

/** Whether nothing was read from a moment until just before another. */
export function isMissing({ changes }: AccountRecord, start: number, end: number): boolean {
  return changes.some(({ at, missingSince }) => missingSince !== undefined && missingSince < start && at >= end)
}

const value: fc.Arbitrary<Value> = fc.record({ usage: fc.nat(3), limit: fc.constantFrom(10, 20, null) })
const values = fc.dictionary(fc.constantFrom('overall', 'type/2-1', 'at/0-1/0-2'), value, { noNullPrototype: true })
/** Now and then one just at the end of an hour or day. */
const pass = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 2 * HOUR }) },
  { weight: 1, arbitrary: fc.integer({ min: 1, max: 3 * DAY }) },
)
const step = fc.record({
  values,
  pass,
  afterGap: fc.boolean(),
  align: fc.constantFrom(1, 1, 1, HOUR, DAY),
})

/** Polls over some days, with values that often come back. */
export const polls: fc.Arbitrary<Poll[]> = fc.array(step, { minLength: 1, maxLength: 40 }).map((steps) => {
  let at = START
  return steps.map(({ values, pass, afterGap, align }) => {
    at = Math.ceil((at + pass) / align) * align
    return { at, values, afterGap }
  })
})

const kept = fc.integer({ min: 1, max: 10 * DAY })
export const keep: fc.Arbitrary<Retention> = fc.record({ rawMs: kept, hourlyMs: kept, dailyMs: kept })
