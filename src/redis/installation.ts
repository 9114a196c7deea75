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

/**
 * By this a daemon knows that Redis still holds what it began with: a Redis that was emptied takes every command, and finds
 * nothing to do. `fresh` is the mark of an installation that has none yet. Returns the one that counts.
 */
export async function markInstallation(store: Store, keys: Keys, fresh: string): Promise<string> {
  await store.setnx(keys.installation, fresh)
  return (await store.get(keys.installation)) ?? fresh
}

export function readInstallation(store: Store, keys: Keys): Promise<string | null> {
  return store.get(keys.installation)
}

/** What is wrong with what Redis holds, for as long as it answers and takes writes as if nothing were. */
export interface DataTrouble {
  /** Whether it is what this daemon began with, be it not all of it. */
  isOurs: boolean
  detail: string
}

/** The field of the alert about it. */
export const DATA = 'data'

interface DataFacts {
  /** The mark of the installation that this daemon began with, and what is there now. */
  began: string
  installation: string | null
  /** Keys that Redis threw away since this daemon began. */
  evicted: number
}

export function judgeData({ began, installation, evicted }: DataFacts): DataTrouble | undefined {
  if (installation !== began) {
    const what = installation === null ? 'it was emptied' : 'it was emptied or replaced, and begun anew'
    return { isOurs: false, detail: `Redis no longer holds what this daemon began with: ${what}` }
  }
  if (evicted === 0) return undefined
  return {
    isOurs: true,
    detail: `Redis threw away ${evicted} keys for want of memory since this daemon began: tokens may be among them`,
  }
}

/** The text of the alert. */
export function describeData({ isOurs, detail }: DataTrouble): string {
  const todo = isOurs
    ? 'Set maxmemory-policy noeviction and give it memory; accounts that are missing must be connected again.'
    : 'The accounts that it held are missing: their tokens are not refreshed. Restore the backup, then restart the daemons.'
  return `${detail}. ${todo}`
}
