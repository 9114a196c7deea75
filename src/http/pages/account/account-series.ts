import type { AlertLevel } from '../../../alerts/alert.ts'
import { byConsequence, compareRanks, type Ranked } from '../../../alerts/alert.ts'
import { type Level, levelOf, ruleFor } from '../../../alerts/evaluation/rules.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import { type AccountHistory, type Timeline, timelineOf } from '../../../limits/history/history.ts'
import { metricKind } from '../../../limits/reports/all-reports.ts'
import type { SeriesName } from '../../../limits/reports/report.ts'
import { parseSeriesId } from '../../../limits/series.ts'
import { capitalized } from '../../../text/format-number.ts'
import { zoneName } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { readUntil } from '../../../views/account-history.ts'
import { isLeaving, type PlannedAccount } from '../../../views/judge-account.ts'
import type { ExplainedSeriesShape } from '../../../views/shapes/explanation.ts'
import type { RuleSet } from '../../../views/view-deps.ts'
import { chart, sparkline } from './chart.ts'
import { gapsOf, type Point, pointsOf } from './points.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** How far back a chart reaches, ms. */
const RANGES = {
  '1h': HOUR,
  '6h': 6 * HOUR,
  '24h': DAY,
  '7d': 7 * DAY,
  '30d': 30 * DAY,
  '90d': 90 * DAY,
  '1y': 365 * DAY,
} as const

export type RangeName = keyof typeof RANGES
export const RANGE_NAMES = Object.keys(RANGES) as RangeName[]

const LONGEST_USUAL: RangeName = '30d'

/**
 * The range of a page whose reader has chosen none: the shortest that has all readings.
 *
 * @param since when the account was read first, as far as is known, ms
 */
export function usualRange(since: number | undefined, now: number): RangeName {
  const age = now - (since ?? now)
  return RANGE_NAMES.find((name) => name === LONGEST_USUAL || age <= RANGES[name]) ?? LONGEST_USUAL
}

/** An account's series as its pages show them: names, levels, and how each moved in the range that was chosen. */
export interface AccountSeries {
  hubId: number
  range: RangeName
  now: number
  timeline: Timeline
  /** Series as last read, with their names and alerts. */
  current: readonly ShownSeries[]
  /** How one moved in the range. */
  pointsOf: (series: ShownSeries) => Point[]
  /** The series of an id that was ever read and is still remembered. */
  find: (id: string) => ShownSeries | undefined
}

export interface ShownSeries {
  id: string
  /** In people's words. */
  title: string
  name: SeriesName
  /** The last reading, with the state of its alert and the reason; undefined for one that is no longer reported. */
  current: ExplainedSeriesShape | undefined
  /** Level of its open alert. */
  level: AlertLevel | undefined
}

const NEVER_READ: Timeline = { series: new Map(), polls: [], readAt: 0 }

interface SeriesAsked {
  history: AccountHistory | undefined
  range: RangeName | undefined
  /** A last reading that is older leaves a gap until now. */
  freshnessMs: number
}

export function accountSeries(
  { rules }: Pick<RuleSet, 'rules'>,
  account: PlannedAccount,
  explained: readonly ExplainedSeriesShape[],
  { history, range: asked, freshnessMs }: SeriesAsked,
  now: number,
): AccountSeries {
  const timeline = history === undefined ? NEVER_READ : timelineOf(history)
  const range = asked ?? usualRange(history?.changes[0]?.at, now)
  const { polledAt } = account
  const isUnread = polledAt !== null && now > readUntil(account) && now - polledAt > freshnessMs
  const unread = isUnread ? [{ from: polledAt, to: Number.POSITIVE_INFINITY }] : []
  const gaps = [...gapsOf(timeline), ...unread]
  const current = explained.map((one): ShownSeries => {
    const level = one.state === 'warning' || one.state === 'critical' ? one.state : undefined
    return { id: one.id, title: capitalized(seriesName(one)), name: one, current: one, level }
  })
  return {
    hubId: account.hubId,
    range,
    now,
    timeline,
    current,
    pointsOf: ({ id, name }) => {
      const rule = ruleFor(rules, account, name)
      const levels = rule?.off === true || isLeaving(account) ? undefined : rule
      const [warning, critical] = [levelOf(levels, 'warning', name), levelOf(levels, 'critical', name)]
      return pointsOf(timeline, gaps, id, now - RANGES[range], now).map(({ at, usage, limit }) =>
        usage === undefined
          ? { at }
          : { at, usage, limit, warning: levelUsage(warning, limit), critical: levelUsage(critical, limit) },
      )
    },
    find: (id) => current.find((one) => one.id === id) ?? past(timeline, id),
  }
}

function past(timeline: Timeline, id: string): ShownSeries | undefined {
  const name = timeline.series.has(id) ? parseSeriesId(id) : undefined
  if (name === undefined) return undefined
  return { id, title: capitalized(seriesName(name)), name, current: undefined, level: undefined }
}

/** The unit that usage of a series counts. */
export function unitOf({ metric }: SeriesName): string {
  return metricKind(metric)?.unit ?? ''
}

/**
 * The usage from which a level holds at a limit: the lowest of its conditions, as any of them will do. Undefined where none
 * is about usage: days left depend on the pace, and a percentage needs a limit.
 */
function levelUsage(level: Level | undefined, limit: number | undefined): number | undefined {
  const { percent, count, remaining } = level ?? {}
  const usages = [
    count,
    percent === undefined || limit === undefined ? undefined : (limit * percent) / 100,
    remaining === undefined || limit === undefined ? undefined : Math.max(0, limit - remaining),
  ].filter((usage) => usage !== undefined)
  return usages.length === 0 ? undefined : Math.min(...usages)
}

/** Alerts by their consequence, then series that are full within a month, then the fullest; records at their limit are full. */
export function nearestFirst(series: readonly ShownSeries[]): ShownSeries[] {
  const ranked = ({ level = 'warning', name, current }: ShownSeries): Ranked => ({
    kind: 'limit',
    level,
    series: name,
    usage: current?.usage ?? 0,
    ...(current?.percent == null ? {} : { percent: current.percent }),
    ...(current?.daysLeft == null ? {} : { daysLeft: current.daysLeft }),
  })
  const place = ({ name, current }: ShownSeries) => {
    const { percent = null, usage = 0, daysLeft = null } = current ?? {}
    const counted = usage === 0 ? -1 : metricKind(name.metric)?.counts === 'full' ? 100 : 80
    return [daysLeft !== null && daysLeft <= 30 ? daysLeft : Number.MAX_VALUE, -(percent ?? counted)]
  }
  const isOpen = ({ level }: ShownSeries) => level !== undefined
  return [
    ...series.filter(isOpen).toSorted((a, b) => byConsequence(ranked(a), ranked(b))),
    ...series.filter((one) => !isOpen(one)).toSorted((a, b) => compareRanks(place(a), place(b))),
  ]
}

/** The page of one series, in the range of the page that leads there. */
export function seriesPath({ hubId, range }: Pick<AccountSeries, 'hubId' | 'range'>, id: string): string {
  return `/accounts/${hubId}/series?${new URLSearchParams({ id, range })}`
}

/** Link to the page of a series, by its name. */
export function seriesLink(all: AccountSeries, { id, title }: ShownSeries): Html {
  return html`<a href="${seriesPath(all, id)}" title="${title}">${title}</a>`
}

export function sparklineOf(all: AccountSeries, series: ShownSeries): Html {
  return sparkline(all.pointsOf(series), all.now, series.level)
}

/** A chart of a series in the range of its page. */
export function seriesChart(all: AccountSeries, series: ShownSeries, height: number, caption?: Html): Html {
  const { title, name, current } = series
  const forecast = current?.forecast ?? null
  return chart({ title, unit: unitOf(name), points: all.pointsOf(series), now: all.now, forecast }, height, caption)
}

export function rangeChoice({ range: chosen, now }: AccountSeries, path: (range: RangeName) => string): Html {
  return html`<p class="chips" role="group" aria-label="Range">${RANGE_NAMES.map(
    (range) => html`<a href="${path(range)}"${range === chosen ? html` aria-current="true"` : undefined}>${range}</a>`,
  )}<span class="soft">times in ${zoneName(now)}</span></p>`
}
