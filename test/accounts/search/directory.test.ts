import { expect, test } from 'vitest'
import { Directory } from '../../../src/accounts/search/directory.ts'
import { redisOfFile } from '../../support/of-file.ts'
import { seedListed } from './seed-listed.ts'

const redis = redisOfFile()

/** The store, and how often it was asked for a version. `away`: it answers no more. */
function watched() {
  const seen = { gets: 0, away: false }
  const store = new Proxy(redis.store, {
    get: (target, name) => {
      if (name !== 'get') {
        const found = Reflect.get(target, name)
        return typeof found === 'function' ? found.bind(target) : found
      }
      return (key: string) => {
        seen.gets++
        return seen.away ? Promise.reject(new Error('away')) : target.get(key)
      }
    },
  })
  return { seen, store }
}

test('searches that come while one looks share the next look, and none is told of what was before it came', async () => {
  const keys = redis.freshKeys()
  const { seen, store } = watched()
  const directory = new Directory(store, keys)
  const first = directory.read()
  await seedListed(redis.store, keys, [{ hubId: 7, hubDomain: 'New.example.com', state: 'active' }])
  await redis.store.incr(keys.domainsVersion)
  const others = await Promise.all(Array.from({ length: 20 }, () => directory.read()))
  await first
  expect(seen.gets).toBeLessThanOrEqual(2)
  for (const found of others) expect(found).toEqual([{ hubId: 7, domain: 'new.example.com' }])
})

test('where Redis is away nobody waits in line: two looks fail for all, and the next one that comes looks again', async () => {
  const keys = redis.freshKeys()
  const { seen, store } = watched()
  const directory = new Directory(store, keys)
  seen.away = true
  const answers = await Promise.allSettled(Array.from({ length: 20 }, () => directory.read()))
  expect(answers.map(({ status }) => status)).toEqual(Array(20).fill('rejected'))
  expect(seen.gets).toBeLessThanOrEqual(2)
  seen.away = false
  expect(await directory.read()).toEqual([])
})
