import * as z from 'zod'
import { type Report, related, type Unchecked } from './relations.ts'
import { oneOrMany, text, weekday } from './values.ts'
import { timeOfDay, timeZone } from './wall-time.ts'

const HOUR = '([01]\\d|2[0-3]):[0-5]\\d'

const to = () => text(new RegExp(`^(${HOUR}|24:00)$`), 'must be a time from "00:00" to "24:00", in quotes')

const hours = related(
  z.strictObject({
    from: timeOfDay().describe('When they begin, by the clock of the time zone: "22:00".'),
    to: to().describe('When they end, up to "24:00"; at or before `from` on the next day.'),
    days: oneOrMany(weekday()).exactOptional().describe('Days on which they begin. Default: every day.'),
    timeZone: timeZone().prefault('UTC').describe('IANA name of a time zone, like Europe/Berlin.'),
  }),
  checkLength,
)

/** When a route holds back what it takes. */
export const quietHours = () => oneOrMany(hours)

function checkLength(given: Unchecked, report: Report): void {
  if (typeof given.from !== 'string' || given.from !== given.to) return
  report(['to'], 'must differ from `from`: a whole day is from "00:00" to "24:00"')
}
