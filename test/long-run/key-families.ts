import type { Store } from '../../src/redis/connect.ts'

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
