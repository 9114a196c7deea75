import * as z from 'zod'
import { related } from './relations.ts'
import { weekday } from './values.ts'
import { timeOfDay, timeZone } from './wall-time.ts'

/** Of a receiver. */
export const digest = () =>
  related(
    z.strictObject({
      every: z.enum(['day', 'week']).prefault('day').describe('How often.'),
      at: timeOfDay().prefault('08:00').describe('When, by the clock in `timeZone`.'),
      on: weekday().exactOptional().describe('The day of a weekly one. Default: mon.'),
      timeZone: timeZone().prefault('UTC').describe('Name of a time zone: Europe/Berlin.'),
    }),
    ({ every, on }, report) => {
      if (on !== undefined && every !== 'week') report(['on'], 'has a meaning only with every: week')
    },
  ).describe('One message, every day or week, of all that is open and that routes send here; also when nothing is.')
