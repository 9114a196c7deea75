import { formatSecond, iso } from '../../../text/format-time.ts'
import { Html, html } from '../../../text/html.ts'

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `3 min ago`, with the exact time on pointing at it. */
export function when(at: number | null, now: number): Html {
  const exact = iso(at)
  if (at === null || exact === null) return new Html('<span class="soft">never</span>')
  return html`<time datetime="${exact}" title="${formatSecond(at)}">${distance(at - now)}</time>`
}

/** `in 4 min`, `3 h ago`, `now`. */
export function distance(ms: number): string {
  const amount = length(Math.abs(ms))
  if (amount === '0 s') return 'now'
  return ms > 0 ? `in ${amount}` : `${amount} ago`
}

function length(ms: number): string {
  if (ms < MINUTE) return `${Math.floor(ms / SECOND)} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  if (ms < 2 * DAY) return `${Math.floor(ms / HOUR)} h`
  return `${Math.floor(ms / DAY)} days`
}
