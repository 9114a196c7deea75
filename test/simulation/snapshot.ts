import type { Store } from '../../src/redis/connect.ts'

/** All that is stored, key by key. */
export type Snapshot = readonly { key: string; dump: Buffer; leftMs: number }[]

export async function takeSnapshot(store: Store): Promise<Snapshot> {
  const keys = await store.keys('*')
  return Promise.all(
    keys.map(async (key) => {
      const [dump, left] = await Promise.all([store.dumpBuffer(key), store.pttl(key)])
      return { key, dump: dump ?? Buffer.alloc(0), leftMs: Math.max(0, left) }
    }),
  )
}

export async function restore(store: Store, snapshot: Snapshot): Promise<void> {
  await store.flushdb()
  await Promise.all(snapshot.map(({ key, dump, leftMs }) => store.restore(key, leftMs, dump)))
}
