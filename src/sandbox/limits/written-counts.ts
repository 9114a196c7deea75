import { percentage } from '../scenario.ts'
import type { ServedCount } from './served-report.ts'

/** The ways in which several reports write their counts. */

interface Used {
  limit: number
  usage: number
  percentage: number
}

export function writtenUse({ usage, limit = 0 }: Omit<ServedCount, 'key'>): Used {
  return { limit, usage, percentage: percentage(usage, limit) }
}

/** The sum under this key; nothing of nothing where it was taken away. */
export function writtenSum(counts: readonly ServedCount[], key: string): Used {
  return writtenUse(counts.find((count) => count.key === key) ?? { usage: 0 })
}

interface Overall {
  overallLimit: number
  overallUsage: number
  overallPercentage: number
}

export function writtenOverall(counts: readonly ServedCount[], key = 'overall'): Overall {
  const sum = writtenSum(counts, key)
  return { overallLimit: sum.limit, overallUsage: sum.usage, overallPercentage: sum.percentage }
}

/** Without the sums, whose keys are words. */
export function countsByType(counts: readonly ServedCount[]): ServedCount[] {
  return counts.filter(({ key }) => /^\d/.test(key))
}

/** Shares of a sum, as even as possible, for object types that have no limit of their own. */
export function sharedOut(sum: number, objectTypeIds: readonly string[]): ServedCount[] {
  return objectTypeIds.map((key, place) => ({ key, usage: Math.floor((sum + place) / objectTypeIds.length) }))
}
