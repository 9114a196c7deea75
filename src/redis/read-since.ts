import type { Store } from './connect.ts'

type Entry = [id: string, fields: string[]]

interface CappedStream<T extends { at: number }> {
  key: string
  /** The stream is not cut before it has so many entries. */
  most: number
  /** An entry with its moment, ms; undefined for one that can't be read: it is left out. */
  read: (entry: Entry) => T | undefined
}

export interface ReadSince<T> {
  /** Oldest first. */
  found: T[]
  /** Older entries than this, ms, may be cut off; absent where all since the moment are there. */
  keptSince?: number
}

/** Entries of one call: a few at first, since most streams have nothing new. */
const FIRST_PAGE = 10
const PAGE = 200

/** The entries of a capped stream since a moment, ms: backwards, page by page, until everything on a page is older. */
export async function readSince<T extends { at: number }>(
  store: Store,
  { key, most, read }: CappedStream<T>,
  since: number,
): Promise<ReadSince<T>> {
  const found: T[] = []
  let [before, count, passed, oldest] = ['+', FIRST_PAGE, 0, Number.POSITIVE_INFINITY]
  for (;;) {
    const page: Entry[] = await store.xrevrange(key, before, '-', 'COUNT', count)
    const readable = page.map(read).filter((one) => one !== undefined)
    const recent = readable.filter(({ at }) => at >= since)
    found.push(...recent)
    passed += page.length
    oldest = readable.at(-1)?.at ?? oldest
    const isOver = recent.length === 0 && readable.length > 0
    if (page.length < count || isOver) {
      const isCut = !isOver && passed >= most && oldest > since && Number.isFinite(oldest)
      return { found: found.reverse(), ...(isCut ? { keptSince: oldest } : {}) }
    }
    before = `(${page.at(-1)?.[0] ?? ''}`
    count = PAGE
  }
}
