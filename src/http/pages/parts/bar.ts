import type { AlertLevel } from '../../../alerts/alert.ts'
import { formatCount, formatPercent } from '../../../text/format-number.ts'
import { type Html, html } from '../../../text/html.ts'

/** How full something is: a bar as long as the share, and the numbers beside it. */
export function fullness(
  { usage, limit, percent }: { usage: number; limit: number | null; percent: number | null },
  level?: AlertLevel,
): Html {
  if (limit === null || percent === null) return html`${formatCount(usage)}`
  const long = Math.min(100, Math.max(0, percent)).toFixed(1)
  return html`<span class="fullness"><svg class="bar ${level ?? ''}" viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect width="100" height="6"/><rect class="fill" width="${long}" height="6"/></svg>
<span>${formatPercent(percent)}</span> <span class="soft">${formatCount(usage)} of ${formatCount(limit)}</span></span>`
}
