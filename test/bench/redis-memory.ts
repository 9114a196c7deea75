import { setTimeout as pause } from 'node:timers/promises'
import type { Store } from '../../src/redis/connect.ts'
import { startRedis } from '../support/redis-server.ts'

/**
 * What a Redis of its own grows by when it is filled, bytes: `used_memory` without the buffers of connections. It counts
 * what MEMORY USAGE leaves out - the table of keys, what the allocator rounds up - and it is what an operator pays for.
 */
export interface MemoryGauge {
  readonly url: string
  growth(fill: (store: Store) => Promise<void>): Promise<number>
  /** At what the last filling left. */
  look(at: (store: Store) => Promise<void>): Promise<void>
  close(): Promise<void>
}

export async function openMemoryGauge(): Promise<MemoryGauge> {
  const redis = await startRedis()
  const store = redis.connect()
  return {
    url: redis.url,
    growth: async (fill) => {
      await store.flushall('SYNC')
      const before = await settled(store)
      await fill(store)
      return (await settled(store)) - before
    },
    look: (at) => at(store),
    close: () => redis.stop(),
  }
}

/** Tables that have just grown are moved over piece by piece, and exist twice meanwhile. */
async function settled(store: Store): Promise<number> {
  for (let last = await dataBytes(store), quiet = 0; ; ) {
    await pause(50)
    const bytes = await dataBytes(store)
    quiet = Math.abs(bytes - last) < 256 ? quiet + 1 : 0
    if (quiet === 3) return bytes
    last = bytes
  }
}

async function dataBytes(store: Store): Promise<number> {
  const text = await store.info('memory')
  const read = (name: string) => Number(new RegExp(`^${name}:(\\d+)`, 'm').exec(text)?.[1] ?? Number.NaN)
  return read('used_memory') - read('mem_clients_normal')
}
