import * as z from 'zod'
import { WEEKDAYS } from '../src/alerts/routing/quiet-time.ts'
import { suggest } from '../src/text/suggest.ts'
import { type Report, related, type Unchecked } from './relations.ts'
import { oneOrMany, says, text } from './values.ts'

const HOUR = '([01]\\d|2[0-3]):[0-5]\\d'

const from = () => text(new RegExp(`^${HOUR}$`), 'must be a time from "00:00" to "23:59", in quotes')
const to = () => text(new RegExp(`^(${HOUR}|24:00)$`), 'must be a time from "00:00" to "24:00", in quotes')

const timeZone = () =>
  z.string(says('must be the name of a time zone, like Europe/Berlin')).superRefine((name, context) => {
    if (isTimeZone(name)) return
    const near = suggest(name, Intl.supportedValuesOf('timeZone'))
    const hint = near === undefined ? 'use a name like Europe/Berlin' : `did you mean "${near}"?`
    context.addIssue({ code: 'custom', message: `no time zone has this name, ${hint}` })
  })

const hours = related(
  z.strictObject({
    from: from().describe('When they begin, by the clock of the time zone: "22:00".'),
    to: to().describe('When they end, up to "24:00"; at or before `from` on the next day.'),
    days: oneOrMany(z.enum(WEEKDAYS)).exactOptional().describe('Days on which they begin. Default: every day.'),
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

function isTimeZone(name: string): boolean {
  try {
    // An offset such as +02:00 is understood too, and would be wrong half of the year.
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
