import { type Html, html } from '../../../text/html.ts'
import { type AccountSeries, type ShownSeries, seriesPath } from './account-series.ts'
import { RANGES } from './chart/range.ts'
import { sparkline } from './chart/sparkline.ts'

/** What a series is called, on the way to its own page. */
export function seriesLink(all: AccountSeries, { id, title }: ShownSeries): Html {
  return html`<a href="${seriesPath(all, id)}">${title}</a>`
}

/** The same where a number or a line stands for the series: `says` is what those hear who don't see where it stands. */
export function seriesLinkAt(all: AccountSeries, { id }: ShownSeries, shown: Html, says: string): Html {
  return html`<a href="${seriesPath(all, id)}" aria-label="${says}">${shown}</a>`
}

/** Points of a line in a table: more would not be told apart. */
const POINTS = 40

export function sparklineOf(all: AccountSeries, series: ShownSeries): Html {
  return sparkline(all.dataOf(series, RANGES[all.range].ms / POINTS), series.level)
}
