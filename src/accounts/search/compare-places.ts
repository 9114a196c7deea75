import type { Place } from './account-query.ts'
import type { Stretch } from './walk.ts'

/** The order of a stretch. Accounts whose keys are level stand as Redis has them: by their hubIds as they are written. */
export function comparePlaces({ part, reverse }: Pick<Stretch, 'part' | 'reverse'>): (a: Place, b: Place) => number {
  const turn = reverse ? -1 : 1
  if (part === 'by hubId') return (a, b) => turn * (a.hubId - b.hubId)
  return (a, b) => turn * (compare(a.key ?? '', b.key ?? '') || compare(String(a.hubId), String(b.hubId)))
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}
