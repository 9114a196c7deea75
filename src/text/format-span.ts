const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A span of time in one unit: `45 s`, `12 min`, `26 h`, `9 days`. */
export function formatSpan(milliseconds: number): string {
  const ms = Math.max(0, milliseconds)
  if (ms < 2 * MINUTE) return `${Math.round(ms / SECOND)} s`
  if (ms < 2 * HOUR) return `${Math.round(ms / MINUTE)} min`
  if (ms < 2 * DAY) return `${Math.round(ms / HOUR)} h`
  return `${Math.round(ms / DAY)} days`
}
