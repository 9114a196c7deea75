import { WINDOW_DAYS } from '../../limits/forecast/forecast.ts'
import {
  type AccountForecasts,
  type DailyValue,
  dailyPoints,
  dayOf,
  forecastSeries,
  UTC_DAY_MS,
} from '../../limits/forecast/forecast-account.ts'
import { outlookOf } from '../../limits/forecast/outlook.ts'
import type { Snapshot, Timeline, TimelineStretch } from '../../limits/history/history.ts'
import type { Series } from '../../limits/series.ts'
import { isHidden } from '../../limits/series.ts'

/**
 * The days that a series had left at any moment of its history, by the forecast of that day: computed from the days
 * before it, as the daily job does. (That job runs some time after midnight; here each day has its forecast from its
 * beginning.)
 */
export class Foresight {
  readonly #values: readonly DailyValue[]
  readonly #fastest: number
  #day = Number.NaN
  #forecasts: AccountForecasts | undefined

  constructor(
    stretches: readonly TimelineStretch[],
    timeline: Timeline,
    name: Omit<Series, 'usage' | 'limit' | 'percent'>,
  ) {
    const snapshots = snapshotsOf(stretches, timeline, name)
    const first = snapshots.find(({ at }) => at > Number.NEGATIVE_INFINITY)?.at ?? timeline.readAt
    const span = { from: dayOf(first) - 1, to: dayOf(timeline.readAt) + 1, readUntil: () => timeline.readAt }
    this.#values = dailyPoints(snapshots, span).get(name.id) ?? []
    this.#fastest = fastestDay(this.#values)
  }

  /**
   * True where so few days may be left with these numbers on some day and not on another: the fastest day there was
   * shows it, far sooner than forecasts.
   */
  mayReach({ usage, limit }: Series, within: number): boolean {
    return limit !== null && usage < limit && limit - usage <= within * this.#fastest
  }

  /** @param within more days than that are not computed exactly: null */
  daysLeft(series: Series, at: number, within: number): number | null | undefined {
    if (series.limit === null) return undefined
    if (series.usage >= series.limit) return 0
    // A record that is not shown is not known to move.
    if (isHidden(series)) return null
    // Most are far from that, and it is known far sooner that they are than how far.
    if (Number.isFinite(within) && !this.mayReach(series, within)) return null
    const day = dayOf(at)
    if (day !== this.#day) {
      this.#day = day
      const window = this.#values.filter((value) => value.day >= day - WINDOW_DAYS && value.day < day)
      this.#forecasts = forecastSeries([series], new Map([[series.id, window]]), day * UTC_DAY_MS)
    }
    return outlookOf(series, this.#forecasts, day * UTC_DAY_MS).daysLeft
  }
}

function fastestDay(values: readonly DailyValue[]): number {
  let fastest = 0
  for (const [n, { day, usage }] of values.entries()) {
    const before = values[n - 1]
    if (before !== undefined) fastest = Math.max(fastest, (usage - before.usage) / (day - before.day))
  }
  return fastest
}

/** The account's, but of this series alone: also where a gap ended in which it stayed as it was. */
function snapshotsOf(
  stretches: readonly TimelineStretch[],
  { polls }: Timeline,
  { id: _, label: __, ...name }: Omit<Series, 'usage' | 'limit' | 'percent'>,
): Snapshot[] {
  const gaps = new Map(
    polls.flatMap(({ at, missingSince }) => (missingSince === undefined ? [] : [[at, missingSince]])),
  )
  const moments = new Set([...stretches.map(({ from }) => from), ...gaps.keys()])
  let next = 0
  let value: TimelineStretch['value']
  return [...moments]
    .sort((a, b) => a - b)
    .map((at) => {
      while ((stretches[next]?.from ?? Number.POSITIVE_INFINITY) <= at) value = stretches[next++]?.value
      const missingSince = gaps.get(at)
      return {
        at,
        ...(missingSince === undefined ? {} : { missingSince }),
        series: value === undefined ? [] : [{ ...name, ...value, percent: null }],
      }
    })
}
