import * as z from 'zod'
import { suggest } from '../src/text/suggest.ts'
import { says, text } from './values.ts'

/** A time as a clock on the wall shows it. */
export const timeOfDay = () => text(/^([01]\d|2[0-3]):[0-5]\d$/, 'must be a time from "00:00" to "23:59", in quotes')

/** Where the clock hangs. */
export const timeZone = () =>
  z.string(says('must be the name of a time zone, like Europe/Berlin')).superRefine((name, context) => {
    if (isTimeZone(name)) return
    const near = suggest(name, Intl.supportedValuesOf('timeZone'))
    const hint = near === undefined ? 'use a name like Europe/Berlin' : `did you mean "${near}"?`
    context.addIssue({ code: 'custom', message: `no time zone has this name, ${hint}` })
  })

function isTimeZone(name: string): boolean {
  try {
    // An offset such as +02:00 is understood too, and would be wrong half of the year.
    return /^[A-Za-z]/.test(name) && new Intl.DateTimeFormat('en', { timeZone: name }) !== undefined
  } catch {
    return false
  }
}
