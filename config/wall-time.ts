import { text } from './values.ts'

/** A time as a clock on the wall shows it. */
export const timeOfDay = () => text(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time of day from "00:00" to "23:59"')

/** Where the clock hangs. */
export const timeZone = () =>
  text().refine(isTimeZone, 'must be the name of a time zone, like Europe/Berlin, America/New_York or UTC')

function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en-US', { timeZone: name })
    return true
  } catch {
    return false
  }
}
