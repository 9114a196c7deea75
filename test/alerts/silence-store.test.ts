import { expect, test } from 'vitest'
import { SilenceStore } from '../../src/alerts/silence-store.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
const DAY = 86_400_000
const NOW = Date.parse('2026-11-21T10:00:00Z')
const ACCOUNT = { name: 'account', value: '123' } as const

const one = { matchers: [ACCOUNT], author: 'ann', comment: 'a migration', createdAt: NOW, endsAt: NOW + 1_000 }

const open = (tags: Record<string, string[]> = {}, keys = redis.freshKeys()) =>
  new SilenceStore(redis.store, keys, tags)

test('a silence is in force until it ends, and kept five days longer', async () => {
  const silences = open()
  const made = await silences.add(one)
  expect(made).toEqual({ ...one, id: expect.stringMatching(/^s-[2-9b-z]{5}$/) })
  expect(await silences.active(NOW + 999)).toEqual([made])
  expect(await silences.active(NOW + 1_000)).toEqual([])
  await silences.active(NOW + 5 * DAY)
  expect(await silences.all()).toEqual([made])
  await silences.active(NOW + 1_000 + 5 * DAY)
  expect(await silences.all()).toEqual([])
})

test('one that ran out, and that somebody ends, is not in force again once the clock is set back', async () => {
  const silences = open()
  const { id } = await silences.add(one)
  expect(await silences.end(id, NOW + DAY)).toMatchObject({ is: 'over', silence: { endsAt: one.endsAt } })
  expect(await silences.active(NOW)).toEqual([])
})

test('the one that ends first is listed first', async () => {
  const silences = open()
  const later = await silences.add({ ...one, endsAt: NOW + 5_000 })
  const sooner = await silences.add(one)
  expect(await silences.active(NOW)).toEqual([sooner, later])
})

test('tags mean the accounts that carry them by the config of whoever asks', async () => {
  const keys = redis.freshKeys()
  const before = open({ vip: ['1'] }, keys)
  await before.add({ ...one, matchers: [{ name: 'tag', value: 'vip' }] })
  const after = open({ vip: ['1', '2'] }, keys)
  expect((await before.active(NOW))[0]?.matchers).toEqual([{ name: 'tag', value: 'vip', accounts: ['1'] }])
  expect((await after.active(NOW))[0]?.matchers).toEqual([{ name: 'tag', value: 'vip', accounts: ['1', '2'] }])
})

test('one that was written with something to match by that is not known here is left out, not widened', async () => {
  const keys = redis.freshKeys()
  const stored = {
    ...one,
    matchers: [
      ['account', '123'],
      ['colour', 'red'],
    ],
  }
  await redis.store.hset(keys.delivery.silences, 's-99999', JSON.stringify(stored))
  expect(await open({}, keys).active(NOW)).toEqual([])
})

test.each([
  ['no JSON', '{'],
  ['nothing', 'null'],
  ['matchers that are no list', JSON.stringify({ ...one, matchers: { account: '1' } })],
  ['matchers that are no pairs', JSON.stringify({ ...one, matchers: ['account'] })],
  ['a value that is no text', JSON.stringify({ ...one, matchers: [['account', 1]] })],
  ['no matcher at all, which would mean every alert', JSON.stringify({ ...one, matchers: [] })],
  ['no end', JSON.stringify({ ...one, matchers: [['account', '1']], endsAt: null })],
])('one that is stored as %s silences nothing, and the others go on', async (_what, stored) => {
  const keys = redis.freshKeys()
  const silences = open({}, keys)
  await redis.store.hset(keys.delivery.silences, 's-99999', stored)
  const made = await silences.add(one)
  expect(await silences.active(NOW)).toEqual([made])
  expect(await silences.end('s-99999', NOW)).toEqual({ is: 'unknown' })
})

test('ending one early lets what it held back be looked at again, also when it is done twice', async () => {
  const keys = redis.freshKeys()
  const silences = open({}, keys)
  const rechecks = () => redis.store.get(keys.holdChanges)
  const { id } = await silences.add(one)
  expect(await silences.end(id, NOW + 10)).toMatchObject({
    is: 'ended',
    silence: { endsAt: NOW + 10 },
  })
  expect(await silences.active(NOW + 10)).toEqual([])
  expect(await silences.end(id, NOW + 20)).toMatchObject({
    is: 'over',
    silence: { endsAt: NOW + 10 },
  })
  expect(await silences.active(NOW)).toEqual([])
  expect(await rechecks()).toBe('2')
  expect(await silences.end('s-nobody', NOW)).toEqual({ is: 'unknown' })
  expect(await rechecks()).toBe('2')
})
