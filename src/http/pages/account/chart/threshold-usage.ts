import type { Level } from '../../../../alerts/evaluation/rules.ts'

/**
 * The usage from which a level holds at a limit: the lowest of its conditions, as any of them will do. Undefined where none
 * is about usage: days left depend on the pace, and a percentage needs a limit.
 */
export function thresholdUsage(level: Level | undefined, limit: number | null): number | undefined {
  if (level === undefined) return undefined
  const { percent, count, remaining } = level
  const usages = [
    count,
    percent === undefined || limit === null ? undefined : (limit * percent) / 100,
    remaining === undefined || limit === null ? undefined : Math.max(0, limit - remaining),
  ].filter((usage) => usage !== undefined)
  return usages.length === 0 ? undefined : Math.min(...usages)
}
