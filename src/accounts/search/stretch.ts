import type { AccountSort, Place } from './account-query.ts'

/** One stretch of a list: the accounts that have what it is ordered by, or those that are ordered by their hubIds. */
export interface Stretch {
  sort: AccountSort
  part: 'keyed' | 'by hubId'
  reverse: boolean
  after: Place | undefined
}

/** The order of a stretch. Accounts whose keys are level stand as Redis has them: by their hubIds as they are written. */
export function comparePlaces({ part, reverse }: Pick<Stretch, 'part' | 'reverse'>): (a: Place, b: Place) => number {
  const turn = reverse ? -1 : 1
  if (part === 'by hubId') return (a, b) => turn * (a.hubId - b.hubId)
  return (a, b) => turn * (compare(a.key ?? '', b.key ?? '') || compare(String(a.hubId), String(b.hubId)))
}

function compare(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0
}
