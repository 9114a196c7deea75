const WHOLE = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 })
const ONE_DECIMAL = new Intl.NumberFormat('en-US', { maximumFractionDigits: 1 })

/** `1,000`. */
export function formatCount(count: number): string {
  return WHOLE.format(count)
}

/** `96 %`, `99.5 %`. What is below 100 never reads as 100: that would be another state. */
export function formatPercent(percent: number): string {
  const rounded = ONE_DECIMAL.format(percent)
  return `${percent < 100 && rounded === '100' ? '99.9' : rounded} %`
}

/** `+20`, `-1,000`. */
export function formatChange(change: number): string {
  return change > 0 ? `+${WHOLE.format(change)}` : WHOLE.format(change)
}

/** `1 day`, `6.5 days`. */
export function formatDays(days: number): string {
  const rounded = ONE_DECIMAL.format(days)
  return rounded === '1' ? '1 day' : `${rounded} days`
}

/** `1 alert`, `2,000 alerts`. */
export function countOf(count: number, one: string, many = `${one}s`): string {
  return `${WHOLE.format(count)} ${count === 1 ? one : many}`
}

/** `15 s`, for a number of milliseconds; `80 ms` below a second. */
export function formatSeconds(milliseconds: number): string {
  if (milliseconds < 1000) return `${WHOLE.format(milliseconds)} ms`
  return `${ONE_DECIMAL.format(milliseconds / 1000)} s`
}
