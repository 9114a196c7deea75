import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../src/redis/connect.ts'
import { sumOf } from '../support/exposition.ts'
import type { WholeDaemon } from '../support/whole-daemon.ts'

/** How the daemon and its Redis stand at a moment. Bytes, but `lateMs`. */
export interface Look {
  heap: number
  resident: number
  descriptors: number
  /** Of those kinds of keys that hold what is now. */
  present: Family
  /** Of those that remember what was, each up to a bound of its own. */
  past: Family
  histories: Family
  deliveries: Family
  /** On average, since the look before. */
  lateMs: number
}

/**
 * What is remembered on purpose: histories for years, what was delivered for a week, streams of a fixed length, some jobs
 * that ended. A week in minutes fills them as a week would; the rest must stay as it is.
 */
const REMEMBERED = ['history:*', 'transitions', 'transitions:*', 'delivery:*', 'delivered', 'attempts', 'turn:*']

export function isPast(family: string): boolean {
  return REMEMBERED.includes(family) || family.endsWith(':events')
}

export function startLooking({ daemon, store, ask }: WholeDaemon): () => Promise<Look> {
  const before = { sum: 0, count: 0 }
  return async () => {
    daemon.child.kill('SIGUSR2')
    await pause(200)
    const text = await ask('/metrics')
    const [sum, count] = ['sum', 'count'].map((part) => sumOf(text, `plimsoll_token_refresh_lateness_seconds_${part}`))
    const lateMs = ((Number(sum) - before.sum) / Math.max(1, Number(count) - before.count)) * 1_000
    Object.assign(before, { sum, count })
    const families = await readFamilies(store)
    const of = (family: string) => families.get(family) ?? { keys: 0, bytes: 0 }
    return {
      heap: sumOf(text, 'nodejs_heap_size_used_bytes'),
      resident: sumOf(text, 'process_resident_memory_bytes'),
      descriptors: readdirSync(`/proc/${daemon.child.pid}/fd`).length,
      present: total([...families].filter(([family]) => !isPast(family))),
      past: total([...families].filter(([family]) => isPast(family))),
      histories: of('history:*'),
      deliveries: of('delivery:*'),
      lateMs,
    }
  }
}

function total(families: readonly (readonly [string, Family])[]): Family {
  return families.reduce((sum, [, { keys, bytes }]) => ({ keys: sum.keys + keys, bytes: sum.bytes + bytes }), {
    keys: 0,
    bytes: 0,
  })
}

/** Whether a series moves, over its second half: the first is for tables, compiled code and caches to fill. */
export interface Line {
  mean: number
  /** By how much a fitted line rises over that half. */
  rise: number
  /** How sure that is: its standard error. */
  error: number
}

export function lineOf(values: readonly number[]): Line {
  const half = values.slice(Math.floor(values.length / 2))
  const mean = average(half)
  const middle = (half.length - 1) / 2
  const spread = half.reduce((sum, _, n) => sum + (n - middle) ** 2, 0)
  const slope = half.reduce((sum, value, n) => sum + (n - middle) * (value - mean), 0) / spread
  const rest = half.reduce((sum, value, n) => sum + (value - mean - slope * (n - middle)) ** 2, 0)
  const error = Math.sqrt(rest / Math.max(1, half.length - 2) / spread)
  return { mean, rise: slope * (half.length - 1), error: error * (half.length - 1) }
}

/** Rises by more than a share of itself, and by more than chance would have it. */
export function isRising({ mean, rise, error }: Line, share: number): boolean {
  return rise > mean * share && rise > 3 * error
}

function average(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** What there is in Redis of one kind. */
export interface Family {
  keys: number
  bytes: number
}

/** Keys without the numbers and names in them, so that those of one kind are counted together. */
export function familyOf(key: string): string {
  const parts = key.split(':').slice(1)
  return parts.map((part) => (/\d/.test(part) || part.length > 20 ? '*' : part)).join(':')
}

export async function readFamilies(store: Store): Promise<Map<string, Family>> {
  const families = new Map<string, Family>()
  let cursor = '0'
  do {
    const [next, keys] = await store.scan(cursor, 'COUNT', 1_000)
    const commands = store.pipeline()
    for (const key of keys) commands.memory('USAGE', key, 'SAMPLES', 0)
    const sizes = (await commands.exec()) ?? []
    for (const [n, key] of keys.entries()) {
      const bytes = sizes[n]?.[1]
      // Gone since it was listed.
      if (typeof bytes !== 'number') continue
      const family = families.get(familyOf(key)) ?? { keys: 0, bytes: 0 }
      families.set(familyOf(key), { keys: family.keys + 1, bytes: family.bytes + bytes })
    }
    cursor = next
  } while (cursor !== '0')
  return families
}
