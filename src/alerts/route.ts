import { type AccountMatch, matchesAccount } from '../accounts/match-account.ts'
import { zoneOfPeople } from '../text/format-time.ts'
import { fits } from '../text/pattern.ts'
import { changeOfOffset, offsetAt, type Weekday, wallClock, weekdayOf } from '../text/wall-clock.ts'
import { type Alert, type AlertKind, type AlertLevel, UNINSTALL_RULE } from './alert.ts'

export interface Route {
  match?:
    | (AccountMatch & {
        level?: readonly AlertLevel[] | undefined
        kind?: readonly AlertKind[] | undefined
        rule?: readonly string[] | undefined
      })
    | undefined
  /** Names of receivers. */
  to: readonly string[]
  /** Receivers of this route that send to the contact of the alert's account. */
  contacts?: readonly string[] | undefined
  /** Hours in which the route's alerts are held back. */
  quiet?: readonly QuietHours[] | undefined
}

/** The alert as routes match it. */
export type Routable = Pick<Alert, 'kind' | 'level' | 'rule' | 'account'>

/** The receivers of an alert: those of its route, without what sends to a contact where its account has none. */
export function receiversOf(routes: readonly Route[], alert: Routable, hasContact = false): readonly string[] {
  const route = routeOf(routes, alert, hasContact)
  return route === undefined ? [] : reachedBy(route, hasContact)
}

/** The first route that matches decides, unless all that it names are contacts and the alert's account has none. */
export function routeOf(routes: readonly Route[], alert: Routable, hasContact = false): Route | undefined {
  return routes.find((route) => matches(route.match, alert) && reachedBy(route, hasContact).length > 0)
}

/** Alerts that no customer can act on: a mistaken import, our own data, an answer that we can't read, an uninstall that is not done. */
export function isForOperatorsOnly({ rule, kind, cause }: Pick<Alert, 'rule' | 'kind' | 'cause'>): boolean {
  const isOurs = cause === 'foreign' || cause === 'unreadable' || cause === 'unreadable-answer'
  return isOurs || (kind === 'token' && rule === UNINSTALL_RULE)
}

function reachedBy({ to, contacts = [] }: Route, hasContact: boolean): readonly string[] {
  return hasContact || contacts.length === 0 ? to : to.filter((receiver) => !contacts.includes(receiver))
}

/** The route by which a receiver gets an alert; a receiver of contacts shows that the account has one. */
export function routeTo(routes: readonly Route[], alert: Routable, receiver: string): Route | undefined {
  const route = routeOf(routes, alert, true)
  return route?.to.includes(receiver) ? route : routeOf(routes, alert)
}

function matches(match: Route['match'], alert: Routable): boolean {
  if (match === undefined) return true
  return (
    (match.level?.includes(alert.level) ?? true) &&
    (match.kind?.includes(alert.kind) ?? true) &&
    (match.rule?.some((wanted) => fits(wanted, alert.rule)) ?? true) &&
    (alert.account === undefined ? namesNoAccount(match) : matchesAccount(match, alert.account))
  )
}

/** An alert without an account fits where the route asks for none. */
function namesNoAccount({ account, tag }: AccountMatch): boolean {
  return account === undefined && tag === undefined
}

/** Hours without messages, by the clock of a time zone: from `from` until `to`. */
export interface QuietHours {
  /** "HH:MM" */
  from: string
  /** "HH:MM", up to 24:00. At or before `from`: on the next day. */
  to: string
  /** Days on which they begin; absent: every day. */
  days?: readonly Weekday[] | undefined
  /** IANA; absent: as people read times. */
  timeZone?: string | undefined
}

const MINUTE = 60_000
const MINUTES_A_DAY = 1_440
/** Quiet for longer means always: hours come again every week. */
const FAR_MS = 8 * MINUTES_A_DAY * MINUTE

/** End of the quiet time around `now`, made of any hours; undefined where `now` lies in none. */
export function endOfQuietTime(hours: readonly QuietHours[], now: number): number | undefined {
  let at = now
  for (;;) {
    const ends = hours.map((one) => endOf(one, at)).filter((end) => end !== undefined)
    if (ends.length === 0) return at === now ? undefined : at
    at = Math.max(...ends)
    if (at >= now + FAR_MS) return at
  }
}

/** True where no moment is left at which a message would be sent. */
export function isAlwaysQuiet(hours: readonly QuietHours[], now: number): boolean {
  return (endOfQuietTime(hours, now) ?? now) >= now + FAR_MS
}

/**
 * A moment up to which the hours around `now` certainly last: their end, or an earlier change of the clocks, after
 * which it must be computed again.
 */
function endOf({ from, to, days, timeZone = zoneOfPeople() }: QuietHours, now: number): number | undefined {
  const begun = Math.floor(now / MINUTE) * MINUTE
  const { day, minute } = wallClock(timeZone, begun)
  const beginsOn = (daysBack: number) => days === undefined || days.includes(weekdayOf(day - daysBack))
  const left = minutesLeft(minutesOf(from), minutesOf(to), minute, beginsOn)
  if (left === undefined) return undefined
  const end = begun + left * MINUTE
  return offsetAt(timeZone, end) === offsetAt(timeZone, begun) ? end : changeOfOffset(timeZone, begun, end)
}

/** `beginsOn(0)`: they may begin today; `beginsOn(1)`: they may have begun yesterday. */
function minutesLeft(
  from: number,
  to: number,
  time: number,
  beginsOn: (daysBack: number) => boolean,
): number | undefined {
  const overnight = to <= from
  if (time >= from && beginsOn(0) && (overnight || time < to)) return to - time + (overnight ? MINUTES_A_DAY : 0)
  return overnight && time < to && beginsOn(1) ? to - time : undefined
}

function minutesOf(time: string): number {
  const [hours, minutes] = time.split(':').map(Number)
  return (hours ?? 0) * 60 + (minutes ?? 0)
}
