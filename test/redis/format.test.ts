import { expect, test } from 'vitest'
import { checkFormat, FORMAT, FormatError, judgeFormat, OLDEST_FORMAT } from '../../src/redis/format.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const READERS = ['daemon', 'command', 'export'] as const

test('a Redis that holds nothing yet bears the number of this version', async () => {
  const keys = redis.freshKeys()
  await checkFormat(redis.store, keys, 'command')
  expect(await redis.store.get(keys.format)).toBe(String(FORMAT))
})

test.each(READERS)(
  'data of a newer version is refused to a %s, with the way out, and stays as it is',
  async (reader) => {
    const keys = redis.freshKeys()
    await redis.store.set(keys.format, FORMAT + 1)
    await expect(checkFormat(redis.store, keys, reader)).rejects.toThrow(FormatError)
    await expect(checkFormat(redis.store, keys, reader)).rejects.toThrow(
      `newer Plimsoll (format ${FORMAT + 1}, this one knows ${FORMAT}): start the newer one again, or restore the backup`,
    )
    expect(await redis.store.get(keys.format)).toBe(String(FORMAT + 1))
  },
)

test('what is no number is not ours to read either', () => {
  expect(judgeFormat('two', 'daemon')).toContain('format unknown')
})

test('data that is too old to be brought up to date is taken by an export alone', () => {
  const [daemon, command, exported] = READERS.map((reader) => judgeFormat(String(OLDEST_FORMAT - 1), reader))
  expect(daemon).toContain('plimsoll accounts export accounts.csv')
  expect(command).toBe(daemon)
  expect(exported).toBeUndefined()
})

test('data of an older version is left to the daemon by commands, which name that as the way out', () => {
  const [daemon, command, exported] = READERS.map((reader) => judgeFormat(String(FORMAT), reader, FORMAT + 1))
  expect(daemon).toBeUndefined()
  expect(command).toContain("start this version's daemon, which brings it up to date")
  expect(exported).toBe(command)
})
