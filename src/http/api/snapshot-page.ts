import type { Snapshot } from '../../limits/history/history.ts'

export interface SnapshotPage {
  items: Snapshot[]
  /** Go on after this moment; undefined at the end. */
  next: number | undefined
}

/** Up to `limit` snapshots after a moment; those of one moment stay together, so that the next page skips none. */
export function snapshotPage(snapshots: readonly Snapshot[], after: number | undefined, limit: number): SnapshotPage {
  const rest = snapshots.filter(({ at }) => after === undefined || at > after)
  const end = rest[limit - 1]?.at
  if (end === undefined) return { items: rest, next: undefined }
  const items = rest.filter(({ at }) => at <= end)
  return { items, next: items.length < rest.length ? end : undefined }
}
