import type { Alert, Message } from '../../alerts/alert.ts'
import { csvLine } from '../../text/csv.ts'
import { percentOf } from './describe-alert.ts'

export interface AlertsCsv {
  filename: string
  content: string
}

type Cell = string | number | null

const COLUMNS: readonly (readonly [name: string, cell: (alert: Alert) => Cell | undefined])[] = [
  ['status', ({ status }) => status],
  ['level', ({ level }) => level],
  ['kind', ({ kind }) => kind],
  ['reason', ({ reason }) => reason],
  ['hubId', ({ account }) => account?.hubId],
  ['hubDomain', ({ account }) => account?.hubDomain],
  ['metric', ({ series }) => series?.metric],
  ['objectTypeId', ({ series }) => series?.objectTypeId],
  ['label', ({ series }) => series?.label],
  ['from', ({ series }) => series?.from],
  ['to', ({ series }) => series?.to],
  ['usage', ({ usage }) => usage],
  ['limit', ({ limit }) => limit],
  ['percent', (alert) => rounded(percentOf(alert))],
  ['remaining', ({ remaining }) => remaining],
  ['daysLeft', ({ daysLeft }) => rounded(daysLeft)],
  ['rule', ({ rule }) => rule],
  ['since', ({ since }) => since],
  ['measuredAt', ({ measuredAt }) => measuredAt],
  ['message', ({ message }) => message],
  ['url', ({ url }) => url],
  ['id', ({ id }) => id],
]

/** By this spreadsheets know that it is UTF-8. */
const BYTE_ORDER_MARK = '\ufeff'

/** All alerts that a message carries, for a spreadsheet, in the order of the mail. */
export function alertsCsv(alerts: readonly Alert[], { timestamp }: Message): AlertsCsv {
  const lines = [COLUMNS.map(([name]) => name), ...alerts.map(cellsOf)].map(csvLine)
  return {
    filename: `alerts-${/^\d{4}-\d\d-\d\d/.exec(timestamp)?.[0] ?? 'all'}.csv`,
    content: BYTE_ORDER_MARK + lines.join('').replaceAll('\n', '\r\n'),
  }
}

function cellsOf(alert: Alert): Cell[] {
  return COLUMNS.map(([, cell]) => cell(alert) ?? null)
}

function rounded(value: number | undefined): number | undefined {
  return value === undefined ? undefined : Math.round(value * 100) / 100
}
