import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/**
 * How what is stored is to be read. It is raised by a version whose data an older one would read wrongly, or write over;
 * what only adds keys or fields leaves it as it is.
 */
export const FORMAT = 2

/** The data of a newer version is no use to this one. */
export class FormatError extends Error {}

/** What is wrong with data of a format, and the way out; undefined for none. Data from before formats has no number. */
export function judgeFormat(stored: string | null): string | undefined {
  if (stored === null || (/^\d{1,9}$/.test(stored) && Number(stored) <= FORMAT)) return undefined
  return (
    `Redis holds data of a newer Plimsoll (format ${/^\d{1,9}$/.test(stored) ? stored : 'unknown'}, this one knows ${FORMAT}): ` +
    'start the newer one again, or restore the backup from before it'
  )
}

/** Before anything is read or written. Throws FormatError; marks a Redis that holds nothing yet as ours. */
export async function checkFormat(store: Store, keys: Keys): Promise<void> {
  const stored = await store.get(keys.format)
  const problem = judgeFormat(stored)
  if (problem !== undefined) throw new FormatError(problem)
  if (stored === null) await store.setnx(keys.format, FORMAT)
}

/** Called before the first write that an older version can't read: it would not start any more. Reading is no reason. */
export async function raiseFormat(store: Store, keys: Keys): Promise<void> {
  await store.set(keys.format, FORMAT)
}
