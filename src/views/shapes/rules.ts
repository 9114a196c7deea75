import * as z from 'zod'
import { RulePlace } from './explanation.ts'
import { level, shape, text } from './words.ts'

export const NotifiedShape = shape('Notified', 'Receivers of alerts about one account.', {
  level,
  about: z.array(
    text('The subject: `limits` for all of its limits, else the rules that watch some; its tokens; its polls.'),
  ),
  receivers: z.array(text('Name of a receiver.')).describe('Empty: no route is for such an alert.'),
})
export type NotifiedShape = z.infer<typeof NotifiedShape>

const RouteShape = shape('Route', 'Alerts of one kind, and their receivers; the first route that matches decides.', {
  match: text(
    'The alerts that it is for, in a few words: `level critical, tag vip`; `all alerts` where it asks for nothing.',
  ),
  to: z.array(text('Name of a receiver.')),
  quiet: z.array(text('Hours in which they are held back: `22:00 to 06:00 Europe/Berlin`.')),
})
export type RouteShape = z.infer<typeof RouteShape>

export const RulesShape = shape(
  'Rules',
  'Thresholds and routes in force, in the order of the config: the first that matches decides.',
  {
    rules: z.array(z.object({ ...RulePlace, watches: text('The limits that it watches, in a few words.') })),
    routes: z.array(RouteShape),
  },
)
export type RulesShape = z.infer<typeof RulesShape>
