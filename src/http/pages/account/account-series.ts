import type { AlertLevel } from '../../../alerts/alert.ts'
import { levelOf, ruleFor } from '../../../alerts/evaluation/rules.ts'
import { seriesName } from '../../../alerts/series-name.ts'
import type { AccountHistory } from '../../../limits/history/history.ts'
import { type Timeline, timelineOf } from '../../../limits/history/timeline.ts'
import { parseSeriesId, type SeriesName } from '../../../limits/series.ts'
import { readUntil } from '../../../views/account-history.ts'
import type { CurrentSeries } from '../../../views/account-view.ts'
import type { AccountExplanation, ExplainSettings } from '../../../views/explain-account.ts'
import type { ChartData } from './chart/geometry.ts'
import { RANGES, type RangeName } from './chart/range.ts'
import { type Gap, gapsOf, thinned, trackOf } from './chart/track.ts'

/** An account's series as its pages show them: names, levels, and how each moved in the range that was chosen. */
export interface AccountSeries {
  hubId: number
  range: RangeName
  now: number
  timeline: Timeline
  /** As last read, with their names and alerts. */
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
  /** Of its open alert. */
  level: AlertLevel | undefined
}

const NEVER_READ: Timeline = { series: new Map(), polls: [], readAt: 0 }

export function accountSeries(
  { rules }: Pick<ExplainSettings, 'rules'>,
  { account, series: explained }: Pick<AccountExplanation, 'account' | 'series'>,
  history: AccountHistory | undefined,
  range: RangeName,
  now: number,
): AccountSeries {
  const timeline = history === undefined ? NEVER_READ : timelineOf(history)
  const gaps = gapsOf(timeline.polls)
  const { ms, slotMs: usualSlotMs } = RANGES[range]
  const span = { from: now - ms, to: Math.min(now, readUntil(account)) }
  const current = explained.map(({ series, state }): ShownSeries => {
    const level = state === 'warning' || state === 'critical' ? state : undefined
    return { id: series.id, title: seriesName(series), name: series, current: series, level }
  })
  return {
    ...{ hubId: account.hubId, range, now, timeline, current },
    dataOf: ({ id, name, current: read }, slotMs = usualSlotMs) => {
      const rule = ruleFor(rules, account, name)
      return {
        track: thinned(trackOf(timeline, gaps, id, span), slotMs),
        gaps: visible(gaps, span),
        ...{ from: span.from, now },
        levels:
          rule?.off === true
            ? {}
            : { warning: levelOf(rule, 'warning', name), critical: levelOf(rule, 'critical', name) },
        forecast: read?.forecast ?? null,
      }
    },
    find: (id) => current.find((one) => one.id === id) ?? past(timeline, id),
  }
}

function visible(gaps: readonly Gap[], { from, to }: { from: number; to: number }): Gap[] {
  return gaps.filter((gap) => gap.to > from && gap.from < to)
}

function past(timeline: Timeline, id: string): ShownSeries | undefined {
  const name = timeline.series.has(id) ? parseSeriesId(id) : undefined
  return name === undefined ? undefined : { id, title: seriesName(name), name, current: undefined, level: undefined }
}

/** Alerts first, then what is full within a month, then the fullest; what counts records has no limit to be near to. */
export function nearestFirst(series: readonly ShownSeries[]): ShownSeries[] {
  const rank = ({ level }: ShownSeries) => (level === 'critical' ? 0 : level === 'warning' ? 1 : 2)
  const days = ({ current }: ShownSeries) =>
    current?.daysLeft != null && current.daysLeft <= 30 ? current.daysLeft : Number.MAX_VALUE
  return series
    .filter(({ level, current }) => level !== undefined || (current?.percent ?? 0) > 0)
    .toSorted(
      (a, b) => rank(a) - rank(b) || days(a) - days(b) || (b.current?.percent ?? -1) - (a.current?.percent ?? -1),
    )
}

/** The page of one series, in the range that is looked at. */
export function seriesPath(
  { hubId, range }: Pick<AccountSeries, 'hubId' | 'range'>,
  id: string,
  page = 'series',
): string {
  return `/accounts/${hubId}/${page}?${new URLSearchParams({ id, range })}`
}
