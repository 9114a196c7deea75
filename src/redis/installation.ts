import type { Store } from './connect.ts'
import type { Keys } from './keys.ts'

/**
 * By this a daemon knows that Redis still holds what it began with: a Redis that was emptied takes every command, and finds
 * nothing to do. `fresh` is the mark of an installation that has none yet. Returns the one that counts.
 */
export async function markInstallation(store: Store, keys: Keys, fresh: string): Promise<string> {
  await store.hsetnx(keys.fleet, 'installation', fresh)
  return (await store.hget(keys.fleet, 'installation')) ?? fresh
}

export function readInstallation(store: Store, keys: Keys): Promise<string | null> {
  return store.hget(keys.fleet, 'installation')
}

/** The trouble with the data in Redis, now or soon, while it answers and takes writes as if nothing were wrong. */
export interface DataTrouble {
  /** Log code. */
  code: 'redis.emptied' | 'redis.evicts' | 'disk.low'
  /** True for the data that this daemon began with, be it only a part of it. */
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
    const what = installation === null ? 'it was emptied' : 'it was emptied or replaced'
    return {
      code: 'redis.emptied',
      isOurs: false,
      detail: `Redis no longer holds the data that this daemon began with: ${what}`,
    }
  }
  if (evicted === 0) return undefined
  return {
    code: 'redis.evicts',
    isOurs: true,
    detail: `Redis threw away ${evicted} keys since this daemon started, because memory was full: tokens may be among them`,
  }
}

/** The text of the alert. */
export function describeData({ code, detail }: DataTrouble): string {
  return `${detail.charAt(0).toUpperCase()}${detail.slice(1)}. ${DATA_TO_DO[code]}`
}

export const DATA_TO_DO: Record<DataTrouble['code'], string> = {
  'redis.emptied':
    'The accounts that it held are missing: their tokens are not refreshed. Restore the backup, then restart the daemons.',
  'redis.evicts':
    'Set maxmemory-policy noeviction and give it memory; accounts that are missing must be connected again.',
  'disk.low': 'Make room: on a full disk no token can be stored.',
}
