import { seriesName } from '../alerts/series-name.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import type { LevelChange, PlannedMove } from '../views/plan/level-changes.ts'
import type { PlannedAccount, PlanSummary } from '../views/plan/plan-thresholds.ts'
import { thresholdText } from '../views/threshold-text.ts'
import type { Io } from './io.ts'
import { say } from './say.ts'
import { named, number, printTable, spare, state, whole } from './table.ts'
import type { PlanContext } from './thresholds-context.ts'

/** A series whose level another set of rules would change. */
export interface PlannedChange extends LevelChange {
  account: PlannedAccount
}

const RANK: Readonly<Record<PlannedMove, number>> = {
  ...{ critical: 0, warning: 1, unknown: 2, unwatched: 3, eases: 4, recovers: 5 },
}

export function worstFirst(a: PlannedChange, b: PlannedChange): number {
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

/** What the next poll of each account would change. */
export function printNow(
  io: Io,
  { config, file }: PlanContext,
  summary: PlanSummary,
  worst: readonly PlannedChange[],
): void {
  const { accounts, watched } = summary
  say(io, `${file} in place of ${config}, with the next poll of each account:`)
  const moves = MOVES.filter(([move]) => summary.now[move].series > 0)
  if (moves.length === 0) say(io, '  no series changes its level')
  for (const [move, one, many] of moves) {
    const { series, accounts: count } = summary.now[move]
    say(io, `  ${countOf(series, 'series', 'series')} of ${countOf(count, 'account')} ${series === 1 ? one : many}`)
  }
  for (const line of toldLines(summary)) say(io, `  ${line}`)
  const change = watched.before === watched.after ? 'as before' : `${formatCount(watched.before)} before`
  const looked = `${countOf(accounts.looked, 'account')}, ${countOf(watched.after, 'series', 'series')} watched (${change})`
  say(io, `  looked at: ${looked}${notRead(accounts)}`)
  if (worst.length === 0) return
  io.out('\n')
  printTable(
    io,
    [
      ...[state('NEW LEVEL'), state('NOW'), whole('HUB ID'), 'DOMAIN', named('SERIES')],
      ...[number('USAGE'), number('%'), spare('RULE')],
    ],
    worst.map(cellsOf),
  )
  const all = MOVES.reduce((sum, [move]) => sum + summary.now[move].series, 0)
  if (all > worst.length) say(io, `and ${formatCount(all - worst.length)} more: --max shows more, --json all`)
}

function toldLines({ told: { byReceiver, nobody } }: PlanSummary): string[] {
  const receivers = [...byReceiver].map(([receiver, count]) => `${receiver} of ${formatCount(count)}`)
  return [
    ...(receivers.length === 0 ? [] : [`told of them: ${receivers.join(', ')}`]),
    ...(nobody === 0 ? [] : [`nobody is told of ${formatCount(nobody)}: no route is for them`]),
  ]
}

function notRead({ neverRead, unreadable }: PlanSummary['accounts']): string {
  const never = neverRead === 0 ? '' : `; ${countOf(neverRead, 'account')} never read`
  return unreadable === 0 ? never : `${never}; what is stored of ${countOf(unreadable, 'account')} is spoilt`
}

function cellsOf({ account, series, before, after }: PlannedChange): string[] {
  const { hubId, hubDomain } = account
  const { usage, limit, percent } = series
  const threshold = thresholdText(after.threshold)
  const rule = after.rule ?? 'no rule, or off'
  return [
    ...[levelText(after.level), levelText(before.level), String(hubId), hubDomain, seriesName(series)],
    ...[
      limit === null ? formatCount(usage) : `${formatCount(usage)} of ${formatCount(limit)}`,
      percent === null ? '' : percent.toFixed(1),
    ],
    threshold === '' ? rule : `${rule}: ${threshold}`,
  ]
}

function levelText(level: string): string {
  return level === 'off' ? 'not watched' : level
}
