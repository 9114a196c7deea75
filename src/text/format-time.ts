import { countOf } from './format-number.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** `2026-11-21 10:00 UTC`. */
export function formatTime(iso: string): string {
  const at = Date.parse(iso)
  return Number.isNaN(at) ? 'unknown' : `${new Date(at).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

/** The same of a moment in ms. */
export function formatMoment(at: number | null): string {
  return formatTime(iso(at) ?? '')
}

/** `2026-11-21 10:00 UTC (3 hours ago)`. */
export function formatTimeAndAge(iso: string, now: number): string {
  const at = Date.parse(iso)
  return Number.isNaN(at) ? 'unknown' : `${formatTime(iso)} (${formatAge(now - at)})`
}

function formatAge(age: number): string {
  if (age < MINUTE) return 'just now'
  if (age < HOUR) return `${countOf(Math.floor(age / MINUTE), 'minute')} ago`
  if (age < 2 * DAY) return `${countOf(Math.floor(age / HOUR), 'hour')} ago`
  return `${countOf(Math.floor(age / DAY), 'day')} ago`
}

/** ISO 8601, or null for what never was or is no time at all. */
export function iso(at: number | null): string | null {
  return at === null || !Number.isFinite(at) || Math.abs(at) > 8.64e15 ? null : new Date(at).toISOString()
}
