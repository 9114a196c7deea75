import { daysLeftText, formatCount } from '../../../../text/format-number.ts'
import { formatMoment } from '../../../../text/format-time.ts'
import { type ChartData, limitMoves, thresholdUsage } from './geometry.ts'
import type { Stand, Track } from './track.ts'

/**
 * The story of a chart in a sentence or two: `From 720 to 960 of 1,000 in 30 days. Above warning (800) since ... .`; `span` is
 * its length, as in `in 30 days`.
 */
export function chartStory(data: ChartData, span: string): string {
  const stands = data.track.flat()
  const [first, last] = [stands[0], stands.at(-1)]
  if (first === undefined || last === undefined) return 'Nothing was read in this time.'
  // Readings may begin within the time, and may end before now.
  const moved = `${movement(stands, first, last)} ${first.from > data.from ? `since ${formatMoment(first.from)}` : span}.`
  return [
    ...(isReadLately(data)
      ? [moved]
      : [
          `Last read ${formatMoment(last.to)}, nothing since.`,
          `Until then ${moved.charAt(0).toLowerCase()}${moved.slice(1)}`,
        ]),
    ...lastMove(stands),
    ...crossings(data, last),
    ...outlook(data, last),
    ...(data.track.length > 1 ? ['Part of the time nothing was read.'] : []),
  ].join(' ')
}

function movement(stands: readonly Stand[], first: Stand, last: Stand): string {
  const of = last.limit === null ? '' : ` of ${formatCount(last.limit)}`
  if (first.usage !== last.usage) return `From ${formatCount(first.usage)} to ${formatCount(last.usage)}${of}`
  return stands.every(({ usage }) => usage === last.usage)
    ? `Unchanged at ${formatCount(last.usage)}${of}`
    : `Back at ${formatCount(last.usage)}${of}`
}

function lastMove(stands: readonly Stand[]): string[] {
  const last = limitMoves(stands).at(-1)
  return last === undefined ? [] : [`The limit moved to ${formatCount(last.limit)} at ${formatMoment(last.at)}.`]
}

/** When the level that holds now was entered last. */
function crossings(data: ChartData, last: Stand): string[] {
  const { levels, track } = data
  for (const level of ['critical', 'warning'] as const) {
    const bound = thresholdUsage(levels[level], last.limit)
    if (bound === undefined || last.usage < bound) continue
    const since = crossedAt(track, (stand) => {
      const then = thresholdUsage(levels[level], stand.limit)
      return then !== undefined && stand.usage >= then
    })
    const when =
      since === undefined ? `the whole time${isReadLately(data) ? '' : ' until then'}` : `since ${formatMoment(since)}`
    return [`Above ${level} (${formatCount(Math.ceil(bound))}) ${when}.`]
  }
  return []
}

/** Undefined: it holds all the time. */
function crossedAt(track: Track, holds: (stand: Stand) => boolean): number | undefined {
  const stands = track.flat()
  for (let n = stands.length - 1; n > 0; n--) {
    const [before, stand] = [stands[n - 1], stands[n]]
    if (before !== undefined && stand !== undefined && !holds(before)) return stand.from
  }
  return undefined
}

function outlook({ forecast }: ChartData, { usage, limit }: Stand): string[] {
  if (limit !== null && usage >= limit) return [usage > limit ? 'Over its limit.' : 'Full.']
  if (forecast === null) return []
  return [`At this pace: ${daysLeftText(forecast.days, forecast)}.`]
}

/** No gap reaches until now. */
function isReadLately({ gaps, now }: ChartData): boolean {
  return gaps.every(({ to }) => to < now)
}
