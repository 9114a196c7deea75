import type { AlertLevel } from '../../../../alerts/alert.ts'
import { type Html, html } from '../../../../text/html.ts'
import { type ChartData, geometryOf, WIDTH } from './geometry.ts'

const HEIGHT = 24

/** The line of a series and its limit, for a cell of a table; what it says stands beside it in numbers. */
export function sparkline(data: ChartData, level?: AlertLevel): Html {
  const { usage, limit } = geometryOf({ ...data, forecast: null, levels: {} }, HEIGHT)
  return html`<svg class="spark ${level ?? ''}" viewBox="0 -2 ${WIDTH} ${HEIGHT + 4}" preserveAspectRatio="none" aria-hidden="true"><path class="limit" d="${limit}"/><path class="usage" d="${usage}"/></svg>`
}
