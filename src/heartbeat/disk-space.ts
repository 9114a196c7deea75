import { statfs } from 'node:fs/promises'
import { formatCount, formatPercent, formatSpan } from '../text/format-number.ts'

/** Room on a disk, in bytes, at a moment of the steady clock, ms. */
export interface DiskSample {
  at: number
  free: number
  size: number
}

const HOUR_MS = 3_600_000
/** The alert comes when there is less, or it lasts no longer: time enough to make room by day. */
const LEAST_SHARE = 0.05
const LEAST_BYTES = 1e9
const LEAST_LASTS_MS = 24 * HOUR_MS
/** Shortest span that gives a pace. */
const SHORTEST_MS = HOUR_MS / 6

/** The trouble with the room on a disk, by samples of the last hour, the oldest first; undefined: there is enough. */
export function judgeDisk(samples: readonly DiskSample[]): string | undefined {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined) return undefined
  const { free, size } = last
  const spanMs = last.at - first.at
  const takenPerMs = spanMs < SHORTEST_MS ? 0 : (first.free - free) / spanMs
  const lastsMs = takenPerMs > 0 ? free / takenPerMs : Number.POSITIVE_INFINITY
  const isLow = free < LEAST_BYTES && free < size * LEAST_SHARE
  if (!isLow && lastsMs > LEAST_LASTS_MS) return undefined
  const lasts =
    lastsMs === Number.POSITIVE_INFINITY ? '' : `, and is full in ${formatSpan(lastsMs)} at the pace of the last hour`
  const share = size > 0 ? formatPercent(Math.floor((free / size) * 1_000) / 10) : '0 %'
  return `the disk of dataDir has ${formatCount(free / 1e6)} MB left (${share})${lasts}`
}

/** Samples of the last hour, with a new one. */
export async function sampleDisk(folder: string, at: number, before: readonly DiskSample[]): Promise<DiskSample[]> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return [...before.filter((one) => at - one.at <= HOUR_MS), { at, free: bavail * bsize, size: blocks * bsize }]
}
