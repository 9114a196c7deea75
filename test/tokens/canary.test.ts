import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { checkCanary } from '../../src/tokens/canary.ts'
import { createVault, VaultError } from '../../src/tokens/vault.ts'
import { useRedis } from '../support/test-store.ts'

const redis = useRedis()
const aKey = (id: string) => ({ id, key: randomBytes(32) })

test('the first start writes the canary, and every later one opens it', async () => {
  const keys = redis.freshKeys()
  const vault = createVault([aKey('k1')])
  await checkCanary(redis.store, keys, vault)
  const written = await redis.store.getBuffer(keys.canary)
  await checkCanary(redis.store, keys, vault)
  expect(await redis.store.getBuffer(keys.canary)).toEqual(written)
})

test('a new first key is fine as long as the old one still reads', async () => {
  const keys = redis.freshKeys()
  const old = aKey('k1')
  await checkCanary(redis.store, keys, createVault([old]))
  await expect(checkCanary(redis.store, keys, createVault([aKey('k2'), old]))).resolves.toBeUndefined()
})

test.each([['k1'], ['k2']])(
  'keys that do not open what is stored (id %s) stop the start, and change nothing',
  async (id) => {
    const keys = redis.freshKeys()
    await checkCanary(redis.store, keys, createVault([aKey('k1')]))
    const written = await redis.store.getBuffer(keys.canary)
    await expect(checkCanary(redis.store, keys, createVault([aKey(id)]))).rejects.toThrow(VaultError)
    expect(await redis.store.getBuffer(keys.canary)).toEqual(written)
  },
)

test('of two daemons that start for the first time with different keys, one is told', async () => {
  const keys = redis.freshKeys()
  const starts = [createVault([aKey('k1')]), createVault([aKey('k1')])]
  const ends = await Promise.allSettled(starts.map((vault) => checkCanary(redis.store, keys, vault)))
  expect(ends.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
})
