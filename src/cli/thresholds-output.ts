import type { Io } from './io.ts'
import type { PlanContext, PlanOutput } from './thresholds-context.ts'
import { jsonOutput } from './thresholds-json.ts'
import { type PlannedChange, printNow, worstFirst } from './thresholds-now.ts'
import { printNotes, printReplay } from './thresholds-replay.ts'

export function planOutput(io: Io, context: PlanContext): PlanOutput {
  return context.json ? jsonOutput(io, context) : textOutput(io, context)
}

function textOutput(io: Io, context: PlanContext): PlanOutput {
  let worst: PlannedChange[] = []
  const cut = () => {
    worst = worst.sort(worstFirst).slice(0, context.max)
  }
  return {
    account: (account) => {
      worst.push(...account.changes.map((change) => ({ ...change, account })))
      if (worst.length > 2 * context.max + 1_000) cut()
    },
    end: (summary) => {
      cut()
      printNow(io, context, summary, worst)
      printReplay(io, summary)
      printNotes(io, context, summary)
    },
  }
}
