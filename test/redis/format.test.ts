import { expect, test } from 'vitest'
import { checkFormat, FORMAT, FormatError } from '../../src/redis/format.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

test('a Redis that holds nothing yet bears the number of this version', async () => {
  const keys = redis.freshKeys()
  await checkFormat(redis.store, keys)
  await checkFormat(redis.store, keys)
  expect(await redis.store.get(keys.format)).toBe(String(FORMAT))
})

test.each([
  [
    FORMAT + 1,
    `newer Plimsoll (format ${FORMAT + 1}, this one knows ${FORMAT}): start the newer one again, or restore`,
  ],
  ['two', 'newer Plimsoll (format unknown'],
])('data of a newer version, %s, is refused with the remedy, and stays as it is', async (stored, message) => {
  const keys = redis.freshKeys()
  await redis.store.set(keys.format, stored)
  await expect(checkFormat(redis.store, keys)).rejects.toThrow(FormatError)
  await expect(checkFormat(redis.store, keys)).rejects.toThrow(message)
  expect(await redis.store.get(keys.format)).toBe(String(stored))
})

test('data of a development version is refused, also where its keys have other names, and stays as it is', async () => {
  const keys = redis.freshKeys()
  await redis.store.set(keys.formerFormat, FORMAT - 1)
  await expect(checkFormat(redis.store, keys)).rejects.toThrow(
    `data of a development version (format ${FORMAT - 1}), which this one does not read. Export its accounts with that version`,
  )
  expect(await redis.store.exists(keys.format)).toBe(0)
})
