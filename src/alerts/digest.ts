import { isoOf, zoneOfPeople } from '../text/format-time.ts'
import { firstMomentAt, type Weekday, wallClock, weekdayOf } from '../text/wall-clock.ts'
import { type Alert, byConsequence, type FleetChanges, type Message } from './alert.ts'

/** The local time at which a receiver gets its digest, in a zone. */
export interface DigestSchedule {
  every: 'day' | 'week'
  /** "HH:MM" */
  at: string
  /** The day of a weekly one. Default: mon. */
  on?: Weekday | undefined
  /** IANA; absent: as people read times. */
  timeZone?: string | undefined
}

/** The last moment up to `now` at which a digest is due. */
export function digestDueAt({ every, at, on = 'mon', timeZone = zoneOfPeople() }: DigestSchedule, now: number): number {
  const [hours = 0, minutes = 0] = at.split(':').map(Number)
  for (let day = wallClock(timeZone, now).day + 1; ; day--) {
    const isDay = every === 'day' || weekdayOf(day) === on
    const moment = isDay ? firstMomentAt(timeZone, day, hours * 60 + minutes) : undefined
    if (moment !== undefined && moment <= now) return moment
  }
}

/** All alerts that are open for a receiver, the `max` most urgent shown, and what changed since its last digest. */
export function composeDigest(
  open: readonly Alert[],
  { period, max, now, changed }: { period: 'day' | 'week'; max: number; now: number; changed: FleetChanges },
): Message {
  const count = (wanted: Alert['level']) => open.filter(({ level }) => level === wanted).length
  const alerts = open.toSorted(byConsequence).slice(0, max)
  const totals = {
    accounts: new Set(open.flatMap(({ account }) => account?.hubId ?? [])).size,
    critical: count('critical'),
    warning: count('warning'),
  }
  const data = { groupKey: `digest/${period}`, truncated: open.length - alerts.length, alerts, period, totals, changed }
  return { type: 'alert.digest', timestamp: isoOf(now), data }
}
