import type { Snapshot } from '../limits/history.ts'

export const RESOLUTIONS = ['raw', 'hourly', 'daily'] as const
export type Resolution = (typeof RESOLUTIONS)[number]

const SPAN_MS: Record<Resolution, number> = { raw: 0, hourly: 3_600_000, daily: 86_400_000 }

/** The last snapshot of each hour or day (UTC) that has one; all of them for `raw`. Oldest first, as given. */
export function thinOut(snapshots: readonly Snapshot[], resolution: Resolution): Snapshot[] {
  const spanMs = SPAN_MS[resolution]
  if (spanMs === 0) return [...snapshots]
  const last = new Map(snapshots.map((snapshot) => [Math.floor(snapshot.at / spanMs), snapshot]))
  return [...last.values()]
}

export interface SnapshotPage {
  items: Snapshot[]
  /** Go on after this moment; undefined at the end. */
  next: number | undefined
}

/** Up to `limit` snapshots after a moment; those of one moment stay together, so that the next page skips none. */
export function pageOf(snapshots: readonly Snapshot[], after: number | undefined, limit: number): SnapshotPage {
  const rest = snapshots.filter(({ at }) => after === undefined || at > after)
  const end = rest[limit - 1]?.at
  if (end === undefined) return { items: rest, next: undefined }
  const items = rest.filter(({ at }) => at <= end)
  return { items, next: items.length < rest.length ? end : undefined }
}
