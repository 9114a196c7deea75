import { jsonText } from '../runtime/json-text.ts'
import { iso } from '../text/format-time.ts'
import { seriesJson } from '../views/account-view.ts'
import type { PlannedAccount, PlanSummary } from '../views/plan/plan-thresholds.ts'
import { FLAP_MS, type TallyResult } from '../views/plan/tally.ts'
import type { PlannedAccountShape, PlanSummaryShape } from '../views/shapes/plan.ts'
import type { Io } from './io.ts'
import type { PlanContext, PlanOutput } from './thresholds-context.ts'
import { notesOf } from './thresholds-replay.ts'

/** One object, written as it is found: of a large fleet not all is in memory at once. */
export function jsonOutput(io: Io, context: PlanContext): PlanOutput {
  const { at, config, file } = context
  let count = 0
  const begin = () =>
    `{"ok":true,"at":${jsonText(iso(at))},"config":${jsonText(config)},"planned":${jsonText(file)},"accounts":[`
  return {
    account: (account) => {
      io.out(`${count === 0 ? begin() : ','}${jsonText(accountJson(account))}`)
      count++
    },
    end: (summary) => {
      const fields = jsonText(summaryJson(context, summary)).slice(1)
      io.out(`${count === 0 ? begin() : ''}],${fields}\n`)
    },
  }
}

function accountJson({ hubId, hubDomain, changes }: PlannedAccount): PlannedAccountShape {
  return {
    ...{ hubId, hubDomain },
    changes: changes.map(({ move, series, before, after }) => ({ move, before, after, ...seriesJson(series) })),
  }
}

function summaryJson(context: PlanContext, summary: PlanSummary): PlanSummaryShape {
  const { accounts, watched, now, told, replay } = summary
  const { from, to, knownFrom, before, after, offenders } = replay
  const tally = ({ messages, ...counts }: TallyResult) => ({ ...counts, messages: Object.fromEntries(messages) })
  return {
    counts: { accounts, watched, now },
    told: { byReceiver: Object.fromEntries(told.byReceiver), nobody: told.nobody },
    replay: {
      ...{ from: iso(from), to: iso(to), knownFrom: iso(knownFrom) },
      ...{ before: tally(before), after: tally(after), flapMs: FLAP_MS },
      offenders: offenders.map(({ id: _, series, ...one }) => ({ ...one, ...series })),
      notes: notesOf(context, summary),
    },
  }
}
