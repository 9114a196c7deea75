import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkFormat, FORMAT, FormatError, judgeFormat } from '../../src/redis/format.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { startRedis, type TestRedis } from '../support/redis-server.ts'

let redis: TestRedis
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())

test('data from before there were formats, of an older one, or of this one is taken, and bears its number from then on', async () => {
  const keys = createKeys('one')
  const store = redis.store()
  await checkFormat(store, keys)
  expect(await store.get(keys.format)).toBe(String(FORMAT))
  await checkFormat(store, keys)
  await store.set(keys.format, FORMAT - 1)
  await checkFormat(store, keys)
  expect(await store.get(keys.format)).toBe(String(FORMAT))
})

test('data of a newer version is refused, with the way out, and stays as it is', async () => {
  const keys = createKeys('two')
  const store = redis.store()
  await store.set(keys.format, FORMAT + 1)
  await expect(checkFormat(store, keys)).rejects.toThrow(FormatError)
  await expect(checkFormat(store, keys)).rejects.toThrow(
    `newer Plimsoll (format ${FORMAT + 1}, this one knows ${FORMAT}): start the newer one again, or restore the backup`,
  )
  expect(await store.get(keys.format)).toBe(String(FORMAT + 1))
})

test('what is no number is not ours to read either', () => {
  expect(judgeFormat('two')).toContain('format unknown')
})
