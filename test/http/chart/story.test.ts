import { expect, test } from 'vitest'
import { geometryOf } from '../../../src/http/pages/account/chart/geometry.ts'
import { chartStory } from '../../../src/http/pages/account/chart/story.ts'
import { FROM, HOUR, NOW } from './tracks.ts'

const DAY = 24 * HOUR
const levels = { warning: { percent: 80 }, critical: { percent: 95 } }
const base = { gaps: [], from: FROM, now: NOW, levels, forecast: null, unit: 'properties', marks: [] }
const stand = (fromDay: number, toDay: number, usage: number, limit: number | null = 1_000) => ({
  ...{ from: FROM + fromDay * DAY, to: FROM + toDay * DAY },
  ...{ usage, limit },
})

test('a chart says from where to where, which level holds since when, and when it is full', () => {
  const track = [[stand(0, 10, 720), stand(10, 20, 820), stand(20, 30, 960)]]
  const forecast = { days: 12.4, earliest: 9.2, latest: 19.5 }
  expect(chartStory({ ...base, track, forecast }, 'in 30 days')).toBe(
    'From 720 to 960 of 1,000 in 30 days. Over critical from 950 on since 2026-11-11 10:00 UTC. At this pace: about 12 days left (9 to 20).',
  )
})

test('a limit that moved is told, and a time in which nothing was read', () => {
  const track = [[stand(2, 10, 450, 500)], [stand(12, 20, 450, 500), stand(20, 30, 450, 600)]]
  expect(chartStory({ ...base, track }, 'in 30 days')).toBe(
    'Unchanged at 450 of 600 since 2026-10-24 10:00 UTC. The limit moved to 600 at 2026-11-11 10:00 UTC. Nothing was read for a part of the time.',
  )
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
  expect(chartStory({ ...base, track: always }, 'in 30 days')).toContain('Over critical from 950 on all the time.')
  expect(chartStory({ ...base, track: [[stand(0, 30, 1_000)]] }, 'in 30 days')).toContain('It is full.')
  expect(chartStory({ ...base, track: [[stand(0, 9, 1, null), stand(9, 30, 3, null)]] }, 'in 30 days')).toBe(
    'From 1 to 3 in 30 days.',
  )
  expect(chartStory({ ...base, track: [] }, 'in 30 days')).toBe('Nothing was read of it in this time.')
})
