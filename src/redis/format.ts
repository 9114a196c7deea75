import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/** How what is stored is to be read: raised by a change of it. What only adds keys or fields leaves it as it is. */
export const FORMAT = 13

/** The data of another version is no use to this one. The message has the way out. */
export class FormatError extends Error {}

/** The format of what Redis holds; null: it holds nothing of ours yet. */
export async function readFormat(store: Store, keys: Keys): Promise<string | null> {
  return (await store.get(keys.format)) ?? (await store.get(keys.formerFormat))
}

/** The trouble with data of this format, and the remedy; undefined for none. */
export function judgeFormat(stored: string | null): string | undefined {
  if (stored === null) return undefined
  const format = /^\d{1,9}$/.test(stored) ? Number(stored) : undefined
  if (format === FORMAT) return undefined
  if (format !== undefined && format < FORMAT) {
    return (
      `Redis holds data of a development version (format ${format}), which this one does not read. ` +
      'Export its accounts with that version (plimsoll accounts export accounts.csv), set another redis.prefix here, and import the file'
    )
  }
  return (
    `Redis holds data of a newer Plimsoll (format ${format ?? 'unknown'}, this one knows ${FORMAT}): ` +
    'start the newer one again, or restore the backup from before it'
  )
}

/** Before any other data is read or written. Throws FormatError; marks a Redis that holds nothing yet as ours. */
export async function checkFormat(store: Store, keys: Keys): Promise<void> {
  const stored = await readFormat(store, keys)
  const problem = judgeFormat(stored)
  if (problem !== undefined) throw new FormatError(problem)
  if (stored === null) await store.setnx(keys.format, FORMAT)
}
