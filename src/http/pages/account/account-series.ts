import type { AlertLevel } from '../../../alerts/alert.ts'
import { byConsequence, compareRanks, type Ranked } from '../../../alerts/alert.ts'
import { levelOf, ruleFor } from '../../../alerts/evaluation/rules.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import { type AccountHistory, type History, type Timeline, timelineOf } from '../../../limits/history/history.ts'
import { metricKind } from '../../../limits/reports/all-reports.ts'
import type { SeriesName } from '../../../limits/reports/report.ts'
import { parseSeriesId, seriesId } from '../../../limits/series.ts'
import { cleanText } from '../../../text/clean-text.ts'
import { formatMoment, zoneName } from '../../../text/format-time.ts'
import { type Html, html } from '../../../text/html.ts'
import { readUntil } from '../../../views/account-history.ts'
import type { CurrentSeries } from '../../../views/account-view.ts'
import type { AccountExplanation, ExplainedSeries } from '../../../views/explain-account.ts'
import type { RuleSet } from '../../../views/view-deps.ts'
import { chart, sparkline } from './chart/chart.ts'
import type { ChartData, Mark } from './chart/geometry.ts'
import { gapsOf, thinned, trackOf } from './chart/track.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

/** How far back a chart reaches, and of how long a stretch it shows one point; 0 = each change. */
const RANGES = {
  '1h': { ms: HOUR, slotMs: 0, says: 'in an hour' },
  '6h': { ms: 6 * HOUR, slotMs: 0, says: 'in 6 hours' },
  '24h': { ms: DAY, slotMs: 0, says: 'in 24 hours' },
  '7d': { ms: 7 * DAY, slotMs: 0, says: 'in 7 days' },
  '30d': { ms: 30 * DAY, slotMs: HOUR, says: 'in 30 days' },
  '90d': { ms: 90 * DAY, slotMs: 6 * HOUR, says: 'in 90 days' },
  '1y': { ms: 365 * DAY, slotMs: DAY, says: 'in a year' },
} as const satisfies Record<string, { ms: number; slotMs: number; says: string }>

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
  return RANGE_NAMES.find((name) => name === LONGEST_USUAL || age <= RANGES[name].ms) ?? LONGEST_USUAL
}

/** An account's series as its pages show them: names, levels, and how each moved in the range that was chosen. */
export interface AccountSeries {
  hubId: number
  range: RangeName
  now: number
  timeline: Timeline
  /** Series as last read, with their names and alerts. */
  current: readonly ShownSeries[]
  /** `slotMs`: one point a slot, other than the range says. */
  dataOf: (series: ShownSeries, slotMs?: number) => ChartData
  /** The series of an id that was ever read and is still remembered. */
  find: (id: string) => ShownSeries | undefined
}

export interface ShownSeries {
  id: string
  /** In people's words. */
  title: string
  name: SeriesName
  /** Undefined for one that is no longer reported. */
  current: CurrentSeries | undefined
  /** The state of its alert, and the reason. */
  explained: ExplainedSeries | undefined
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
  { account, series: explained }: Pick<AccountExplanation, 'account' | 'series'>,
  { history, range: asked, freshnessMs }: SeriesAsked,
  now: number,
): AccountSeries {
  const timeline = history === undefined ? NEVER_READ : timelineOf(history)
  const range = asked ?? usualRange(history?.changes[0]?.at, now)
  const gaps = gapsOf(timeline.polls)
  const { ms, slotMs: usualSlotMs } = RANGES[range]
  const { polledAt } = account
  const isUnread = polledAt !== null && now > readUntil(account) && now - polledAt > freshnessMs
  const span = { from: now - ms, to: isUnread ? polledAt : Math.min(now, readUntil(account)) }
  const unread = isUnread ? [{ from: polledAt, to: now }] : []
  const visible = [...gaps, ...unread].filter(({ from, to }) => to > span.from && from <= span.to)
  const current = explained.map((one): ShownSeries => {
    const { series, state } = one
    const level = state === 'warning' || state === 'critical' ? state : undefined
    return { id: series.id, title: seriesName(series), name: series, current: series, explained: one, level }
  })
  return {
    hubId: account.hubId,
    range,
    now,
    timeline,
    current,
    dataOf: ({ id, name, current: read, explained: one }, slotMs = usualSlotMs) => {
      const rule = ruleFor(rules, account, name)
      const levels = rule?.off === true ? undefined : rule
      return {
        track: thinned(trackOf(timeline, gaps, id, span), slotMs),
        gaps: visible,
        from: span.from,
        now,
        unit: unitOf(name),
        marks: one === undefined ? [] : marksOf(one),
        levels: { warning: levelOf(levels, 'warning', name), critical: levelOf(levels, 'critical', name) },
        forecast: read?.forecast ?? null,
      }
    },
    find: (id) => current.find((one) => one.id === id) ?? past(timeline, id),
  }
}

function past(timeline: Timeline, id: string): ShownSeries | undefined {
  const name = timeline.series.has(id) ? parseSeriesId(id) : undefined
  if (name === undefined) return undefined
  return { id, title: seriesName(name), name, current: undefined, explained: undefined, level: undefined }
}

/** The unit that usage of a series counts. */
export function unitOf({ metric }: SeriesName): string {
  return metricKind(metric)?.unit ?? ''
}

/**
 * Marks where its alert was opened, changed its level or was resolved, and where an operator acknowledged it; repeats are no
 * news.
 */
function marksOf({ transitions, state, since, acknowledged }: ExplainedSeries): Mark[] {
  const told = transitions.flatMap(({ at, alert }): Mark[] => {
    if (alert.kind !== 'limit' || alert.reason === 'repeat' || alert.reason === 'worse') return []
    return [{ at, is: alert.status === 'resolved' ? 'resolved' : alert.level, says: '' }]
  })
  // The log may have forgotten the beginning of an alert that is open.
  const open = since === null || told.some(({ at }) => at <= since) ? [] : [since]
  const known = acknowledged === null ? [] : [acknowledged]
  return [
    ...told.map((mark) => ({ ...mark, says: `${mark.is}, ${formatMoment(mark.at)}` })),
    ...open.map(
      (at): Mark => ({
        at,
        is: state === 'critical' ? state : 'warning',
        says: `alert open since ${formatMoment(at)}`,
      }),
    ),
    ...known.map(({ at, by }): Mark => {
      return { at, is: 'acknowledged', says: `acknowledged by ${cleanText(by, 60)}, ${formatMoment(at)}` }
    }),
  ]
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
export function seriesPath(
  { hubId, range }: Pick<AccountSeries, 'hubId' | 'range'>,
  id: string,
  page = 'series',
): string {
  return `/accounts/${hubId}/${page}?${new URLSearchParams({ id, range })}`
}

/** Link to the page of a series, by its name. */
export function seriesLink(all: AccountSeries, { id, title }: ShownSeries, shown = title): Html {
  return html`<a href="${seriesPath(all, id)}" title="${title}">${shown}</a>`
}

/** Points of a line in a table: more would not be visible. */
const POINTS = 40

export function sparklineOf(all: AccountSeries, series: ShownSeries): Html {
  return sparkline(all.dataOf(series, RANGES[all.range].ms / POINTS), series.level)
}

/** The last seven days of one series, for a list of several accounts; nothing where its history can't be read. */
export async function readSparkline(
  history: Pick<History, 'changes'>,
  { hubId, ...name }: SeriesName & { hubId: number },
  level: AlertLevel | undefined,
  now: number,
): Promise<Html | undefined> {
  const read = await history.changes(hubId).catch(() => undefined)
  if (read === undefined) return undefined
  const [timeline, { ms }] = [timelineOf(read), RANGES['7d']]
  const gaps = gapsOf(timeline.polls)
  const track = trackOf(timeline, gaps, seriesId(name), { from: now - ms, to: timeline.readAt })
  const data = { track: thinned(track, ms / POINTS), gaps, from: now - ms, now, unit: '', marks: [] }
  return sparkline({ ...data, levels: {}, forecast: null }, level)
}

/** Rows of the numbers below a chart, about; the read-out stops at each. */
const ROWS = 30

/** A chart of a series in the range of its page, with its story and its numbers. `id` is unique on the page. */
export function seriesChart(
  all: AccountSeries,
  series: ShownSeries,
  { id = 'chart', height = 280, caption }: { id?: string; height?: number; caption?: Html } = {},
): Html {
  const { ms, says } = RANGES[all.range]
  const numbers = all.dataOf(series, ms / ROWS).track
  const csv = seriesPath(all, series.id, 'series.csv')
  return chart({ id, title: series.title, data: all.dataOf(series), numbers, height, span: says, csv }, caption)
}

export function rangeChoice({ range: chosen, now }: AccountSeries, path: (range: RangeName) => string): Html {
  return html`<p class="filter" role="group" aria-label="Range">${RANGE_NAMES.map(
    (range) => html`<a href="${path(range)}"${range === chosen ? html` aria-current="true"` : undefined}>${range}</a>`,
  )}<span class="soft">times in ${zoneName(now)}</span></p>`
}
