import { formatDistance } from './format-number.ts'
import { DAY_MS, firstMomentAt, offsetAt } from './wall-clock.ts'

/** One for the process, as its language is: every text that names a time shows it in the same zone. */
let timeZone: string | undefined
/** Kept: to make one takes longer than the rest of a cell of a table. */
let named: Intl.DateTimeFormat | undefined

/** From now on people read times in this zone (`http.timeZone`, an IANA name); without one in the machine's. */
export function showTimesIn(zone: string | undefined): void {
  timeZone = zone
  named = undefined
}

/** The machine's is looked up where it is needed: `Intl` takes a third of what a bare Node takes to start. */
export function zoneOfPeople(): string {
  timeZone ??= Intl.DateTimeFormat().resolvedOptions().timeZone
  return timeZone
}

/** Offset from UTC of the clock that people read, ms. */
export function localOffset(at: number): number {
  return offsetAt(zoneOfPeople(), at)
}

function namedZone(zone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('en-GB', { timeZone: zone, timeZoneName: 'short' })
}

/** `CET`, `GMT+2`, `UTC`: the zone as it is named at that moment. */
export function zoneName(at: number): string {
  named ??= namedZone(zoneOfPeople())
  return named.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? zoneOfPeople()
}

/** The moment at which the clock that people read shows `2026-11-21T10:00`; undefined for what is no such time. */
export function parseLocalTime(text: string): number | undefined {
  const [, date, hour, minute, second = 0] =
    /^(\d{4}-\d\d-\d\d)T(\d\d):([0-5]\d)(?::([0-5]\d(?:\.\d{1,9})?))?$/.exec(text) ?? []
  const day = Date.parse(`${date}T00:00Z`)
  // Date.parse takes 31 February for 3 March.
  if (Number.isNaN(day) || iso(day)?.slice(0, 10) !== date || Number(hour) > 23) return undefined
  const at = firstMomentAt(zoneOfPeople(), day / DAY_MS, Number(hour) * 60 + Number(minute))
  return at === undefined ? undefined : at + Math.floor(Number(second) * 1_000)
}

/** `2026-11-21 10:00 CET`. */
export function formatTime(iso: string): string {
  return localTime(Date.parse(iso), 16)
}

/** The same of a moment in ms. */
export function formatMoment(at: number | null): string {
  return formatTime(iso(at) ?? '')
}

/** `10:00`; with date and zone where it is not of the last twelve hours. */
export function formatClock(at: number, now: number): string {
  return Math.abs(now - at) < DAY_MS / 2 ? localTime(at, 16).slice(11, 16) : localTime(at, 16)
}

/** `2026-11-21 10:00:31 CET`. */
export function formatSecond(at: number): string {
  return localTime(at, 19)
}

function localTime(at: number, length: number): string {
  if (Number.isNaN(at)) return 'unknown'
  return `${new Date(at + localOffset(at)).toISOString().slice(0, length).replace('T', ' ')} ${zoneName(at)}`
}

/** `2026-11-21 10:00 CET (3 h ago)`. */
export function formatTimeAndAge(iso: string, now: number): string {
  const at = Date.parse(iso)
  return Number.isNaN(at) ? 'unknown' : `${formatTime(iso)} (${formatDistance(at - now)})`
}

/** ISO 8601, of a moment that is known to be one. */
export function isoOf(at: number): string {
  return new Date(at).toISOString()
}

/** ISO 8601, or null for what never was or is no time at all. */
export function iso(at: number | null): string | null {
  return at === null || !Number.isFinite(at) || Math.abs(at) > 8.64e15 ? null : new Date(at).toISOString()
}

const ISO = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)?)?$/

/** ISO 8601, UTC where it has no offset; undefined for anything else, a bare number too. */
export function parseMoment(text: string): number | undefined {
  if (!ISO.test(text)) return undefined
  const utc = text.includes('T') && !/(Z|[+-]\d\d:\d\d)$/.test(text) ? `${text}Z` : text
  const at = Date.parse(utc)
  return Number.isNaN(at) ? undefined : at
}
