import { zoneOfPeople } from '../text/format-time.ts'
import { DAY_MS, firstMomentAt, type Weekday, wallClock, weekdayOf } from '../text/wall-clock.ts'

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

const PERIOD_MS = { day: DAY_MS, week: 7 * DAY_MS }
/** Two weekly moments lie in it. */
const FAR_DAYS = 16

/** The last moment up to `now` at which a digest is due, and the first after it. */
export function digestMoments({ every, at, on = 'mon', timeZone = zoneOfPeople() }: DigestSchedule, now: number) {
  const [hours = 0, minutes = 0] = at.split(':').map(Number)
  let dueAt = Number.NEGATIVE_INFINITY
  for (let day = wallClock(timeZone, now).day - FAR_DAYS; ; day++) {
    const moment =
      every === 'day' || weekdayOf(day) === on ? firstMomentAt(timeZone, day, hours * 60 + minutes) : undefined
    if (moment === undefined) continue
    if (moment > now) return { dueAt, nextAt: moment }
    dueAt = moment
  }
}

/**
 * Nothing happens before the planned moment. Then the digest is sent, once for several that were missed; where half the time to the
 * next one is over, only that is sent. `unplanned`: no moment of this schedule is planned, or one behind the next.
 */
export function judgeDigest(schedule: DigestSchedule, plannedAt: number | undefined, now: number) {
  const moments = digestMoments(schedule, now)
  const isPlanned =
    plannedAt !== undefined &&
    // A moment further ahead was planned by the schedule before, which came less often.
    plannedAt <= moments.nextAt &&
    digestMoments(schedule, plannedAt).dueAt === plannedAt
  const isLate = now - moments.dueAt >= PERIOD_MS[schedule.every] / 2
  const is = !isPlanned ? 'unplanned' : plannedAt > now ? 'early' : isLate ? 'missed' : 'due'
  return { is, ...moments } as const
}
