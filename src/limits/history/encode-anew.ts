import { type Change, sameValue } from './change.ts'
import { decodeRecord, encodeRecord } from './history-record.ts'
import type { Standing } from './standing.ts'

/** Changes as they were read, oldest first. */
export interface ReadChanges {
  changes: readonly Change[]
  /** As stored, one per change. */
  records: readonly Buffer[]
  /** How things stand since the last of them. */
  standing: Standing
}

/**
 * Records for `thinned` in the place of those of `asRead`: the newest changes that are as they were keep theirs (`kept`
 * of them), all older ones get new ones, oldest first.
 */
export function encodeAnew(asRead: ReadChanges, thinned: readonly Change[]): { kept: number; records: Buffer[] } {
  const standing = asRead.standing.copy()
  let kept = 0
  for (; kept < asRead.records.length; kept++) {
    if (!isSameChange(asRead.changes.at(-1 - kept), thinned.at(-1 - kept))) break
    decodeRecord(asRead.records.at(-1 - kept) as Buffer, standing)
  }
  const rest = thinned.slice(0, thinned.length - kept)
  const records = rest.toReversed().map((change) => encodeRecord(change, standing, () => standing.freeSlot()))
  return { kept, records: records.reverse() }
}

function isSameChange(one: Change | undefined, other: Change | undefined): boolean {
  if (one === other) return true
  return (
    one?.at === other?.at &&
    one?.missingSince === other?.missingSince &&
    one?.before.length === other?.before.length &&
    one?.before.every(([id, was], n) => id === other?.before[n]?.[0] && sameValue(was, other?.before[n]?.[1])) === true
  )
}
