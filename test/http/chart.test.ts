import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RangeName, usualRange } from '../../src/http/pages/account/account-series.ts'
import { type ChartData, geometryOf, thresholdUsage, WIDTH } from '../../src/http/pages/account/chart/geometry.ts'
import { chartStory } from '../../src/http/pages/account/chart/story.ts'
import { timeTicks, valueTicks } from '../../src/http/pages/account/chart/ticks.ts'
import { type Gap, gapsOf, type Track, thinned, trackOf } from '../../src/http/pages/account/chart/track.ts'
import type { Timeline, TimelinePoll, TimelineStretch } from '../../src/limits/history/history.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR
const FROM = Date.parse('2026-10-22T10:00:00Z')
const NOW = Date.parse('2026-11-21T10:00:00Z')

const value = fc.record({
  usage: fc.nat({ max: 2_000 }),
  limit: fc.oneof(fc.constant(null), fc.integer({ min: 1, max: 1_500 })),
})

/** A history of one series as polls may leave it: it comes and goes, its limit moves, some polls end a gap. */
const histories: fc.Arbitrary<Timeline> = fc
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
    const polls: TimelinePoll[] = []
    const stretches: TimelineStretch[] = [{ from: Number.NEGATIVE_INFINITY, value: undefined }]
    for (const { afterMs, value, gapShare } of moves) {
      const before = at
      at += afterMs
      polls.push(gapShare === undefined ? { at } : { at, missingSince: Math.floor(before + gapShare * afterMs) })
      stretches.push({ from: at, value })
    }
    return { series: new Map([['overall', stretches]]), polls, readAt: at }
  })

const forecasts = fc.option(
  fc.record({
    days: fc.double({ min: 0.1, max: 900, noNaN: true }),
    early: fc.double({ min: 0.1, max: 1, noNaN: true }),
    late: fc.option(fc.double({ min: 1, max: 5, noNaN: true }), { nil: undefined }),
  }),
)

function drawn(timeline: Timeline): { track: Track; gaps: Gap[] } {
  const gaps = gapsOf(timeline.polls)
  return { gaps, track: trackOf(timeline, gaps, 'overall', { from: FROM, to: NOW }) }
}

function chartOf(timeline: Timeline, more: Partial<ChartData> = {}): ChartData {
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

const HEIGHT = 170

/** The corners of a path of ours, stroke by stroke. */
function strokesOf(path: string): { x: number; y: number }[][] {
  const strokes: { x: number; y: number }[][] = []
  for (const [, command = '', given = ''] of path.matchAll(/([MLHVZ])([-\d. ]*)/g)) {
    const [one = 0, other = 0] = given.split(' ').map(Number)
    const stroke = strokes.at(-1)
    const last = stroke?.at(-1)
    if (command === 'M') strokes.push([{ x: one, y: other }])
    else if (command === 'L') stroke?.push({ x: one, y: other })
    else if (command === 'H') stroke?.push({ x: one, y: last?.y ?? Number.NaN })
    else if (command === 'V') stroke?.push({ x: last?.x ?? Number.NaN, y: one })
  }
  return strokes
}

const levels = { warning: { percent: 80, remaining: 30 }, critical: { count: 900 } }

describe('whatever there is to draw', () => {
  test('every point of every line lies in the frame, and time only goes on', () => {
    fc.assert(
      fc.property(histories, forecasts, (timeline, given) => {
        const forecast =
          given === null
            ? null
            : {
                days: given.days,
                earliest: given.days * given.early,
                latest: given.late === undefined ? null : given.days * given.late,
              }
        const {
          usage,
          limit,
          warning,
          critical,
          forecast: ahead,
          ...marks
        } = geometryOf(chartOf(timeline, { levels, forecast }), HEIGHT)
        const lines = [usage, limit, warning, critical, ahead?.line ?? '', ahead?.range ?? '']
        for (const { x, y } of lines.flatMap(strokesOf).flat()) {
          expect(x >= 0 && x <= WIDTH && y >= 0 && y <= HEIGHT).toBe(true)
        }
        for (const line of [usage, limit, warning, critical]) {
          const xs = strokesOf(line)
            .flat()
            .map(({ x }) => x)
          expect(xs).toEqual(xs.toSorted((a, b) => a - b))
        }
        for (const { x } of [...marks.moved, ...marks.timeTicks]) expect(x >= 0 && x <= WIDTH).toBe(true)
        for (const { y } of marks.valueTicks) expect(y >= 0 && y <= HEIGHT).toBe(true)
        expect(marks.valueTicks.length).toBeGreaterThanOrEqual(1)
        expect(marks.valueTicks.length).toBeLessThanOrEqual(9)
        expect(marks.timeTicks.length).toBeLessThanOrEqual(8)
      }),
      { numRuns: 100 },
    )
  })

  test('usage has a stroke for each run, so no line bridges a gap', () => {
    fc.assert(
      fc.property(histories, (timeline) => {
        const data = chartOf(timeline)
        const { usage, gaps } = geometryOf(data, HEIGHT)
        const strokes = strokesOf(usage)
        expect(strokes).toHaveLength(data.track.length)
        for (const stroke of strokes) {
          const [left, right] = [stroke[0]?.x ?? 0, stroke.at(-1)?.x ?? 0]
          // A tenth of a unit may be lost to rounding at each end.
          for (const gap of gaps) expect(right <= gap.x + 0.2 || left >= gap.x + gap.width - 0.2).toBe(true)
        }
      }),
      { numRuns: 100 },
    )
  })

  test('more usage is never drawn lower', () => {
    fc.assert(
      fc.property(histories, (timeline) => {
        const data = chartOf(timeline)
        const ys = strokesOf(geometryOf(data, HEIGHT).usage).map((stroke) => stroke[0]?.y ?? 0)
        const usages = data.track.map((run) => run[0]?.usage ?? 0)
        for (const [n, y] of ys.entries()) {
          for (const [m, other] of ys.entries()) {
            if ((usages[n] ?? 0) > (usages[m] ?? 0)) expect(y).toBeLessThanOrEqual(other)
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('a level as a usage', () => {
  test.each([
    [{ percent: 80 }, 1_000, 800],
    [{ percent: 80 }, null, undefined],
    [{ remaining: 20 }, 500, 480],
    [{ remaining: 20 }, 10, 0],
    [{ count: 12 }, null, 12],
    [{ daysLeft: 7 }, 1_000, undefined],
    // Any of them will do, so the lowest counts.
    [{ percent: 90, remaining: 50, daysLeft: 3 }, 400, 350],
    [undefined, 1_000, undefined],
  ])('%j of a limit of %s holds from %s', (level, limit, usage) => {
    expect(thresholdUsage(level, limit)).toBe(usage)
  })
})

describe('ticks', () => {
  test('of values are few, round and whole', () => {
    expect(valueTicks(0, 1_060)).toEqual([0, 500, 1_000])
    expect(valueTicks(0, 2)).toEqual([0, 1, 2])
    expect(valueTicks(700, 1_010)).toEqual([700, 800, 900, 1_000])
  })

  test.each([
    [24 * HOUR, ['12:00', '18:00', '21 Nov', '06:00']],
    [7 * 24 * HOUR, ['15 Nov', '17 Nov', '19 Nov', '21 Nov']],
    [30 * 24 * HOUR, ['29 Oct', '5 Nov', '12 Nov', '19 Nov']],
    [365 * 24 * HOUR, ['Jan 2026', 'Apr', 'Jul', 'Oct']],
  ])('of %d ms are whole hours, days, weeks or months in UTC', (ms, labels) => {
    expect(timeTicks(NOW - ms, NOW).map(({ label }) => label)).toEqual(labels)
  })
})

test.each<[string, number | undefined, RangeName]>([
  ['one that was never read', undefined, '1h'],
  ['one of this morning', NOW - DAY / 4, '6h'],
  ['one of yesterday', NOW - DAY, '24h'],
  ['one of this week', NOW - 3 * DAY, '7d'],
  ['one of this month', NOW - 20 * DAY, '30d'],
  ['an old one, whose last weeks matter most', NOW - 200 * DAY, '30d'],
])('charts of an account begin with the shortest range that has all there is: %s', (_which, since, range) => {
  expect(usualRange(since, NOW)).toBe(range)
})

const base = {
  gaps: [],
  from: FROM,
  now: NOW,
  forecast: null,
  unit: 'properties',
  marks: [],
  levels: { warning: { percent: 80 }, critical: { percent: 95 } },
}
const stand = (fromDay: number, toDay: number, usage: number, limit: number | null = 1_000) => ({
  from: FROM + fromDay * DAY,
  to: FROM + toDay * DAY,
  usage,
  limit,
})

test('a chart says from where to where, which level holds since when, and when it is full', () => {
  const track = [[stand(0, 10, 720), stand(10, 20, 820), stand(20, 30, 960)]]
  const forecast = { days: 12.4, earliest: 9.2, latest: 19.5 }
  expect(chartStory({ ...base, track, forecast }, 'in 30 days')).toBe(
    'From 720 to 960 of 1,000 in 30 days. Above critical (950) since 2026-11-11 10:00 UTC. At this pace: 12 days left (9 to 20).',
  )
})

test('a limit that moved is told, and a time in which nothing was read', () => {
  const track = [[stand(2, 10, 450, 500)], [stand(12, 20, 450, 500), stand(20, 30, 450, 600)]]
  expect(chartStory({ ...base, track }, 'in 30 days')).toBe(
    'Unchanged at 450 of 600 since 2026-10-24 10:00 UTC. The limit moved to 600 at 2026-11-11 10:00 UTC. Part of the time nothing was read.',
  )
})

test('what was not read lately is told as of its last reading, and the time since then is a gap until now', () => {
  const track = [[stand(20, 25, 997)]]
  const gaps = [{ from: FROM + 25 * DAY, to: NOW }]
  expect(chartStory({ ...base, track, gaps }, 'in 30 days')).toBe(
    'Last read 2026-11-16 10:00 UTC, nothing since. Until then unchanged at 997 of 1,000 since 2026-11-11 10:00 UTC. Above critical (950) the whole time until then.',
  )
  expect(geometryOf({ ...base, track, gaps }, 170).gaps).toEqual([{ x: 485.4, width: 485.5 }])
})

test('a limit that was not known for a while has not moved by that; nor has one that was not known at first', () => {
  const track = [[stand(0, 5, 0, null), stand(5, 10, 450), stand(10, 20, 0, null), stand(20, 30, 460)]]
  expect(chartStory({ ...base, track }, 'in 30 days')).not.toContain('The limit moved')
  expect(geometryOf({ ...base, track }, 170).moved).toEqual([])
  const moved = [[stand(0, 10, 450), stand(10, 20, 0, null), stand(20, 30, 460, 900)]]
  expect(chartStory({ ...base, track: moved }, 'in 30 days')).toContain(
    'The limit moved to 900 at 2026-11-11 10:00 UTC.',
  )
  expect(geometryOf({ ...base, track: moved }, 170).moved).toHaveLength(1)
})

test('what holds all the time, what is full, what has no limit and what was never read are told as such', () => {
  const always = [[stand(0, 30, 960)]]
  expect(chartStory({ ...base, track: always }, 'in 30 days')).toContain('Above critical (950) the whole time.')
  expect(chartStory({ ...base, track: [[stand(0, 30, 1_000)]] }, 'in 30 days')).toContain(' Full.')
  expect(chartStory({ ...base, track: [[stand(0, 9, 1, null), stand(9, 30, 3, null)]] }, 'in 30 days')).toBe(
    'From 1 to 3 in 30 days.',
  )
  expect(chartStory({ ...base, track: [] }, 'in 30 days')).toBe('Nothing was read in this time.')
})

test('a series stands as it was read until it changed; where nothing was read there is nothing', () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: FROM, max: NOW }), (timeline, at) => {
      const { track, gaps } = drawn(timeline)
      const stretches = timeline.series.get('overall') ?? []
      const value = stretches.findLast(({ from }) => from <= at)?.value
      const isMissing = gaps.some(({ from, to }) => from < at && at < to)
      const stands = track.flat().filter(({ from, to }) => from <= at && at < to)
      if (isMissing || value === undefined) expect(stands).toEqual([])
      else if (at < NOW && !gaps.some(({ from }) => from === at)) expect(stands).toMatchObject([value])
    }),
    { numRuns: 100 },
  )
})

test('what was read just now, or was the only reading before a gap, is there for a moment', () => {
  const at = (usage: number, from: number) => ({ from, value: { usage, limit: null } })
  const none = { from: Number.NEGATIVE_INFINITY, value: undefined }
  const series = new Map([['overall', [none, at(1, FROM + HOUR), at(2, FROM + 9 * HOUR), at(3, NOW)]]])
  const polls = [{ at: FROM + HOUR }, { at: FROM + 9 * HOUR, missingSince: FROM + HOUR }, { at: NOW }]
  expect(drawn({ series, polls, readAt: NOW }).track).toEqual([
    [{ from: FROM + HOUR, to: FROM + HOUR, usage: 1, limit: null }],
    [
      { from: FROM + 9 * HOUR, to: NOW, usage: 2, limit: null },
      { from: NOW, to: NOW, usage: 3, limit: null },
    ],
  ])
})

test('runs follow each other, each without a break, all within the span, and none across a gap', () => {
  fc.assert(
    fc.property(histories, (timeline) => {
      const { track, gaps } = drawn(timeline)
      let end = Number.NEGATIVE_INFINITY
      for (const run of track) {
        const [first, last] = [run[0], run.at(-1)]
        if (first === undefined || last === undefined) throw new Error('a run of nothing')
        expect(first.from).toBeGreaterThanOrEqual(Math.max(FROM, end))
        expect(last.to).toBeLessThanOrEqual(NOW)
        for (const [n, { from, to }] of run.entries()) {
          expect(to).toBeGreaterThanOrEqual(from)
          if (n > 0) expect(from).toBe(run[n - 1]?.to)
        }
        for (const gap of gaps) expect(last.to <= gap.from || first.from >= gap.to).toBe(true)
        end = last.to
      }
    }),
    { numRuns: 100 },
  )
})

test('thinned out, the highest and the end of every slot stay, each limit that came, and every run', () => {
  fc.assert(
    fc.property(histories, fc.integer({ min: HOUR, max: 200 * HOUR }), (timeline, slotMs) => {
      const { track } = drawn(timeline)
      const few = thinned(track, slotMs)
      expect(few.map((run) => [run[0]?.from, run.at(-1)?.to])).toEqual(
        track.map((run) => [run[0]?.from, run.at(-1)?.to]),
      )
      for (const [n, run] of track.entries()) {
        const kept = few[n] ?? []
        expect(Math.max(...kept.map(({ usage }) => usage))).toBe(Math.max(...run.map(({ usage }) => usage)))
        const limitsOf = (stands: typeof run) =>
          stands.map(({ limit }) => limit).filter((limit, m, all) => limit !== all[m - 1])
        expect(limitsOf(kept)).toEqual(limitsOf(run))
        for (const { from } of run) {
          const slotEnd = (Math.floor(from / slotMs) + 1) * slotMs - 1
          const at = (stands: typeof run) => stands.findLast((stand) => stand.from <= slotEnd)?.usage
          expect(at(kept)).toBe(at(run))
        }
        const most = 2 * ((NOW - FROM) / slotMs + 2) + limitsOf(run).length
        expect(kept.length).toBeLessThanOrEqual(most)
      }
    }),
    { numRuns: 100 },
  )
})
