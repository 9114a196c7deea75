import * as z from 'zod'
import type { ChangeName } from '../../alerts/alert.ts'
import { CHANGE_NAMES } from '../../alerts/changes.ts'
import { AlertShape } from './alert.ts'
import { AccountNameShape, count, isoMoment, objectOrNone, shape } from './words.ts'

const change = z
  .enum(CHANGE_NAMES as [ChangeName])
  .describe(
    'Alerts: `entered` a level, got `worse`, `eased`, `left` all levels. `limit`: the provider changed it. Accounts: `lost` ' +
      '(must reconnect), `recovered`, `uninstalled`, `reconnected`, `connected`.',
  )
const state = z.union([z.enum(['ok', 'warning', 'critical']), z.number()])

const COUNTS = Object.fromEntries(CHANGE_NAMES.map((name) => [name, count('Changes of this name.')])) as Record<
  ChangeName,
  z.ZodInt
>

const ChangeShape = shape('Change', 'All that happened to one alert, limit or account in the time.', {
  change,
  at: isoMoment('When the last of it happened.'),
  account: objectOrNone('Absent for what concerns all accounts, or a receiver.', {
    hubId: AccountNameShape.hubId,
    hubDomain: AccountNameShape.hubDomain,
  }),
  from: state.exactOptional().describe('The level, or the limit, before the first of it.'),
  to: state.exactOptional().describe('The level, or the limit, after the last of it.'),
  via: state.exactOptional().describe('The level or limit in between, where both are the same.'),
  before: change.exactOptional(),
  times: count('How many transitions or events these are.'),
  alert: AlertShape.exactOptional().describe('The last transition, without its records.'),
})

export const FleetChangesShape = shape('FleetChanges', 'Changes in all accounts between two moments.', {
  since: isoMoment('Start of the span.'),
  until: isoMoment('When it was read.'),
  keptSince: isoMoment('Not all changes before that are kept; absent where all are.').exactOptional(),
  counts: z.object(COUNTS).describe('How many changes of each name.'),
  items: z
    .array(ChangeShape)
    .describe(
      'Accounts that connected, were uninstalled or must reconnect, what got worse, limits that moved, what got better; in each the worst first.',
    ),
  leftOut: count('Changes that are counted, but not in `items`.'),
})
export type FleetChangesShape = z.infer<typeof FleetChangesShape>
