import { type CoverageStore, coverageShare } from '../limits/coverage.ts'
import { formatCount, formatPercent } from '../text/format-number.ts'
import type { CoverageShape } from './shapes/fleet-status.ts'

/** How far the readings of the fleet can be relied on. */
export type CoverageStatus = CoverageShape

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
