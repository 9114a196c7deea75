import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Change } from '../../../src/limits/history/change.ts'
import { thinOut, zonesOf } from '../../../src/limits/history/resolutions.ts'
import { type AccountRecord, DAY, HOUR, isMissing, keep, polls, recordOf, START, standingBefore } from './records.ts'

/** Ends of hours or days in a range. */
function* endsBetween(from: number, to: number, spanMs: number): Generator<number> {
  for (let end = (Math.floor(from / spanMs) + 1) * spanMs; end <= to; end += spanMs) yield end
}

const scene = fc.record({ polls, keep, later: fc.integer({ min: 0, max: 20 * DAY }) }).map(({ polls, keep, later }) => {
  const record = recordOf(polls)
  const begun = record.changes[0]?.at ?? START
  const now = begun + later
  const thin = (one: AccountRecord, at = now): AccountRecord => ({
    ...one,
    changes: thinOut(one.state, one.changes, at, keep),
  })
  return { ...{ record, begun, now, keep, thin }, thinned: thin(record), zones: zonesOf(now, keep) }
})

const check = (property: (one: typeof scene extends fc.Arbitrary<infer T> ? T : never) => void) =>
  fc.assert(fc.property(scene, property), { numRuns: 400 })

const sorted = (changes: readonly Change[]) =>
  changes.map((change) => ({ ...change, before: [...change.before].sort(([a], [b]) => (a < b ? -1 : 1)) }))

describe('a thinned record', () => {
  test('has every change of the young part as it was', () => {
    check(({ record, thinned, zones: { rawFrom } }) => {
      const young = ({ changes }: AccountRecord) => changes.filter(({ at }) => at >= rawFrom)
      expect(young(thinned)).toEqual(young(record))
    })
  })

  test('says at the end of every hour, then of every day, what was reported', () => {
    check(({ record, thinned, now, zones: { rawFrom, hourlyFrom, dailyFrom } }) => {
      const last = Math.min(now, (record.changes.at(-1)?.at ?? 0) + DAY)
      const ends = [
        ...endsBetween(hourlyFrom, Math.min(rawFrom, last), HOUR),
        ...endsBetween(dailyFrom, Math.min(hourlyFrom, last), DAY),
      ]
      for (const end of ends) expect(standingBefore(thinned, end)).toEqual(standingBefore(record, end))
    })
  })

  test('has one change an hour, then one a day, then none but the one that stands at its beginning', () => {
    check(({ thinned: { changes }, zones: { rawFrom, hourlyFrom, dailyFrom } }) => {
      const hours = changes.filter(({ at }) => at >= hourlyFrom && at < rawFrom).map(({ at }) => Math.floor(at / HOUR))
      const days = changes.filter(({ at }) => at >= dailyFrom && at < hourlyFrom).map(({ at }) => Math.floor(at / DAY))
      expect(new Set(hours).size).toBe(hours.length)
      expect(new Set(days).size).toBe(days.length)
      expect(changes.filter(({ at }) => at < dailyFrom).length).toBeLessThanOrEqual(1)
    })
  })

  test('keeps each gap that took a whole hour or day, and claims none that there was not', () => {
    check(({ record, thinned, now, zones: { rawFrom, hourlyFrom, dailyFrom } }) => {
      const last = Math.min(now, record.changes.at(-1)?.at ?? 0)
      for (const end of endsBetween(hourlyFrom, Math.min(rawFrom, last), HOUR))
        expect(isMissing(thinned, end - HOUR, end)).toBe(isMissing(record, end - HOUR, end))
      for (const end of endsBetween(dailyFrom, Math.min(hourlyFrom, last), DAY))
        expect(isMissing(thinned, end - DAY, end)).toBe(isMissing(record, end - DAY, end))
    })
  })

  test('names a series only where it changed', () => {
    check(({ thinned, zones: { rawFrom } }) => {
      for (const { at, before } of thinned.changes.slice(1).filter((change) => change.at < rawFrom)) {
        const after = standingBefore(thinned, at + 1)
        for (const [id, was] of before) expect(after?.[id]).not.toEqual(was)
      }
    })
  })

  test('thinned again is the same', () => {
    check(({ thinned, thin }) => {
      expect(thin(thinned)).toEqual(thinned)
    })
  })

  test('thinned in many steps is the same as thinned once', () => {
    fc.assert(
      fc.property(scene, fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 5 }), (one, steps) => {
        const { record, begun, now, thin, thinned } = one
        let stepwise = record
        for (const part of steps.sort((a, b) => a - b)) stepwise = thin(stepwise, begun + part * (now - begun))
        expect(sorted(thin(stepwise).changes)).toEqual(sorted(thinned.changes))
      }),
      { numRuns: 400 },
    )
  })
})

describe('what is kept', () => {
  const at = (hours: number) => START + hours * HOUR
  const usage = (n: number) => ({ usage: n, limit: 10 })
  const change = (hours: number, was: number, more: Partial<Change> = {}): Change => ({
    ...{ at: at(hours), before: [['overall', usage(was)]] },
    ...more,
  })
  const thinned = (changes: Change[], now: number, [raw, hourly, daily]: [number, number, number]) =>
    thinOut([['overall', usage(9)]], changes, at(now), {
      rawMs: raw * HOUR,
      hourlyMs: hourly * HOUR,
      dailyMs: daily * HOUR,
    })

  test('becomes one change an hour, at the time of its last one, with what was before its first', () => {
    const changes = [change(0.1, 0), change(1.2, 1), change(1.5, 2), change(1.9, 3), change(2, 4)]
    expect(thinned(changes, 4, [1, 100, 100])).toEqual([change(0.1, 0), change(1.9, 1), change(2, 4)])
  })

  test('loses a series that is back where it was, and the change with it', () => {
    const changes = [change(0.1, 0), change(1.2, 1), change(1.5, 2), change(2, 1)]
    expect(thinned(changes, 4, [1, 100, 100])).toEqual([change(0.1, 0), change(2, 1)])
  })

  test('keeps a gap that ended in an hour or day, though nothing changed over it', () => {
    const ended = (hours: number, since: number): Change => ({ at: at(hours), missingSince: at(since), before: [] })
    const changes = [change(0.1, 0), ended(50, 3), ended(50.8, 50.2)]
    expect(thinned(changes, 80, [1, 100, 100])).toEqual([change(0.1, 0), ended(50.8, 3)])
    expect(thinned(changes, 80, [1, 10, 100])).toEqual([change(0.1, 0), ended(50.8, 3)])
    expect(thinned([change(0.1, 0), ended(50.8, 50.2)], 80, [1, 100, 100])).toEqual([change(0.1, 0)])
  })

  test('loses what is older but for what stood at its beginning', () => {
    const changes = [change(0.1, 0), change(26, 1), change(50, 2), change(73, 3)]
    expect(thinned(changes, 80, [1, 1, 20])).toEqual([change(26, 1), change(50, 2), change(73, 3)])
    expect(thinned(changes, 2_000, [1, 1, 20])).toEqual([change(73, 3)])
  })

  test('is told by the longest of the settings, whatever their order', () => {
    const changes = Array.from({ length: 200 }, (_, n) => change(n / 2 + 0.1, n % 9))
    const hours = (keep: [number, number, number]) => thinned(changes, 96, keep).length
    // All of four days; the last two and what stood before them; a day of all, and one an hour of the other three.
    expect(hours([96, 1, 1])).toBe(200)
    expect(hours([48, 1, 24])).toBe(200 - 2 * 48 + 1)
    expect(hours([24, 96, 1])).toBe(200 - 72)
  })
})
