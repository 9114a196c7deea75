import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type RangeName, usualRange } from '../../src/http/pages/account/account-series.ts'
import { chart } from '../../src/http/pages/account/chart.ts'
import { gapsOf, pointsOf } from '../../src/http/pages/account/points.ts'
import type { Timeline, TimelinePoll, TimelineStretch } from '../../src/limits/history/history.ts'
import { redisOfFile } from '../support/of-file.ts'
import { connectRichAccount, EXPLAIN } from './in-browser/scenes.ts'
import { openServer, readings } from './open-server.ts'

const redis = redisOfFile()
const HOUR = 3_600_000
const DAY = 24 * HOUR
const FROM = Date.parse('2026-10-22T10:00:00Z')
const NOW = FROM + 30 * DAY

/** The picture of the only chart of a page, and the cells of its table, newest first. */
function chartIn(page: string) {
  const [, height, svg = ''] = /<svg class="plot" height="(\d+)"(.*?)<ul class="legend row">/s.exec(page) ?? []
  const [, table = ''] = /<table aria-label="Values of .*?<tbody>(.*?)<\/tbody>/s.exec(page) ?? []
  const rows = [...table.matchAll(/<tr>(.*?)<\/tr>/g)].map(([row]) =>
    [...row.matchAll(/<div>(.*?)<\/div>/g)].map(([, cell = '']) => cell),
  )
  const lineOf = (name: string) => new RegExp(`<path class="${name}" d="([^"]*)"`).exec(svg)?.[1]
  const texts = [...svg.matchAll(/<text[^>]*>(.*?)<\/text>/g)].map(([, text = '']) => text)
  return { height: Number(height), svg, rows, lineOf, texts }
}

/** The height at which a line ends. */
const endOf = (line = '') => Number(/[V ]([\d.]+)H[\d.]+$/.exec(line)?.[1])

describe('an account that is read for 30 days, but for two of them', async () => {
  const open = async (path: string) => {
    const server = await openServer(redis, { explain: EXPLAIN })
    await connectRichAccount(server, 4711)
    return server.get(path)
  }

  test('its chart has a line for usage and each threshold, a gap, the way to the limit, and its values as a table', async () => {
    const { text, words } = await open('/accounts/4711/series?id=overall&range=30d')
    const { svg, rows, lineOf, texts } = chartIn(text)
    expect(words).toContain('960 of 1,000 properties, up 240 in 30 days. At this pace: 5 days left (3 to 7).')
    const [limit, usage, critical, warning] = ['limit', 'usage', 'critical', 'warning'].map((name) =>
      endOf(lineOf(name)),
    )
    expect([limit, usage, critical, warning]).toEqual(
      [limit, usage, critical, warning].toSorted((a = 0, b = 0) => a - b),
    )
    expect(lineOf('usage')?.match(/M/g)).toHaveLength(2)
    expect(svg.match(/<rect class="gap"/g)).toHaveLength(1)
    expect(lineOf('forecast')).toMatch(/^M[\d.]+ [\d.]+L[\d.]+ [\d.]+$/)
    for (const entry of ['usage 960', 'limit 1,000', 'critical 950', 'warning 800', 'forecast', 'no data'])
      expect(words).toContain(entry)
    for (const tick of ['700', '800', '1,000', '3 Dec']) expect(texts).toContain(tick)
    expect(rows[0]?.slice(1)).toEqual(['960', '1,000'])
    expect(rows.at(-1)?.slice(1)).toEqual(['720', '1,000'])
    expect(rows.filter(([, value]) => value === 'no data')).toHaveLength(1)
    expect(lineOf('usage')?.match(/[MV]/g)).toHaveLength(rows.length - 1)
  })

  test('where its limit moved, the line of the limit has a step', async () => {
    const { text } = await open('/accounts/4711/series?id=type%2F0-2&range=30d')
    const { lineOf, rows } = chartIn(text)
    const heights = [...(lineOf('limit') ?? '').matchAll(/[V ]([\d.]+)H/g)].map(([, y]) => y)
    expect(new Set(heights).size).toBe(2)
    expect(new Set(rows.map(([, , limit]) => limit))).toEqual(new Set(['600', '450', '']))
  })

  test('a range that is none, and a series that is none, are refused', async () => {
    expect((await open('/accounts/4711/series?id=overall&range=2d')).status).toBe(400)
    const server = await openServer(redis)
    await server.connectAccount({ hubId: 4, hubDomain: 'acme.example.com' })
    expect((await server.get('/accounts/4/series')).status).toBe(400)
    expect((await server.get('/accounts/4/series?id=type%2F9-9')).status).toBe(404)
  })
})

test('where nothing was read lately the chart says since when, and the time since then is a gap', async () => {
  const { get, connectAccount, poll, clock } = await openServer(redis)
  await connectAccount({ hubId: 4, hubDomain: 'acme.example.com' })
  await poll(4, readings(clock.now(), 960))
  const path = '/accounts/4/series?id=overall&range=7d'
  expect((await get(path)).text).not.toContain('No data since')
  clock.move(3 * DAY)
  const { text, words } = await get(path)
  expect(words).toMatch(/960 of 1,000 properties, unchanged for 3 days\. No data since 20\d\d-/)
  expect(chartIn(text).svg).toMatch(/<rect class="gap" x="0" width="1000"/)
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
    let at = FROM - 5 * DAY
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

const drawn = (timeline: Timeline) => pointsOf(timeline, gapsOf(timeline), 'overall', FROM, NOW)

test('each point is what was read then; where nothing was read there is a point without usage', () => {
  fc.assert(
    fc.property(histories, (timeline) => {
      const points = drawn(timeline)
      const gaps = gapsOf(timeline)
      expect(points.map(({ at }) => at)).toEqual(points.map(({ at }) => at).toSorted((a, b) => a - b))
      for (const [n, { at, usage }] of points.entries()) {
        const read = timeline.series.get('overall')?.findLast(({ from }) => from <= at)?.value?.usage
        const isMissing = gaps.some(({ from, to }) => from <= at && at < to)
        if (usage !== undefined) expect(usage).toBe(read)
        else expect(isMissing || read === undefined).toBe(true)
        if (usage !== undefined && isMissing) expect(points[n + 1]).toEqual({ at })
      }
      for (const { from } of gaps) {
        const last = points.findLast(({ at }) => at <= from)
        if (from >= FROM && from <= NOW && last !== undefined) expect(last.usage).toBeUndefined()
      }
    }),
    { numRuns: 200 },
  )
})

test('of many points the highest and the last of all stay', () => {
  fc.assert(
    fc.property(fc.array(fc.nat({ max: 2_000 }), { minLength: 500, maxLength: 800 }), (usages) => {
      const step = (NOW - FROM) / usages.length
      const stretches = usages.map((usage, n) => ({ from: FROM + Math.ceil(n * step), value: { usage, limit: 900 } }))
      const timeline = { series: new Map([['overall', stretches]]), polls: [{ at: FROM }], readAt: NOW }
      const points = drawn(timeline)
      expect(points.length).toBeLessThanOrEqual(105)
      expect(Math.max(...points.map(({ usage = 0 }) => usage))).toBe(Math.max(...usages))
      expect(points.at(-1)?.usage).toBe(usages.at(-1))
    }),
    { numRuns: 50 },
  )
})

test('whatever there is to draw, every line lies in the frame, and time only goes on', () => {
  const forecasts = fc.option(
    fc.record({
      days: fc.double({ min: 0.1, max: 900, noNaN: true }),
      earliest: fc.double({ min: 0.1, max: 900, noNaN: true }),
      latest: fc.option(fc.double({ min: 0.1, max: 900, noNaN: true })),
    }),
  )
  fc.assert(
    fc.property(histories, forecasts, (timeline, forecast) => {
      const points = drawn(timeline)
      const page = String(chart({ title: 'a', unit: 'b', points, now: NOW, forecast }, 170))
      expect(page).not.toMatch(/NaN|Infinity/)
      const { lineOf, texts } = chartIn(page)
      for (const line of [lineOf('usage'), lineOf('limit')]) {
        const heights = [...(line ?? '').matchAll(/[V ]([\d.-]+)/g)].map(([, y]) => Number(y))
        for (const y of heights) expect(y >= 0 && y <= 170).toBe(true)
        const times = [...(line ?? '').matchAll(/[MH]([\d.-]+)/g)].map(([, x]) => Number(x))
        expect(times).toEqual(times.toSorted((a, b) => a - b))
        for (const x of times) expect(x >= 0 && x <= 1_000).toBe(true)
      }
      expect(texts.length).toBeLessThanOrEqual(14)
    }),
    { numRuns: 200 },
  )
})
