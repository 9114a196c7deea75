import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseAccess, readAccess } from '../../src/tokens/stored-access.ts'
import { formatAccess, SEEDED_VERSION, seedAccount } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const NOW = Date.parse('2026-11-28T10:00:00Z')

const moment = fc.integer({ min: 0, max: 8_640_000_000_000_000 })
const stored = fc.record({
  version: fc.bigInt({ min: 0n, max: 9_007_199_254_740_991n }).map(String),
  times: fc.record({ obtainedAt: moment, expiresAt: moment }),
  hubDomain: fc.string({ unit: 'binary' }).map((text) => text.toWellFormed()),
  sealed: fc.uint8Array({ maxLength: 600 }).map((bytes) => Buffer.from(bytes)),
})

test('an access token is read as it was stored, whatever its bytes; only the line of its domain is kept to one line', () => {
  fc.assert(
    fc.property(stored, (access) => {
      const read = parseAccess(formatAccess(access))
      expect(read).toEqual({ ...access, hubDomain: access.hubDomain.replaceAll('\n', ' ') })
    }),
  )
})

test.each([
  ['nothing', null],
  ['no line', Buffer.from('1 2 3 a.example.com')],
  ['a sealed token alone', Buffer.from('\x01\x02k1 some bytes')],
  ['a moment that is none', Buffer.from('1 soon 3 a.example.com\nx')],
  ['a version that is none', Buffer.from('1e3 2 3 a.example.com\nx')],
])('%s is no access token', (_, text) => {
  expect(parseAccess(text)).toBeUndefined()
})

test('what a step stores is what is read: the line is as the record is', async () => {
  const keys = redis.freshKeys()
  await seedAccount(redis.store, keys, { obtainedAt: NOW, hubDomain: 'a.example.com\nb é' })
  const access = await readAccess(redis.store, keys, 123)
  const times = { obtainedAt: NOW, expiresAt: NOW + 1_800_000 }
  expect(access).toMatchObject({ version: SEEDED_VERSION, times, hubDomain: 'a.example.com b é' })
  expect(await redis.store.getBuffer(keys.account(123).access)).toEqual(access && formatAccess(access))
})

test('a key of another type is no access token, and no failure', async () => {
  const keys = redis.freshKeys()
  await redis.store.rpush(keys.account(123).access, 'a')
  expect(await readAccess(redis.store, keys, 123)).toBeUndefined()
})
