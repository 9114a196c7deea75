import { formatDaysLeft, formatDaysRange } from '../../../text/days-left.ts'
import { type Html, html } from '../../../text/html.ts'
import type { CurrentSeries } from '../../../views/account-view.ts'

/** When a series reaches its limit, or that too little was read to tell, beside how full it is; nothing where there is nothing to tell. */
export function daysLeftNote({ forecast, daysRead }: Pick<CurrentSeries, 'forecast' | 'daysRead'>): Html | undefined {
  if (daysRead !== undefined) return html` <span class="soft">forecast: ${daysRead}</span>`
  if (forecast === null || forecast.days === 0) return undefined
  return html` <span class="soft">${formatDaysLeft(forecast.days)}${formatDaysRange(forecast.days, forecast)}</span>`
}

/** Why no series of a table has days left, where that is so: told once, of the first, which is the fullest. */
export function noDaysLeft(rows: readonly Pick<CurrentSeries, 'forecast' | 'forecastReason'>[]): string | undefined {
  if (rows.some(({ forecast }) => forecast !== null)) return undefined
  const reason = rows[0]?.forecastReason
  return reason == null ? undefined : ` Days left are not told: ${reason}.`
}
