import { seriesName } from '../alerts/series-name.ts'
import { ageCell, limitCells } from '../text/cells.ts'
import { cleanText } from '../text/clean-text.ts'
import { type Column, named, number, prose, spare, state, whole } from '../text/columns.ts'
import { csvLine } from '../text/csv.ts'
import { countOf, formatCount } from '../text/format-number.ts'
import { iso } from '../text/format-time.ts'
import { byLevel, type CheckedAccount, type CheckLevel, type CheckTotals, EXIT_CODES } from '../views/check-fleet.ts'
import type { CheckedAccountShape, CheckShape } from '../views/shapes/thresholds.ts'
import { thresholdText } from '../views/threshold-text.ts'
import { accountsJson, type Io } from './io.ts'
import { say } from './say.ts'
import { keepWorst, printTable } from './table.ts'

/** Output of a check: accounts as they are judged, and the totals at the end. */
export interface CheckOutput {
  account(judged: CheckedAccount): void
  end(totals: CheckTotals): void
  /** Reports a check that failed, or was not complete; `why` is one line. */
  failed(why: string): void
}

export interface OutputOptions {
  json?: boolean
  csv?: boolean
  /** Also series that are ok. */
  all?: boolean
  /** Most rows of the table. */
  max: number
}

export function checkOutput(io: Io, at: number, options: OutputOptions): CheckOutput {
  const showAll = options.all === true
  if (options.json === true) return jsonOutput(io, at, showAll)
  return options.csv === true ? csvOutput(io, showAll) : tableOutput(io, at, showAll, options.max)
}

/** One line for monitoring that shows one line: the trouble, then counts for programs behind the bar. */
function summaryLine({ counts, status, expired }: CheckTotals): string {
  const { accounts, notOk, series, critical, warning, handled, unknown, reconnect, withoutLimit } = counts
  const figures = `accounts=${accounts} critical=${critical} warning=${warning} unknown=${unknown}`
  return `PLIMSOLL ${status.toUpperCase()} - ${words()}${handled > 0 ? ` + ${formatCount(handled)} handled` : ''} | ${figures} series=${series} without_limit=${withoutLimit} handled=${handled} reconnect=${reconnect}`

  function words(): string {
    if (accounts === 0) return 'there is no live account'
    if (status === 'ok') {
      return `${countOf(accounts, 'account')}: ${countOf(series - handled, 'series', 'series')} within their thresholds`
    }
    const over = expired > 0 ? `, ${countOf(expired, 'account')} with expired tokens` : ''
    const lost = `${reconnect > 0 ? `, ${countOf(reconnect, 'account')} to reconnect` : ''}${over}`
    const breaches = `${formatCount(warning)} series at warning, ${formatCount(critical)} critical${lost}`
    const judged = `${formatCount(notOk)} of ${countOf(accounts, 'account')}`
    return `${judged}: ${breaches}, ${countOf(unknown, 'account')} without fresh reading`
  }
}

/** The same line where the state of the accounts is not known. */
export function unknownLine(why: string): string {
  return `PLIMSOLL UNKNOWN - ${cleanText(why.replaceAll('|', '/'), 300)}\n`
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

function tableOutput(io: Io, at: number, showAll: boolean, max: number): CheckOutput {
  const kept = keepWorst(max, worstFirst)
  let count = 0
  return {
    account: (judged) => {
      const rows = rowsOf(judged, showAll)
      count += rows.length
      kept.add(rows)
    },
    end: (totals) => {
      const worst = kept.found()
      say(io, summaryLine(totals))
      printRows(
        io,
        OF_SERIES,
        worst.flatMap((row) => seriesCells(row, at)),
      )
      printRows(
        io,
        OF_ACCOUNTS,
        worst.flatMap((row) => accountCells(row, at)),
      )
      if (count > worst.length) say(io, `and ${formatCount(count - worst.length)} more: --max shows more, --json all`)
    },
    failed: (why) => io.out(unknownLine(why)),
  }
}

/** With --all every series; else those that are ok or handled are left out. */
function isShown({ level, handled }: CheckedSeries, showAll: boolean): boolean {
  return showAll || (level !== 'ok' && !handled)
}

/** Unknown series of an account are one row, with the account's reason: their old readings add nothing. */
function rowsOf(account: CheckedAccount, showAll: boolean): Row[] {
  const { ofAccount, reason, series } = account
  const shown = series.filter((one) => (one.level === 'unknown' ? reason === null : isShown(one, showAll)))
  const rows: Row[] = shown.map((one) => ({ level: one.handled ? 'ok' : one.level, account, series: one }))
  return reason === null ? rows : [{ level: ofAccount, account }, ...rows]
}

function worstFirst(a: Row, b: Row): number {
  const fuller = (b.series?.percent ?? -1) - (a.series?.percent ?? -1)
  return byLevel(a.level, b.level) || fuller || a.account.hubId - b.account.hubId
}

function printRows(io: Io, columns: readonly Column[], rows: readonly string[][]): void {
  if (rows.length === 0) return
  io.out('\n')
  printTable(io, columns, rows)
}

function seriesCells({ level, account, series }: Row, now: number): string[][] {
  if (series === undefined) return []
  const { usage, rule, measuredAt, handled } = series
  const threshold = thresholdText(series.threshold)
  return [
    [
      handled ? 'handled' : level,
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

function jsonOutput(io: Io, at: number, showAll: boolean): CheckOutput {
  const { account, end } = accountsJson<CheckedAccountShape, Omit<CheckShape, 'at' | 'accounts'>>(io, { at: iso(at) })
  return {
    account: (judged) => {
      const { ofAccount: _, isKnown: __, series, ...checked } = judged
      const shown = series.filter((one) => isShown(one, showAll))
      if (showAll || checked.level !== 'ok' || shown.length > 0) account({ ...checked, series: shown })
    },
    end: ({ counts, status }) => end({ counts, status, exitCode: EXIT_CODES[status] }),
    failed: (error) => end({ status: 'unknown', exitCode: EXIT_CODES.unknown, error }),
  }
}

const COLUMNS = [
  'level',
  'hubId',
  'hubDomain',
  'state',
  'metric',
  'objectTypeId',
  'label',
  'from',
  'to',
  'usage',
  'limit',
  'percent',
  'rule',
  'threshold',
  'measuredAt',
  'reason',
]

function csvOutput(io: Io, showAll: boolean): CheckOutput {
  let isBegun = false
  const begin = () => {
    if (!isBegun) io.out(csvLine(COLUMNS))
    isBegun = true
  }
  return {
    account: (judged) => {
      begin()
      const shown = judged.series.filter((one) => isShown(one, showAll))
      for (const series of shown) io.out(csvLine(csvCells(judged, series)))
      if (shown.length === 0 && judged.reason !== null) io.out(csvLine(csvCells(judged, undefined)))
    },
    end: begin,
    failed: begin,
  }
}

function csvCells(account: CheckedAccount, series: CheckedSeries | undefined): (string | number | null)[] {
  const { hubId, hubDomain, state, reason } = account
  const { metric = '', objectTypeId = '', label = '', from = '', to = '' } = series ?? {}
  const { usage = null, limit = null, percent = null, rule = '' } = series ?? {}
  return [
    series?.level ?? account.level,
    hubId,
    hubDomain,
    state,
    metric,
    objectTypeId,
    label,
    from,
    to,
    usage,
    limit,
    percent,
    rule,
    series === undefined ? '' : thresholdText(series.threshold),
    series === undefined ? account.readAt : series.measuredAt,
    reason,
  ]
}
