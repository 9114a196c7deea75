import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'
import { UPGRADES } from './upgrades.ts'

/** The oldest data that a daemon reads. Until the first release it is raised with each change of what is stored. */
export const OLDEST_FORMAT = 7

/** How what is stored is to be read: raised by each upgrade. What only adds keys or fields leaves it as it is. */
export const FORMAT = OLDEST_FORMAT + UPGRADES.length

/** The data of another version is no use to this one. The message has the way out. */
export class FormatError extends Error {}

/** A daemon brings older data up to date; an export also takes the accounts out of data that is too old for that. */
export type FormatReader = 'daemon' | 'command' | 'export'

/** The trouble with data of this format, and the remedy; undefined for none. */
export function judgeFormat(stored: string, reader: FormatReader, newest = FORMAT): string | undefined {
  const format = /^\d{1,9}$/.test(stored) ? Number(stored) : undefined
  if (format === undefined || format > newest) {
    return (
      `Redis holds data of a newer Plimsoll (format ${format ?? 'unknown'}, this one knows ${newest}): ` +
      'start the newer one again, or restore the backup from before it'
    )
  }
  if (format < OLDEST_FORMAT) {
    if (reader === 'export') return undefined
    return (
      `Redis holds data of a development version (format ${format}), which this one does not read. Take its accounts along: ` +
      'plimsoll accounts export accounts.csv, then another redis.prefix in the config, then ' +
      'plimsoll accounts import accounts.csv (config/deploy/README.md, Upgrade)'
    )
  }
  if (format === newest || reader === 'daemon') return undefined
  return (
    `Redis holds data of an older Plimsoll (format ${format}, this one works with ${newest}): ` +
    "start this version's daemon, which brings it up to date"
  )
}

/** Before any other data is read or written. Throws FormatError; marks a Redis that holds nothing yet as ours. */
export async function checkFormat(store: Store, keys: Keys, reader: FormatReader, newest = FORMAT): Promise<void> {
  const stored = await store.get(keys.format)
  const problem = stored === null ? undefined : judgeFormat(stored, reader, newest)
  if (problem !== undefined) throw new FormatError(problem)
  if (stored === null) await store.setnx(keys.format, newest)
}
