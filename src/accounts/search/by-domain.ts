import type { Place } from './account-query.ts'
import type { DirectoryEntry } from './directory.ts'
import { comparePlaces, type Stretch } from './stretch.ts'

/** The first `limit` of a stretch that is ordered by domain. */
export function firstByDomain(
  entries: Iterable<DirectoryEntry>,
  { after, ...stretch }: Pick<Stretch, 'part' | 'reverse' | 'after'>,
  limit: number,
): Place[] {
  const compare = comparePlaces(stretch)
  // Twice as many as are wanted at a time: to order all of them takes longer than to look at them.
  let first: Place[] = []
  let last: Place | undefined
  for (const { hubId, domain } of entries) {
    if (domain === '') continue
    const place = { hubId, key: domain }
    if (after !== undefined && compare(after, place) >= 0) continue
    if (last !== undefined && compare(place, last) >= 0) continue
    first.push(place)
    if (first.length < 2 * limit) continue
    first = first.sort(compare).slice(0, limit)
    last = first.at(-1)
  }
  return first.sort(compare).slice(0, limit)
}
