import type { Snapshot, SnapshotSeries } from '../limits/history/history.ts'
import { regularSeries, zonesOf } from '../limits/history/resolutions.ts'
import { jsonText } from '../runtime/json-text.ts'
import { csvLine } from '../text/csv.ts'
import { iso } from '../text/format-time.ts'
import type { PlannedAccount } from './judge-account.ts'
import type { SnapshotShape } from './shapes/series.ts'
import type { ViewDeps } from './view-deps.ts'

export const RESOLUTIONS = ['raw', 'hourly', 'daily'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

/** From when to when (ms), and whether at each change or at the end of each hour or day (UTC). */
export interface HistoryRange {
  from: number
  to: number
  resolution: Resolution
}

/** How the series of an account moved, oldest first. */
export async function readAccountHistory(
  { history, historyKeep, clock }: Pick<ViewDeps, 'history' | 'historyKeep' | 'clock'>,
  account: Pick<PlannedAccount, 'hubId' | 'polledAt' | 'nextPollAt' | 'pollFailure'>,
  { from, to, resolution }: HistoryRange,
): Promise<Iterable<Snapshot>> {
  if (resolution === 'raw') return history.read(account.hubId, from, to)
  const now = clock.now()
  // Beyond the range too: only the snapshot that ended a gap shows it.
  const snapshots = await history.read(account.hubId, from, Number.POSITIVE_INFINITY)
  const range = { from, to: Math.min(to, now), readUntil: readUntil(account) }
  return regularSeries(snapshots, range, resolution, zonesOf(now, historyKeep))
}

/** Until the next poll, things stand as at the last one; not if it is overdue, fails, or there is none. */
export function readUntil({
  polledAt,
  nextPollAt,
  pollFailure,
}: Pick<PlannedAccount, 'polledAt' | 'nextPollAt' | 'pollFailure'>) {
  return Math.max(polledAt ?? 0, pollFailure === null ? (nextPollAt ?? 0) : 0)
}

/** A snapshot for the API and the command line. */
export function snapshotJson({ at, missingSince, series }: Snapshot): SnapshotShape {
  const since = iso(missingSince ?? null)
  return { at: new Date(at).toISOString(), ...(since === null ? {} : { missingSince: since }), series }
}

/** One line per series and moment, for other programs. */
export type LineFormat = 'csv' | 'jsonl'
export const LINE_TYPES: Readonly<Record<LineFormat, string>> = {
  csv: 'text/csv; charset=utf-8; header=present',
  jsonl: 'application/x-ndjson',
}

const COLUMNS = ['hubId', 'at', 'metric', 'objectTypeId', 'from', 'to', 'usage', 'limit', 'percent'] as const

/** Text before the first line. */
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
