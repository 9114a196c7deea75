import type { Snapshot, SnapshotSeries } from '../limits/history.ts'
import { cleanText } from '../text/clean-text.ts'
import { iso } from '../text/format-time.ts'

/** One line per series and moment, for other programs. */
export type LineFormat = 'csv' | 'jsonl'

const COLUMNS = ['hubId', 'at', 'metric', 'objectTypeId', 'from', 'to', 'usage', 'limit', 'percent'] as const

/** What comes before the first line. */
export function historyHead(format: LineFormat): string {
  return format === 'csv' ? `${COLUMNS.join(',')}\n` : ''
}

/** The lines of one snapshot. */
export function historyLines(format: LineFormat, hubId: number, { at, series }: Snapshot): string {
  const time = iso(at) ?? ''
  return series.map((one) => (format === 'csv' ? csvLine(hubId, time, one) : jsonLine(hubId, time, one))).join('')
}

function jsonLine(hubId: number, at: string, { metric, objectTypeId, from, to, ...numbers }: SnapshotSeries): string {
  const { usage, limit, percent } = numbers
  return `${JSON.stringify({ hubId, at, metric, objectTypeId, from, to, usage, limit, percent })}\n`
}

function csvLine(hubId: number, at: string, { metric, objectTypeId, from, to, ...numbers }: SnapshotSeries): string {
  const { usage, limit, percent } = numbers
  return `${[hubId, at, metric, text(objectTypeId), text(from), text(to), usage, limit ?? '', percent ?? ''].join(',')}\n`
}

/** An id came with a stranger's report: one line, quoted where it must be, and nothing that a spreadsheet would run. */
function text(id = ''): string {
  const line = cleanText(id, 250)
  const harmless = /^[=+\-@]/.test(line) ? `'${line}` : line
  return /[",]/.test(harmless) ? `"${harmless.replaceAll('"', '""')}"` : harmless
}
