import { type AccountMatch, matchesAccount } from '../accounts/match-account.ts'
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
  /** Those of them that send to the contact of the alert's account. */
  contacts?: readonly string[] | undefined
  /** When what the route takes is held back. */
  quiet?: readonly QuietHours[] | undefined
}

/** What a route asks of an alert. */
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

/** What no customer can do anything about: a mistaken import, our own data, an uninstall that is not done. */
export function isOursAlone({ rule, kind, cause }: Pick<Alert, 'rule' | 'kind' | 'cause'>): boolean {
  return cause === 'foreign' || cause === 'unreadable' || (kind === 'token' && rule === UNINSTALL_RULE)
}

function reachedBy({ to, contacts = [] }: Route, hasContact: boolean): readonly string[] {
  return hasContact || contacts.length === 0 ? to : to.filter((receiver) => !contacts.includes(receiver))
}

/** The route by which a receiver gets an alert; whether the account has a contact shows by who that receiver is. */
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

/** What concerns no account in particular fits where none is asked for. */
function namesNoAccount({ account, tag }: AccountMatch): boolean {
  return account === undefined && tag === undefined
}

/** When no message is sent, by the clock of a time zone: while that shows a time from `from` until `to`. */
export interface QuietHours {
  /** "HH:MM" */
  from: string
  /** "HH:MM", up to 24:00. At or before `from`: on the next day. */
  to: string
  /** Days on which they begin; absent: every day. */
  days?: readonly Weekday[] | undefined
  /** IANA */
  timeZone: string
}

const MINUTE = 60_000
const MINUTES_A_DAY = 1_440
/** What is quiet for longer is always quiet: hours come again every week. */
const FAR_MS = 8 * MINUTES_A_DAY * MINUTE

/** When the quiet time ends that `now` lies in, made of any hours; undefined where it lies in none. */
export function endOfQuietTime(hours: readonly QuietHours[], now: number): number | undefined {
  let at = now
  for (;;) {
    const ends = hours.map((one) => endOf(one, at)).filter((end) => end !== undefined)
    if (ends.length === 0) return at === now ? undefined : at
    at = Math.max(...ends)
    if (at >= now + FAR_MS) return at
  }
}

/** Whether there is no moment at which a message would be sent. */
export function isAlwaysQuiet(hours: readonly QuietHours[], now: number): boolean {
  return (endOfQuietTime(hours, now) ?? now) >= now + FAR_MS
}

/**
 * A moment up to which the hours that `now` lies in certainly last: their end, unless the clocks are changed before that.
 * Where they are, it is that change, after which it must be computed again.
 */
function endOf({ from, to, days, timeZone }: QuietHours, now: number): number | undefined {
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
