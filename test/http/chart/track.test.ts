import fc from 'fast-check'
import { expect, test } from 'vitest'
import { thinned } from '../../../src/http/pages/account/chart/track.ts'
import { drawn, FROM, HOUR, histories, NOW } from './tracks.ts'

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
    { numRuns: 500 },
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
    { numRuns: 500 },
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
    { numRuns: 300 },
  )
})
