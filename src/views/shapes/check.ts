import * as z from 'zod'
import { ConditionsShape } from './alert.ts'
import { SeriesShape } from './series.ts'
import { AccountNameShape, count, momentOrNull, strangersText, text } from './words.ts'

const checkLevel = z.enum(['ok', 'warning', 'critical', 'unknown'])

export const CheckedSeriesShape = SeriesShape.extend({
  level: checkLevel.describe('`unknown`: its limit is not known, or its reading is too old.'),
  rule: text('Name of the rule that decided.'),
  threshold: ConditionsShape.nullable().describe('Of its level; null where no level holds.'),
}).meta({ id: 'CheckedSeries', description: 'A series, judged by its last reading alone.' })

export const CheckedAccountShape = z
  .object({
    ...AccountNameShape,
    state: AccountNameShape.state.nullable().describe('Null for an account that is not known.'),
    level: checkLevel.describe('The worst there is.'),
    reason: strangersText('Why not all is known of it; null: all is.').nullable(),
    readAt: momentOrNull('When anything of it was last read.'),
    series: z.array(CheckedSeriesShape).describe('Those that are not ok; with --all every one that a rule watches.'),
  })
  .meta({ id: 'CheckedAccount', description: 'An account, judged by its last readings.' })
export type CheckedAccountShape = z.infer<typeof CheckedAccountShape>

export const CheckShape = z
  .object({
    at: momentOrNull('When it was judged.'),
    accounts: z.array(CheckedAccountShape).describe('Those that are not ok; with --all every one.'),
    counts: z
      .object({
        accounts: count('All that were checked.'),
        notOk: count('Of these, not ok.'),
        series: count('Series that a rule watches.'),
        critical: count('Of these, at critical.'),
        warning: count('Of these, at warning.'),
        unknown: count('Accounts without fresh reading.'),
        withoutLimit: count('Series whose limit is not known.'),
      })
      .exactOptional()
      .describe('Absent where it could not be done.'),
    status: checkLevel.describe('Of all together.'),
    exitCode: z.int().describe('0 ok, 1 warning, 2 critical, 3 unknown.'),
    error: text('Why it could not be done, or not all of it.').exactOptional(),
  })
  .meta({ id: 'Check', description: 'All accounts, judged by their last readings.' })
export type CheckShape = z.infer<typeof CheckShape>
