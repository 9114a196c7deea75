import type { Series } from './series.ts'

/** Object types that a poll found new, and those that it missed. */
export interface TypeChanges {
  appeared: string[]
  disappeared: string[]
}

/** Nothing at the first reading: everything would be new. */
export function typeChanges(before: readonly Series[], after: readonly Series[]): TypeChanges {
  if (!hasReport(before) || !hasReport(after)) return { appeared: [], disappeared: [] }
  const [old, now] = [typesOf(before), typesOf(after)]
  return { appeared: [...now].filter((type) => !old.has(type)), disappeared: [...old].filter((type) => !now.has(type)) }
}

/** The report of custom properties always has the sum, so also where an account has no object type. */
function hasReport(series: readonly Series[]): boolean {
  return series.some(({ metric }) => metric === 'customProperties.overall')
}

function typesOf(series: readonly Series[]): Set<string> {
  return new Set(series.flatMap(({ objectTypeId }) => (objectTypeId === undefined ? [] : [objectTypeId])))
}
