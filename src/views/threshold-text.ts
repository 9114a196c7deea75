import type { Level } from '../alerts/evaluation/rules.ts'

const CONDITIONS: Readonly<Record<string, (bound: number) => string>> = {
  percent: (bound) => `from ${bound} %`,
  count: (bound) => `from ${bound}`,
  remaining: (bound) => `from ${bound} left`,
  daysLeft: (bound) => `${bound} ${bound === 1 ? 'day' : 'days'} left`,
}

/** The conditions of a level, in a few words; nothing where no level holds. */
export function thresholdText(threshold: Level | null): string {
  return Object.entries(threshold ?? {})
    .flatMap(([condition, bound]) =>
      bound === undefined ? [] : [CONDITIONS[condition]?.(Number(bound)) ?? `${condition} ${bound}`],
    )
    .join(' or ')
}
