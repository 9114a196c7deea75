import * as z from 'zod'
import { seriesName } from '../alerts/series-name.ts'
import type { Snapshot } from '../limits/history/history.ts'
import { ACCOUNT_STATES } from '../redis/keys.ts'
import { jsonText } from '../runtime/json-text.ts'
import { limitCells, momentCell } from '../text/cells.ts'
import { cleanText } from '../text/clean-text.ts'
import { named, number, whole } from '../text/columns.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import type { Shown } from '../text/shown.ts'
import {
  historyHead,
  historyLines,
  LINE_TYPES,
  type LineFormat,
  RESOLUTIONS,
  type Resolution,
  readAccountHistory,
  snapshotJson,
} from '../views/account-history.ts'
import { allAccounts, withPlan } from '../views/account-view.ts'
import type { PlannedAccount } from '../views/judge-account.ts'
import { AccountHistoryShape, SnapshotShape } from '../views/shapes/series.ts'
import { listOf } from '../views/shapes/words.ts'
import type { OperationDeps } from './deps.ts'
import {
  accountField,
  accountsField,
  choiceField,
  cursorField,
  type Moment,
  momentField,
  numberField,
} from './input.ts'
import { type Call, Lines, operation, pageShape } from './operation.ts'
import { noAccount, Refusal, wrongField } from './refusal.ts'

const WEEK_MS = 7 * 86_400_000
const MOST_SNAPSHOTS = 1_000
const SNAPSHOTS = 500

const RANGE = {
  from: momentField('from when on; a week before the end where it is not given').optional(),
  to: momentField('until when; now where it is not given').optional(),
  resolution: choiceField(RESOLUTIONS, 'each change, or the values at the end of each hour or day (UTC)').default(
    'raw',
  ),
  format: choiceField(
    ['json', 'csv', 'jsonl'],
    'csv and jsonl: a line for each series and moment, all of the range',
  ).default('json'),
}

interface Asked {
  from?: Moment | undefined
  to?: Moment | undefined
  resolution: Resolution
}

function rangeOf({ from, to, resolution }: Asked, now: number) {
  const until = to?.(now) ?? now
  return { from: from?.(now) ?? until - WEEK_MS, to: until, resolution }
}

export const listSnapshots = operation({
  id: 'listSnapshots',
  method: 'GET',
  path: '/accounts/{hubId}/snapshots',
  summary: 'how the series of an account moved',
  input: z.strictObject({
    hubId: accountField('the account'),
    ...RANGE,
    limit: numberField(1, MOST_SNAPSHOTS)
      .meta({ description: `the most items of one answer; ${SNAPSHOTS} by default`, 'x-option': false })
      .optional(),
    after: cursorField(/^\d{1,16}$/),
  }),
  output: pageShape(SnapshotShape, 'Oldest first; those of one moment stay together.'),
  types: Object.values(LINE_TYPES),
  problems: [404],
  answers: { 200: 'A page of snapshots.' },
  example: { params: { hubId: '1234567' }, query: { resolution: 'daily' } },
  run: async (deps, { input: { hubId, format, limit, after, ...asked }, now }) => {
    const paged = limit !== undefined ? 'limit' : after !== undefined ? 'after' : undefined
    if (format !== 'json' && paged !== undefined)
      throw wrongField(paged, `format=${format} is not paged: it is all of the range`)
    const found = await deps.registry.get(hubId)
    if (found === undefined) throw noAccount(hubId)
    const snapshots = await readAccountHistory(deps, await withPlan(deps.due, found), rangeOf(asked, now))
    if (format !== 'json')
      return new Lines(LINE_TYPES[format], `history-${hubId}.${format}`, allLines(format, hubId, snapshots))
    return snapshotPage([...snapshots], after === undefined ? undefined : Number(after), limit ?? SNAPSHOTS)
  },
})

/** Written as fast as it is read: years of an account are megabytes. */
function* allLines(format: LineFormat, hubId: number, snapshots: Iterable<Snapshot>): Generator<string> {
  const head = historyHead(format)
  if (head !== '') yield head
  for (const snapshot of snapshots) yield historyLines(format, hubId, snapshot)
}

/** Up to `limit` snapshots after a moment; those of one moment stay together, so that the next page skips none. */
function snapshotPage(snapshots: readonly Snapshot[], after: number | undefined, limit: number) {
  const rest = snapshots.filter(({ at }) => after === undefined || at > after)
  const end = rest[limit - 1]?.at
  if (end === undefined) return { items: rest.map(snapshotJson) }
  const items = rest.filter(({ at }) => at <= end)
  return { items: items.map(snapshotJson), ...(items.length < rest.length && { next: String(end) }) }
}

const HISTORY = z.strictObject({ accounts: accountsField('only these accounts').optional(), ...RANGE })

/** A table for people, without the rows that were shown before the end. */
interface ShownHistory {
  accounts: number
  parts: readonly Shown[]
}

export const listHistory = operation({
  id: 'listHistory',
  method: 'GET',
  path: '/history',
  summary: "show how accounts' limits moved",
  description: 'Written account by account, as fast as they are read.',
  input: HISTORY,
  output: listOf(AccountHistoryShape).describe('The accounts, by their hub ids where all are wanted.'),
  types: Object.values(LINE_TYPES),
  problems: [404],
  example: { query: { accounts: '1234567', resolution: 'daily' } },
  command: {
    name: 'accounts history',
    args: '[accounts...]',
    examples: ['1234567 --from 2d', '--resolution daily --from 90d --format csv > history.csv'],
    busy: 'accounts read',
  },
  run: async (deps, call) => {
    const { input, now, isForPeople } = call
    const range = rangeOf(input, now)
    if (range.from > range.to) throw wrongField('from', 'must be before to')
    const chosen = await chosenAccounts(deps, input.accounts ?? [])
    const histories = readEach(deps, call, chosen)
    const { format } = input
    if (format !== 'json') return new Lines(LINE_TYPES[format], `history.${format}`, linesOfAll(format, histories))
    if (!isForPeople) return new Lines('application/json; charset=utf-8', 'history.json', jsonOfAll(histories))
    return showAll(histories, call)
  },
  table: (shown) => {
    if (shown instanceof Lines) return []
    const { accounts: count, parts } = shown
    return count === 1 ? parts : [...parts, ...(count === 0 ? [] : ['']), countOf(count, 'account')]
  },
})

interface ChosenAccounts {
  accounts: AsyncIterable<PlannedAccount> | readonly PlannedAccount[]
  count: number
}

async function chosenAccounts(
  deps: Pick<OperationDeps, 'registry' | 'due'>,
  hubIds: readonly number[],
): Promise<ChosenAccounts> {
  if (hubIds.length === 0) {
    const counts = Object.values(await deps.registry.countByState())
    return { accounts: allAccounts(deps, ACCOUNT_STATES), count: counts.reduce((sum, count) => sum + count, 0) }
  }
  const found = await Promise.all(
    hubIds.map(async (hubId) => {
      const known = await deps.registry.get(hubId)
      if (known === undefined) throw noAccount(hubId)
      return withPlan(deps.due, known)
    }),
  )
  return { accounts: found, count: found.length }
}

interface OneHistory {
  account: PlannedAccount
  snapshots: Iterable<Snapshot>
}

/** One account at a time in memory. */
async function* readEach(
  deps: OperationDeps,
  { input, now, stop, onlooker }: Call<typeof HISTORY>,
  { accounts: chosen, count }: ChosenAccounts,
): AsyncGenerator<OneHistory> {
  let done = 0
  for await (const one of chosen) {
    if (stop.aborted) throw new Refusal('unavailable', 'stopped: what was written is not all')
    yield { account: one, snapshots: await readAccountHistory(deps, one, rangeOf(input, now)) }
    onlooker?.progress(++done, count)
  }
}

async function* linesOfAll(format: LineFormat, histories: AsyncIterable<OneHistory>): AsyncGenerator<string> {
  const head = historyHead(format)
  if (head !== '') yield head
  for await (const { account: one, snapshots } of histories) {
    for (const snapshot of snapshots) yield historyLines(format, one.hubId, snapshot)
  }
}

/** One array, written piece by piece. */
async function* jsonOfAll(histories: AsyncIterable<OneHistory>): AsyncGenerator<string> {
  let before = '['
  for await (const { account: one, snapshots } of histories) {
    const { hubId, hubDomain, state } = one
    const told: AccountHistoryShape = { hubId, hubDomain, state, items: [...snapshots].map(snapshotJson) }
    yield `${before}${jsonText(told)}`
    before = ','
  }
  yield before === '[' ? '[]\n' : ']\n'
}

async function showAll(
  histories: AsyncIterable<OneHistory>,
  { onlooker }: Pick<Call, 'onlooker'>,
): Promise<ShownHistory> {
  const kept: Shown[] = []
  let count = 0
  for await (const history of histories) {
    const parts = partsOf(history, count++ === 0)
    if (onlooker === undefined) kept.push(...parts)
    else await onlooker.show(parts)
  }
  return { accounts: count, parts: kept }
}

function partsOf({ account: one, snapshots }: OneHistory, isFirst: boolean): Shown[] {
  const rows = [...snapshots].flatMap(({ at, series }) =>
    series.map((each) => [momentCell(at), seriesName(each), formatCount(each.usage), ...limitCells(each)]),
  )
  const columns = [whole('AT'), named('SERIES'), number('USAGE'), number('LIMIT'), number('%')]
  const head = `${one.hubId}  ${cleanText(one.hubDomain)}`.trimEnd()
  const body = rows.length > 0 ? { columns, rows } : 'nothing was read in this time'
  return [...(isFirst ? [] : ['']), head, body]
}
