import { DAY_MS, firstMomentAt, type Weekday, wallClock, weekdayOf } from '../../text/wall-clock.ts'

/** When a receiver gets its digest, by the local time of a zone. */
export interface DigestSchedule {
  every: 'day' | 'week'
  /** "HH:MM" */
  at: string
  /** Of a weekly one. */
  on: Weekday
  /** IANA */
  timeZone: string
}

const PERIOD_MS = { day: DAY_MS, week: 7 * DAY_MS }
/** The search begins no further back: two weekly ones lie in it. */
const FAR_MS = 16 * DAY_MS

/** The first moment after `now` at which a digest is due. */
export function nextDigestAt(schedule: DigestSchedule, now: number): number {
  const [hours = 0, minutes = 0] = schedule.at.split(':').map(Number)
  // From the day before: clocks that are put back at midnight show that day once more.
  for (let day = wallClock(schedule.timeZone, now).day - 1; ; day++) {
    if (schedule.every === 'week' && weekdayOf(day) !== schedule.on) continue
    const due = firstMomentAt(schedule.timeZone, day, hours * 60 + minutes)
    if (due !== undefined && due > now) return due
  }
}

/**
 * What to do about a digest that was planned: nothing before its moment; then it is sent, and of several that were missed
 * only the newest, unless half the time until the one after it is over: then it waits for that one.
 */
export function judgeDue(
  schedule: DigestSchedule,
  plannedAt: number,
  now: number,
): { is: 'early' } | { is: 'due' | 'missed'; dueAt: number; nextAt: number } {
  if (plannedAt > now) return { is: 'early' }
  let dueAt = plannedAt
  let nextAt = nextDigestAt(schedule, Math.max(plannedAt, now - FAR_MS))
  while (nextAt <= now) {
    dueAt = nextAt
    nextAt = nextDigestAt(schedule, dueAt)
  }
  return { is: now - dueAt < PERIOD_MS[schedule.every] / 2 ? 'due' : 'missed', dueAt, nextAt }
}
