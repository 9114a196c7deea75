import { coverageShare } from '../limits/coverage.ts'
import type { CoverageStore } from '../limits/coverage-store.ts'
import { formatCount, formatPercent } from '../text/format-number.ts'

/** How far the readings of the fleet can be relied on. */
export interface CoverageStatus {
  /** Share of the polled accounts with a fresh reading, 0 to 1; null = no account is polled. */
  share: number | null
  /** What it should be. */
  objective: number
  polled: number
  /** Their newest reading is too old. */
  stale: number
  /** Their last poll failed, wholly or in part. */
  failing: number
  /** Their scopes let nothing be read; they don't count. */
  notWatched: number
}

export async function readCoverage(coverage: CoverageStore, now: number): Promise<CoverageStatus> {
  const found = await coverage.read(now)
  const { polled, stale, failing, notWatched } = found
  return { share: coverageShare(found), objective: coverage.settings.objective, polled, stale, failing, notWatched }
}

export function isLow({ share, objective }: CoverageStatus): boolean {
  return share !== null && share < objective
}

export function shareText({ share }: CoverageStatus): string {
  return share === null ? 'nothing to read' : formatPercent(share * 100)
}

/** What there is to say beside the share. */
export function coverageNotes({ objective, stale, failing, notWatched }: CoverageStatus): string[] {
  return [
    `${formatCount(stale)} stale`,
    `${formatCount(failing)} failing`,
    ...(notWatched === 0 ? [] : [`${formatCount(notWatched)} cannot be watched`]),
    `should be at least ${formatPercent(objective * 100)}`,
  ]
}
