import type { Asks } from './because.ts'

/** Series that are a number of records: they have no limit, so no percentage and nothing that remains. */
const COUNTS: ReadonlySet<string> = new Set(['associations.atLimit', 'associations.nearLimit'])

/**
 * Whether what a level asks fits a series that the rule's `on` stands for. In a rule for several series `count` is a number of
 * records: the usage of one record, which a fullest record has, is only meant by a rule for that alone.
 */
export function measures(on: string, metric: string, asks: Asks): boolean {
  if (COUNTS.has(metric)) return asks === 'count'
  return asks !== 'count' || metric !== 'associations.fullest' || on === metric
}
