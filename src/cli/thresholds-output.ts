import { seriesName } from '../alerts/series-name.ts'
import { percentCell } from '../text/cells.ts'
import { named, number, spare, state, whole } from '../text/columns.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { seriesJson } from '../views/account-view.ts'
import type { LevelChange, PlannedMove } from '../views/plan/level-changes.ts'
import type { AccountPlan, PlanSummary } from '../views/plan/plan-thresholds.ts'
import type { PlannedAccountShape, PlanSummaryShape } from '../views/shapes/thresholds.ts'
import { thresholdText } from '../views/threshold-text.ts'
import { accountsJson, type Io } from './io.ts'
import { say } from './say.ts'
import { keepWorst, printTable } from './table.ts'

/** Output of a plan: accounts as they are found, and the totals at the end. */
export interface PlanOutput {
  account(planned: AccountPlan): void
  end(summary: PlanSummary): void
}

export interface PlanContext {
  at: number
  /** The config in force, and the one that may come. */
  config: string
  file: string
  /** Most rows of the table of changes. */
  max: number
  json: boolean
}

export function planOutput(io: Io, context: PlanContext): PlanOutput {
  return context.json ? jsonOutput(io, context) : textOutput(io, context)
}

function textOutput(io: Io, context: PlanContext): PlanOutput {
  const changes = keepWorst(context.max, worstFirst)
  return {
    account: (account) => changes.add(account.changes.map((change) => ({ ...change, account }))),
    end: (summary) => printNow(io, context, summary, changes.found()),
  }
}

/** A series whose level the other set of rules would change. */
interface PlannedChange extends LevelChange {
  account: AccountPlan
}

const RANK: Readonly<Record<PlannedMove, number>> = {
  critical: 0,
  warning: 1,
  unknown: 2,
  unwatched: 3,
  eases: 4,
  recovers: 5,
}

function worstFirst(a: PlannedChange, b: PlannedChange): number {
  const fuller = (b.series.percent ?? -1) - (a.series.percent ?? -1)
  return RANK[a.move] - RANK[b.move] || fuller || b.series.usage - a.series.usage || a.account.hubId - b.account.hubId
}

const MOVES: readonly [PlannedMove, one: string, many: string][] = [
  ['critical', 'becomes critical', 'become critical'],
  ['warning', 'comes to warning', 'come to warning'],
  ['eases', 'eases from critical to warning', 'ease from critical to warning'],
  ['recovers', 'recovers', 'recover'],
  ['unwatched', 'is at a level now and no longer watched', 'are at a level now and no longer watched'],
  ['unknown', 'can no longer be judged', 'can no longer be judged'],
]

/** Prints the changes that the next poll of each account would bring. */
function printNow(io: Io, { config, file }: PlanContext, summary: PlanSummary, worst: readonly PlannedChange[]): void {
  const { accounts, watched } = summary
  say(io, `${file} in place of ${config}, with the next poll of each account:`)
  const moves = MOVES.filter(([move]) => summary.now[move].series > 0)
  if (moves.length === 0) say(io, '  no series changes its level')
  for (const [move, one, many] of moves) {
    const { series, accounts: count } = summary.now[move]
    say(io, `  ${countOf(series, 'series', 'series')} of ${countOf(count, 'account')} ${series === 1 ? one : many}`)
  }
  const change = watched.before === watched.after ? 'as before' : `${formatCount(watched.before)} before`
  const looked = `${countOf(accounts.looked, 'account')}, ${countOf(watched.after, 'series', 'series')} watched (${change})`
  say(io, `  compared: ${looked}${notRead(accounts)}`)
  if (worst.length === 0) return
  io.out('\n')
  printTable(
    io,
    [
      state('NEW LEVEL'),
      state('NOW'),
      whole('HUB ID'),
      'DOMAIN',
      named('SERIES'),
      number('USAGE'),
      number('%'),
      spare('RULE'),
    ],
    worst.map(changeCells),
  )
  const all = MOVES.reduce((sum, [move]) => sum + summary.now[move].series, 0)
  if (all > worst.length) say(io, `and ${formatCount(all - worst.length)} more: --max shows more, --json all`)
}

function notRead({ neverRead, unreadable }: PlanSummary['accounts']): string {
  const never = neverRead === 0 ? '' : `; ${countOf(neverRead, 'account')} never read`
  return unreadable === 0 ? never : `${never}; what is stored of ${countOf(unreadable, 'account')} is spoilt`
}

function changeCells({ account, series, before, after }: PlannedChange): string[] {
  const { hubId, hubDomain } = account
  const { usage, limit, percent } = series
  const threshold = thresholdText(after.threshold)
  const rule = after.rule ?? 'no rule, or off'
  const [now, then] = [before.level, after.level].map((level) => (level === 'off' ? 'not watched' : level))
  const of = limit === null ? '' : ` of ${formatCount(limit)}`
  return [
    then ?? '',
    now ?? '',
    String(hubId),
    hubDomain,
    seriesName(series),
    formatCount(usage) + of,
    percentCell(percent),
    threshold === '' ? rule : `${rule}: ${threshold}`,
  ]
}

function jsonOutput(io: Io, context: PlanContext): PlanOutput {
  const { at, config, file: planned } = context
  const head = { ok: true, at: iso(at), config, planned }
  const { account, end } = accountsJson<PlannedAccountShape, PlanSummaryShape>(io, head)
  return {
    account: (found) => account(accountJson(found)),
    end: ({ accounts, watched, now }) => end({ counts: { accounts, watched, now } }),
  }
}

function accountJson({ hubId, hubDomain, changes }: AccountPlan): PlannedAccountShape {
  return {
    hubId,
    hubDomain,
    changes: changes.map(({ move, series, before, after }) => ({ move, before, after, ...seriesJson(series) })),
  }
}
