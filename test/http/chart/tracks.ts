import fc from 'fast-check'
import type { ChartData } from '../../../src/http/pages/account/chart/geometry.ts'
import { type Gap, gapsOf, type Track, trackOf } from '../../../src/http/pages/account/chart/track.ts'
import type { KnownPoll, Timeline, TimelineStretch } from '../../../src/limits/history/history.ts'

export const HOUR = 3_600_000
export const FROM = Date.parse('2026-10-22T10:00:00Z')
export const NOW = Date.parse('2026-11-21T10:00:00Z')

const value = fc.record({
  usage: fc.nat({ max: 2_000 }),
  limit: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 1_500 })),
})

/** A history of one series as polls may leave it: it comes and goes, its limit moves, some polls end a gap. */
export const histories: fc.Arbitrary<Timeline> = fc
  .array(
    fc.record({
      afterMs: fc.integer({ min: 60_000, max: 60 * HOUR }),
      value: fc.option(value, { freq: 6, nil: undefined }),
      gapShare: fc.option(fc.double({ min: 0, max: 0.95, noNaN: true }), { freq: 3, nil: undefined }),
    }),
    { minLength: 1, maxLength: 60 },
  )
  .map((moves) => {
    let at = FROM - 5 * 24 * HOUR
    const polls: KnownPoll[] = []
    const stretches: TimelineStretch[] = [{ from: Number.NEGATIVE_INFINITY, value: undefined }]
    for (const { afterMs, value, gapShare } of moves) {
      const before = at
      at += afterMs
      polls.push(gapShare === undefined ? { at } : { at, missingSince: Math.floor(before + gapShare * afterMs) })
      stretches.push({ from: at, value })
    }
    return { series: new Map([['overall', stretches]]), polls, readAt: at }
  })

export const forecasts = fc.option(
  fc.record({
    days: fc.double({ min: 0.1, max: 900, noNaN: true }),
    early: fc.double({ min: 0.1, max: 1, noNaN: true }),
    late: fc.option(fc.double({ min: 1, max: 5, noNaN: true }), { nil: undefined }),
  }),
)

export function drawn(timeline: Timeline): { track: Track; gaps: Gap[] } {
  const gaps = gapsOf(timeline.polls)
  return { gaps, track: trackOf(timeline, gaps, 'overall', { from: FROM, to: NOW }) }
}

export function chartOf(timeline: Timeline, more: Partial<ChartData> = {}): ChartData {
  return {
    ...drawn(timeline),
    from: FROM,
    now: NOW,
    levels: {},
    forecast: null,
    unit: 'properties',
    marks: [],
    ...more,
  }
}
