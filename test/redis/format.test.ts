import { expect, test } from 'vitest'
import { checkFormat, FORMAT, FormatError, judgeFormat, raiseFormat } from '../../src/redis/installation.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('data of an older version, or of this one, is taken, and bears the number of this one once it is to be written', async () => {
  const keys = createKeys('one')
  const store = redis.connect()
  await checkFormat(store, keys)
  expect(await store.get(keys.format)).toBe(String(FORMAT))
  await store.set(keys.format, FORMAT - 1)
  await checkFormat(store, keys)
  // Whoever only looks leaves it to the version that is at work.
  expect(await store.get(keys.format)).toBe(String(FORMAT - 1))
  await raiseFormat(store, keys)
  expect(await store.get(keys.format)).toBe(String(FORMAT))
})

test('data of a newer version is refused, with the way out, and stays as it is', async () => {
  const keys = createKeys('two')
  const store = redis.connect()
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
