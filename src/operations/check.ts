import * as z from 'zod'
import { seriesName } from '../alerts/series-name.ts'
import { ageCell, limitCells } from '../text/cells.ts'
import { named, number, prose, spare, state, whole } from '../text/columns.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { isoOf } from '../text/format-time.ts'
import type { Shown } from '../text/shown.ts'
import {
  addAccount,
  byLevel,
  type CheckedAccount,
  type CheckLevel,
  type CheckTotals,
  checkFleet,
  countLive,
  EXIT_CODES,
  noTotals,
} from '../views/check-fleet.ts'
import { keepWorst } from '../views/keep-worst.ts'
import { type CheckedAccountShape, CheckShape } from '../views/shapes/thresholds.ts'
import { thresholdText } from '../views/threshold-text.ts'
import type { OperationDeps } from './deps.ts'
import { accountsField, flagField, numberField } from './input.ts'
import { type Call, operation } from './operation.ts'
import { Refusal } from './refusal.ts'

const INPUT = z.strictObject({
  accounts: accountsField('only these accounts').optional(),
  all: flagField('show also what is ok'),
  max: numberField(0, 9_999_999).prefault(50).meta({ description: 'most rows of the table', 'x-word': 'rows' }),
})

/** Accounts that were judged: for programs the accounts, for people the worst rows. */
interface Checked {
  at: number
  totals: CheckTotals
  accounts: readonly CheckedAccountShape[]
  worst: readonly Row[]
  rows: number
}

const NOTES = `
Exit codes, as monitoring systems know them; the worst wins, in this order:
  2  critical: a critical alert is open, an account must reconnect, or its
     tokens have expired
  1  warning: likewise at warning
  3  unknown: an account without fresh reading (limits.freshness), no Redis,
     a bad config, wrong usage
  0  ok: all within their thresholds
A series whose limit the provider does not give is shown as unknown, but does
not make the exit code 3.`

export const checkAccounts = operation({
  id: 'checkAccounts',
  method: 'GET',
  path: '/check',
  summary: 'judge the last readings against the thresholds, for cron, monitoring and CI',
  input: INPUT,
  output: CheckShape,
  example: { query: { accounts: '1234567' } },
  command: {
    name: 'check',
    args: '[accounts...]',
    examples: ['', '--live --json 1234567'],
    notes: NOTES,
    flags: {
      live: { id: 'checkAccountsNow', description: 'poll the accounts now instead of judging what was read last' },
    },
    busy: 'accounts judged',
    // With --live it gets new tokens.
    writesTokens: true,
  },
  run: (deps, call) => judgeAll(deps, call),
  json: checkJson,
  exitCode: ({ totals }) => EXIT_CODES[totals.status],
  table: ({ at, totals, worst, rows }) => [
    summaryLine(totals),
    ...tableOf(
      OF_SERIES,
      worst.flatMap((row) => seriesCells(row, at)),
    ),
    ...tableOf(
      OF_ACCOUNTS,
      worst.flatMap((row) => accountCells(row, at)),
    ),
    ...(rows > worst.length ? [`and ${formatCount(rows - worst.length)} more: --max shows more, --json all`] : []),
  ],
})

const { command: _, example: __, scope: ___, ...ofCheck } = checkAccounts

export const checkAccountsNow = operation({
  ...ofCheck,
  id: 'checkAccountsNow',
  method: 'POST',
  summary: 'poll accounts now, and judge their readings against the thresholds',
  description: 'There is no time limit. An account that can not be polled is judged by its last reading.',
  run: async (deps, call) => {
    const { who, stop, onlooker, input } = call
    const poll = await deps.actions.pollForCheck(input.accounts ?? [], who)
    const total = await howMany(deps, call)
    let polled = 0
    return judgeAll(deps, { ...call, onlooker: undefined }, async (hubId) => {
      const trouble = stop.aborted ? 'stopped' : await poll(hubId)
      onlooker?.progress(++polled, total)
      return trouble === undefined ? undefined : `could not be polled: ${trouble}`
    })
  },
})

type CheckCall = Pick<Call<typeof INPUT>, 'input' | 'now' | 'isForPeople' | 'stop'> & {
  onlooker?: Call['onlooker'] | undefined
}

async function judgeAll(
  deps: OperationDeps,
  call: CheckCall,
  poll?: (hubId: number) => Promise<string | undefined>,
): Promise<Checked> {
  const { input, now, isForPeople, stop, onlooker } = call
  const { accounts: hubIds = [], all, max } = input
  const silences = await deps.silences.active(now)
  const total = await howMany(deps, call)
  const totals = noTotals()
  const worst = keepWorst(max, worstFirst)
  const found: CheckedAccountShape[] = []
  let rows = 0
  const request = { rules: deps.explain.rules, silences, hubIds, ...(poll === undefined ? {} : { poll }) }
  for await (const judged of checkFleet(deps, request)) {
    if (stop.aborted) throw new Refusal('unavailable', 'stopped before all accounts were judged')
    for (const one of judged) {
      addAccount(totals, one)
      if (isForPeople) {
        const shown = rowsOf(one, all)
        rows += shown.length
        worst.add(shown)
      } else if (all || !isFine(one)) found.push(checkedJson(one, all))
    }
    onlooker?.progress(totals.counts.accounts, total)
  }
  return { at: now, totals, accounts: found, worst: worst.found(), rows }
}

function howMany(deps: OperationDeps, { input: { accounts: hubIds = [] } }: Pick<CheckCall, 'input'>): Promise<number> {
  return hubIds.length > 0 ? Promise.resolve(hubIds.length) : countLive(deps)
}

function checkJson({ at, accounts: found, totals: { counts, status } }: Checked): CheckShape {
  return { at: isoOf(at), accounts: [...found], counts, status, exitCode: EXIT_CODES[status] }
}

/** One line for monitoring that shows one line: the trouble, then counts for programs behind the bar. */
function summaryLine(totals: CheckTotals): string {
  const { counts, status } = totals
  const { accounts: all, series, critical, warning, handled, unknown, reconnect, withoutLimit } = counts
  const figures = `accounts=${all} critical=${critical} warning=${warning} unknown=${unknown}`
  const more = `series=${series} without_limit=${withoutLimit} handled=${handled} reconnect=${reconnect}`
  const known = handled > 0 ? ` + ${formatCount(handled)} acknowledged or silenced` : ''
  return `PLIMSOLL ${status.toUpperCase()} - ${summaryWords(totals)}${known} | ${figures} ${more}`
}

function summaryWords({ counts, status, expired }: CheckTotals): string {
  const { accounts: all, notOk, series, critical, warning, handled, unknown, reconnect } = counts
  if (all === 0) return 'there is no live account'
  if (status === 'ok') {
    return `${countOf(all, 'account')}: ${countOf(series - handled, 'series', 'series')} within their thresholds`
  }
  const over = expired > 0 ? `, ${countOf(expired, 'account')} with expired tokens` : ''
  const lost = `${reconnect > 0 ? `, ${countOf(reconnect, 'account')} to reconnect` : ''}${over}`
  const breaches = `${formatCount(warning)} series at warning, ${formatCount(critical)} critical${lost}`
  const judged = `${formatCount(notOk)} of ${countOf(all, 'account')}`
  return `${judged}: ${breaches}, ${countOf(unknown, 'account')} without fresh reading`
}

type CheckedSeries = CheckedAccount['series'][number]

interface Row {
  level: CheckLevel
  account: CheckedAccount
  /** Absent: the row is about the account as a whole. */
  series?: CheckedSeries
}

const OF_SERIES = [
  state('LEVEL'),
  whole('HUB ID'),
  'DOMAIN',
  named('SERIES'),
  number('USAGE'),
  spare(number('LIMIT')),
  number('%'),
  spare('RULE'),
  spare(whole('READ')),
]
const OF_ACCOUNTS = [state('LEVEL'), whole('HUB ID'), 'DOMAIN', prose('WHY'), spare(whole('READ'))]

function tableOf(columns: typeof OF_SERIES, rows: string[][]): Shown[] {
  return rows.length === 0 ? [] : ['', { columns, rows }]
}

/** With `all` every series; else those that are ok or handled are left out. */
function isShown({ level, handled }: CheckedSeries, all: boolean): boolean {
  return all || (level !== 'ok' && !handled)
}

function isFine({ level, series }: CheckedAccount): boolean {
  return level === 'ok' && !series.some((one) => isShown(one, false))
}

/** Unknown series of an account are one row, with the account's reason: their old readings add nothing. */
function rowsOf(account: CheckedAccount, all: boolean): Row[] {
  const { ofAccount, reason, series } = account
  const shown = series.filter((one) => (one.level === 'unknown' ? reason === null : isShown(one, all)))
  const rows: Row[] = shown.map((one) => ({ level: one.handled ? 'ok' : one.level, account, series: one }))
  return reason === null ? rows : [{ level: ofAccount, account }, ...rows]
}

function worstFirst(a: Row, b: Row): number {
  const fuller = (b.series?.percent ?? -1) - (a.series?.percent ?? -1)
  return byLevel(a.level, b.level) || fuller || a.account.hubId - b.account.hubId
}

function seriesCells({ level, account, series }: Row, now: number): string[][] {
  if (series === undefined) return []
  const { usage, rule, measuredAt, handled } = series
  const threshold = thresholdText(series.threshold)
  return [
    [
      handled ? 'acknowledged or silenced' : level,
      String(account.hubId),
      account.hubDomain,
      seriesName(series),
      formatCount(usage),
      ...limitCells(series),
      threshold === '' ? rule : `${rule}: ${threshold}`,
      ageCell(measuredAt, now),
    ],
  ]
}

function accountCells({ level, account, series }: Row, now: number): string[][] {
  const { hubId, hubDomain, reason, readAt } = account
  return series === undefined ? [[level, String(hubId), hubDomain, reason ?? '', ageCell(readAt, now)]] : []
}

function checkedJson(
  { ofAccount: _, isKnown: __, series, ...checked }: CheckedAccount,
  all: boolean,
): CheckedAccountShape {
  return { ...checked, series: series.filter((one) => isShown(one, all)) }
}
