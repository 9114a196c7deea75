import type { Store } from '../../src/redis/connect.ts'

/** What is stored under the names of a pattern, key by key. */
export interface Snapshot {
  of: string
  values: readonly { key: string; dump: Buffer; leftMs: number }[]
}

export async function takeSnapshot(store: Store, of: string): Promise<Snapshot> {
  const keys = await store.keys(of)
  const values = keys.map(async (key) => {
    const [dump, left] = await Promise.all([store.dumpBuffer(key), store.pttl(key)])
    return { key, dump: dump ?? Buffer.alloc(0), leftMs: Math.max(0, left) }
  })
  return { of, values: await Promise.all(values) }
}

export async function restore(store: Store, { of, values }: Snapshot): Promise<void> {
  const now = await store.keys(of)
  if (now.length > 0) await store.del(...now)
  await Promise.all(values.map(({ key, dump, leftMs }) => store.restore(key, leftMs, dump)))
}
