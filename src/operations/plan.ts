import * as z from 'zod'
import { seriesName } from '../alerts/series-name.ts'
import { percentCell } from '../text/cells.ts'
import { named, number, spare, state, whole } from '../text/columns.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { countLive } from '../views/check-fleet.ts'
import { keepWorst } from '../views/keep-worst.ts'
import type { LevelChange, PlannedMove } from '../views/plan/level-changes.ts'
import { type PlanSummary, planChanges } from '../views/plan/plan-thresholds.ts'
import { type PlannedAccountShape, PlanShape } from '../views/shapes/thresholds.ts'
import { thresholdText } from '../views/threshold-text.ts'
import type { OperationDeps } from './deps.ts'
import { numberField, textField } from './input.ts'
import { type Call, operation } from './operation.ts'
import { Refusal } from './refusal.ts'

const LONGEST_CONFIG = 1_000_000

const INPUT = z.strictObject({
  // Lines and columns of its problems are those of the file.
  config: z.string().max(LONGEST_CONFIG, `is longer than ${LONGEST_CONFIG} characters`).meta({
    description: 'the config that may come: the text of its file',
    'x-option': 'file',
    'x-file': true,
  }),
  file: textField('the name of that file', { 'x-option': false, 'x-name-of': 'config' }).default('the planned config'),
  max: numberField(0, 9_999_999).prefault(50).meta({ description: 'most rows of the table', 'x-word': 'rows' }),
})

/** For programs all accounts, for people the worst changes. */
interface Planned {
  at: number
  /** The config in force, and the one that may come. */
  config: string
  file: string
  summary: PlanSummary
  accounts: readonly PlannedAccountShape[]
  worst: readonly PlannedChange[]
}

export const planThresholds = operation({
  id: 'planThresholds',
  method: 'POST',
  path: '/thresholds/plan',
  // Faults of the file show what the daemon's environment and disk have.
  scope: 'admin',
  mostBytes: 2 * LONGEST_CONFIG,
  summary: 'compare a config with the one in force: which levels change now',
  description:
    'Changes nothing. Variables and other files are read where Plimsoll runs, as if the file were ' +
    'beside the config in force.',
  input: INPUT,
  output: PlanShape,
  command: {
    name: 'thresholds plan',
    args: '<config>',
    examples: ['new.yaml', 'new.yaml --json'],
    busy: 'accounts compared',
  },
  run: async (deps, call): Promise<Planned> => {
    const { config, file } = call.input
    const planned = deps.actions.planRules(config, file)
    if (planned.is === 'rules') return compare(deps, call, planned)
    const { faults } = planned
    throw new Refusal('wrong', `${file} has ${countOf(faults.length, 'problem')}: nothing was compared`, { faults })
  },
  json: ({ at, config, file, accounts, summary }): PlanShape => {
    const { accounts: looked, watched, now } = summary
    return {
      at: iso(at),
      config,
      planned: file,
      accounts: [...accounts],
      counts: { accounts: looked, watched, now },
    }
  },
  table: (planned) => [...summaryOf(planned), ...changesOf(planned)],
})

async function compare(
  deps: OperationDeps,
  { input: { file, max }, now, isForPeople, stop, onlooker }: Call<typeof INPUT>,
  { rules, inForce }: { rules: OperationDeps['explain']; inForce: string },
): Promise<Planned> {
  const total = await countLive(deps)
  const worst = keepWorst(max, worstFirst)
  const accounts: PlannedAccountShape[] = []
  const plan = planChanges(deps, { old: deps.explain, planned: rules }, (looked) => {
    if (stop.aborted) throw new Refusal('unavailable', 'stopped before all accounts were compared')
    onlooker?.progress(looked, total)
  })
  let next = await plan.next()
  for (; next.done !== true; next = await plan.next()) {
    const account = next.value
    if (isForPeople) worst.add(account.changes.map((change) => ({ ...change, account })))
    else accounts.push(account)
  }
  return { at: now, config: inForce, file, summary: next.value, accounts, worst: worst.found() }
}

/** A series whose level the other set of rules would change. */
interface PlannedChange extends LevelChange {
  account: PlannedAccountShape
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
  const fuller = (b.percent ?? -1) - (a.percent ?? -1)
  return RANK[a.move] - RANK[b.move] || fuller || b.usage - a.usage || a.account.hubId - b.account.hubId
}

const MOVES: readonly [PlannedMove, one: string, many: string][] = [
  ['critical', 'becomes critical', 'become critical'],
  ['warning', 'comes to warning', 'come to warning'],
  ['eases', 'eases from critical to warning', 'ease from critical to warning'],
  ['recovers', 'recovers', 'recover'],
  ['unwatched', 'is at a level now and no longer watched', 'are at a level now and no longer watched'],
  ['unknown', 'can no longer be judged', 'can no longer be judged'],
]

/** The changes that the next poll of each account would bring. */
function summaryOf({ config, file, summary }: Planned): string[] {
  const { accounts, watched } = summary
  const moves = MOVES.filter(([move]) => summary.now[move].series > 0).map(([move, one, many]) => {
    const { series, accounts: count } = summary.now[move]
    return `  ${countOf(series, 'series', 'series')} of ${countOf(count, 'account')} ${series === 1 ? one : many}`
  })
  const before = watched.before === watched.after ? 'as before' : `${formatCount(watched.before)} before`
  const looked = `${countOf(accounts.looked, 'account')}, ${countOf(watched.after, 'series', 'series')} watched (${before})`
  return [
    `${file} in place of ${config}, with the next poll of each account:`,
    ...(moves.length === 0 ? ['  no series changes its level'] : moves),
    `  compared: ${looked}${notRead(accounts)}`,
  ]
}

function notRead({ neverRead }: PlanSummary['accounts']): string {
  return neverRead === 0 ? '' : `; ${countOf(neverRead, 'account')} never read`
}

const OF_CHANGES = [
  state('NEW LEVEL'),
  state('NOW'),
  whole('HUB ID'),
  'DOMAIN',
  named('SERIES'),
  number('USAGE'),
  number('%'),
  spare('RULE'),
]

function changesOf({ summary, worst }: Planned) {
  if (worst.length === 0) return []
  const all = MOVES.reduce((sum, [move]) => sum + summary.now[move].series, 0)
  const more = `and ${formatCount(all - worst.length)} more: --max shows more, --json all`
  const table = { columns: OF_CHANGES, rows: worst.map(changeCells) }
  return ['', table, ...(all > worst.length ? [more] : [])]
}

function changeCells({ account, before, after, ...series }: PlannedChange): string[] {
  const { hubId, hubDomain } = account
  const { usage, limit, percent } = series
  const threshold = thresholdText(after.threshold)
  const rule = after.rule ?? 'no rule, or off'
  const [now = '', then = ''] = [before.level, after.level].map((level) => (level === 'off' ? 'not watched' : level))
  const of = limit === null ? '' : ` of ${formatCount(limit)}`
  return [
    then,
    now,
    String(hubId),
    hubDomain,
    seriesName(series),
    formatCount(usage) + of,
    percentCell(percent),
    threshold === '' ? rule : `${rule}: ${threshold}`,
  ]
}
