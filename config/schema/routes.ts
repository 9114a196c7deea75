import * as z from 'zod'
import { accountMatch } from './account-match.ts'
import { ruleNameText } from './thresholds.ts'
import { oneOrMany, plainText, related, timeOfDay, timeZone, weekday } from './values.ts'

const HOUR = '([01]\\d|2[0-3]):[0-5]\\d'

const to = () => plainText(new RegExp(`^(${HOUR}|24:00)$`), 'must be a time from "00:00" to "24:00", in quotes')

const hours = related(
  z.strictObject({
    from: timeOfDay().describe('When they begin, by the clock of the time zone: "22:00".'),
    to: to().describe('When they end, up to "24:00"; at or before `from` on the next day.'),
    days: oneOrMany(weekday()).exactOptional().describe('Days on which they begin. Default: every day.'),
    timeZone: timeZone().exactOptional().describe('Like Europe/Berlin. Default: http.timeZone.'),
  }),
  (given, report) => {
    if (typeof given.from !== 'string' || given.from !== given.to) return
    report(['to'], 'must differ from `from`: a whole day is from "00:00" to "24:00"')
  },
)

/** Hours in which a route holds its alerts back. */
const quietHours = () => oneOrMany(hours)

export const LEVELS = ['warning', 'critical'] as const

export const KINDS = ['limit', 'limit-changed', 'token', 'poll', 'fleet', 'delivery', 'test'] as const

const match = z
  .strictObject({
    level: oneOrMany(z.enum(LEVELS)).exactOptional().describe('Levels of the alert.'),
    kind: oneOrMany(z.enum(KINDS)).exactOptional().describe('Kinds of the alert.'),
    rule: oneOrMany(ruleNameText()).exactOptional().describe('Names of threshold rules, or other kinds.'),
    ...accountMatch(),
  })
  .describe('Alerts of the route. All conditions must match; without any the route matches all alerts.')

const route = z.strictObject({
  match: match.prefault({}),
  to: z
    .array(plainText())
    .min(1, 'must name at least one receiver')
    .describe('Names of the receivers that get what the route takes.'),
  quiet: quietHours().exactOptional().describe('When alerts are held back; one or a list.'),
})

export const routes = z.array(route).min(1, 'must have at least one route')
