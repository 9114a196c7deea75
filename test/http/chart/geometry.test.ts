import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { geometryOf, thresholdUsage, WIDTH } from '../../../src/http/pages/account/chart/geometry.ts'
import { timeTicks, valueTicks } from '../../../src/http/pages/account/chart/ticks.ts'
import { chartOf, forecasts, HOUR, histories, NOW } from './tracks.ts'

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
      { numRuns: 500 },
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
      { numRuns: 500 },
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
