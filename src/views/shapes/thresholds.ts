import * as z from 'zod'
import { ConditionsShape } from './alert.ts'
import { SeriesShape } from './series.ts'
import { AccountNameShape, count, momentOrNull, objectOrNone, outsideText, shape, text } from './words.ts'

const checkLevel = z.enum(['ok', 'warning', 'critical', 'unknown'])

const CheckedSeriesShape = shape('CheckedSeries', 'A series at the level of its open alert.', {
  ...SeriesShape.shape,
  level: checkLevel.describe('`unknown`: its limit is not known, or the reading of its account is too old.'),
  rule: text('Name of the rule that decided.'),
  threshold: ConditionsShape.nullable().describe('Of its level; null where no level holds.'),
  handled: z.boolean().describe('The alert is acknowledged or silenced, and counts for nothing.'),
})

export const CheckedAccountShape = shape('CheckedAccount', 'An account at its one level, the same as on its page.', {
  ...AccountNameShape,
  state: AccountNameShape.state.nullable().describe('Null for an account that is not known.'),
  level: checkLevel.describe('The worst there is.'),
  reason: outsideText(
    'The trouble of the account itself, with its tokens or its readings; null: it has none.',
  ).nullable(),
  readAt: momentOrNull('When anything of it was last read.'),
  series: z
    .array(CheckedSeriesShape)
    .describe('Series that are neither OK nor acknowledged or silenced; with --all every watched series.'),
})
export type CheckedAccountShape = z.infer<typeof CheckedAccountShape>

export const CheckShape = shape('Check', 'All accounts, by their last readings and their open alerts.', {
  at: momentOrNull('When it was judged.'),
  accounts: z.array(CheckedAccountShape).describe('Accounts that are not OK; with --all every account.'),
  counts: objectOrNone('Absent where it could not be done.', {
    accounts: count('All that were checked.'),
    notOk: count('Accounts that are not OK.'),
    series: count('Series that a rule watches.'),
    critical: count('Critical series, without acknowledged and silenced ones.'),
    warning: count('Warning series, without acknowledged and silenced ones.'),
    handled: count('Series whose alert is acknowledged or silenced.'),
    unknown: count('Accounts without a fresh reading.'),
    reconnect: count('Accounts that must reconnect, without acknowledged and silenced alerts.'),
    withoutLimit: count('Series whose limit is not known.'),
  }),
  status: checkLevel.describe('Of all together.'),
  exitCode: z.int().describe('0 ok, 1 warning, 2 critical, 3 unknown.'),
  error: text('Why it could not be done, or not all of it.').exactOptional(),
})
export type CheckShape = z.infer<typeof CheckShape>

const MOVES = ['critical', 'warning', 'eases', 'recovers', 'unwatched', 'unknown'] as const
const plannedLevel = z.enum(['ok', 'warning', 'critical', 'unknown', 'off']).describe('`off`: no rule watches it.')
const { hubId, hubDomain } = AccountNameShape

export const PlannedAccountShape = shape('PlannedAccount', 'An account in which a series would be at another level.', {
  hubId,
  hubDomain,
  changes: z.array(
    SeriesShape.extend({
      move: z.enum(MOVES).describe('Change at its next poll.'),
      before: z.object({ level: plannedLevel, rule: z.string().nullable() }),
      after: z.object({ level: plannedLevel, rule: z.string().nullable(), threshold: ConditionsShape.nullable() }),
    }).meta({ id: 'LevelChange', description: 'A series that would be at another level.' }),
  ),
})
export type PlannedAccountShape = z.infer<typeof PlannedAccountShape>

const touched = z.object({ series: z.int(), accounts: z.int() })

export const PlanShape = shape('Plan', 'Effect of another config.', {
  at: momentOrNull('When it was compared.'),
  config: text('The config in force.'),
  planned: text('The one that may come.'),
  accounts: z.array(PlannedAccountShape),
  counts: z.object({
    accounts: z.object({
      looked: count('Checked.'),
      changed: count('With a change.'),
      neverRead: count('Without a reading.'),
    }),
    watched: z.object({ before: z.int(), after: z.int() }).describe('Series that a rule watches.'),
    now: z
      .object({
        critical: touched,
        warning: touched,
        eases: touched,
        recovers: touched,
        unwatched: touched,
        unknown: touched,
      })
      .describe('By outcome.'),
  }),
})
export type PlanShape = z.infer<typeof PlanShape>
