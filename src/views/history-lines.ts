import type { Snapshot, SnapshotSeries } from '../limits/history/history.ts'
import { jsonText } from '../runtime/json-text.ts'
import { csvLine } from '../text/csv.ts'
import { iso } from '../text/format-time.ts'

/** One line per series and moment, for other programs. */
export type LineFormat = 'csv' | 'jsonl'

const COLUMNS = ['hubId', 'at', 'metric', 'objectTypeId', 'from', 'to', 'usage', 'limit', 'percent'] as const

/** What comes before the first line. */
export function historyHead(format: LineFormat): string {
  return format === 'csv' ? csvLine(COLUMNS) : ''
}

/** The lines of one snapshot. */
export function historyLines(format: LineFormat, hubId: number, { at, series }: Snapshot): string {
  const time = iso(at) ?? ''
  return series
    .map((one) => (format === 'csv' ? csvLine(cells(hubId, time, one)) : jsonLine(hubId, time, one)))
    .join('')
}

function jsonLine(hubId: number, at: string, { metric, objectTypeId, from, to, ...numbers }: SnapshotSeries): string {
  const { usage, limit, percent } = numbers
  return `${jsonText({ hubId, at, metric, objectTypeId, from, to, usage, limit, percent })}\n`
}

function cells(hubId: number, at: string, { metric, objectTypeId, from, to, ...numbers }: SnapshotSeries) {
  const { usage, limit, percent } = numbers
  return [hubId, at, metric, objectTypeId ?? '', from ?? '', to ?? '', usage, limit, percent]
}
