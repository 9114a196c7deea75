import { readdirSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import type { WholeDaemon } from '../bench/whole-daemon.ts'
import { sumOf } from '../support/exposition.ts'
import { type Family, readFamilies } from './key-families.ts'

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
const REMEMBERED = [
  ...['*:history:*', '*:log', '*:outbox', '{delivery}:delivery:*', '{delivery}:delivered', '{delivery}:ends'],
  ...['{delivery}:log', 'heartbeat-turn:*'],
]

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
      histories: of('*:history:*'),
      deliveries: of('{delivery}:delivery:*'),
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
