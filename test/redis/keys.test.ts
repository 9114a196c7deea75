import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { createKeys } from '../../src/redis/keys.ts'

// What ioredis itself routes by; it comes with it, without types.
const slotOf: (key: string) => number = createRequire(createRequire(import.meta.url).resolve('ioredis'))(
  'cluster-key-slot',
)

const { prefix: _, formerFormat: __, queues, ...keys } = createKeys('team-a')

/** Every name, those of accounts, receivers and the like for one of each. */
function namesIn(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'function') return namesIn(value(7, 8))
  return Object.values(value as object).flatMap(namesIn)
}

test('all keys lie in one slot of a cluster, with those of the queues', () => {
  const names = namesIn(keys)
  expect(names.length).toBeGreaterThan(50)
  for (const name of names) expect(name).toMatch(/^\{team-a\}:/)
  expect(new Set([...names, `${queues}:deliver:active`].map(slotOf)).size).toBe(1)
})

test('no key is that of something else, nor of a queue', () => {
  const { own, ...others } = keys
  const names = namesIn(others)
  expect(new Set(names).size).toBe(names.length)
  expect(own(7)).toBe(keys.account(7).account)
  expect(
    names.filter((name) => /^\{team-a\}:(refresh-tokens|poll-limits|uninstall|deliver|tend-history):/.test(name)),
  ).toEqual([])
})
