import * as z from 'zod'
import { accountMatch } from './account-match.ts'
import { quietHours } from './quiet-hours.ts'
import { ruleName } from './thresholds.ts'
import { oneOrMany, text } from './values.ts'

export const LEVELS = ['warning', 'critical'] as const

export const KINDS = ['limit', 'limit-changed', 'token', 'poll', 'fleet', 'delivery', 'test'] as const

const match = z
  .strictObject({
    level: oneOrMany(z.enum(LEVELS)).exactOptional().describe('Levels of the alert.'),
    kind: oneOrMany(z.enum(KINDS)).exactOptional().describe('Kinds of the alert.'),
    rule: oneOrMany(ruleName()).exactOptional().describe('Names of threshold rules; for other kinds the kind itself.'),
    ...accountMatch(),
  })
  .describe('What the route is for. All that is given must fit; without it the route takes everything.')

const route = z.strictObject({
  match: match.prefault({}),
  to: z
    .array(text())
    .min(1, 'must name at least one receiver')
    .describe('Names of the receivers that get what the route takes.'),
  quiet: quietHours()
    .exactOptional()
    .describe('When alerts are held back; those that still fire afterwards are sent then. One or a list.'),
})

export const routes = z.array(route).min(1, 'must have at least one route')

export type RouteConfig = z.output<typeof route>
