import { expect, test } from 'vitest'
import { countOutcomes, readTrackRecord } from '../../../src/limits/forecast/predictions.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()
const DAY = 86_400_000
const NOW = 20_400 * DAY + 3_600_000
const NONE = { held: 0, later: 0, sooner: 0, open: 0 }

test('outcomes are counted for 30 days, and never more than that are kept', async () => {
  const [{ store }, keys] = [redis, redis.freshKeys()]
  expect(await readTrackRecord(store, keys, NOW)).toEqual(NONE)
  await countOutcomes(store, keys, ['held', 'held', 'sooner'], NOW)
  await countOutcomes(store, keys, ['later'], NOW + 29 * DAY)
  expect(await readTrackRecord(store, keys, NOW + 29 * DAY)).toEqual({ held: 2, later: 1, sooner: 1, open: 0 })
  expect(await readTrackRecord(store, keys, NOW + 30 * DAY)).toEqual({ ...NONE, later: 1 })
  await countOutcomes(store, keys, ['open'], NOW + 30 * DAY)
  expect(await store.hkeys(keys.dayCounts)).toEqual(['20429:later', '20430:open'])
})

test('what can not be read counts nothing, and is replaced', async () => {
  const [{ store }, keys] = [redis, redis.freshKeys()]
  await store.hset(keys.dayCounts, { '20400:held': 'many', '20400:won': '3', x: '1', '20399:held': '4' })
  expect(await readTrackRecord(store, keys, NOW)).toEqual({ ...NONE, held: 4 })
  await countOutcomes(store, keys, ['later'], NOW)
  expect(await store.hkeys(keys.dayCounts)).toEqual(['20400:held', '20400:won', '20399:held', '20400:later'])
  await store.set(keys.dayCounts, 'x')
  expect(await readTrackRecord(store, keys, NOW)).toEqual(NONE)
  await countOutcomes(store, keys, ['later'], NOW)
  await countOutcomes(store, keys, ['later'], NOW)
  expect(await readTrackRecord(store, keys, NOW)).toEqual({ ...NONE, later: 1 })
})
