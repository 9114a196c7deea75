import fc from 'fast-check'
import { expect, test } from 'vitest'
import { dayOfPartition, TendingRounds } from '../../../src/limits/history/tending-rounds.ts'
import { PARTITIONS } from '../../../src/redis/keys.ts'
import { redisOfFile } from '../../support/of-file.ts'

const redis = redisOfFile()
const DAY = 86_400_000
const NOW = Date.parse('2026-11-21T10:00:00Z')

test('each partition has one round a day, at a moment of its own', () => {
  const begins = Array.from({ length: PARTITIONS }, (_, partition) => {
    let at = NOW
    const today = dayOfPartition(partition, NOW)
    while (dayOfPartition(partition, at) === today) at += 60_000
    return at % DAY
  })
  expect(new Set(begins).size).toBe(PARTITIONS)
  expect(Math.max(...begins) - Math.min(...begins)).toBeGreaterThan(DAY * 0.9)
  fc.assert(
    fc.property(fc.nat(PARTITIONS - 1), fc.nat(10 * DAY), (partition, ms) => {
      const day = dayOfPartition(partition, NOW + ms)
      expect(dayOfPartition(partition, NOW + ms + DAY)).toBe(day + 1)
    }),
  )
})

test('a round that is not over is gone on with, also on a later day; one that is over comes again a day later', async () => {
  const rounds = new TendingRounds(redis.store, redis.freshKeys())
  const today = dayOfPartition(0, NOW)
  await rounds.write(0, 7, 123)
  expect(await rounds.read(0, NOW)).toEqual({ day: 7, after: 123 })
  await rounds.write(0, today, 'over')
  expect(await rounds.read(0, NOW)).toBeUndefined()
  expect(await rounds.read(0, NOW + DAY)).toEqual({ day: today + 1, after: 0 })
})

test('a clock that was once far ahead stops no round', async () => {
  const rounds = new TendingRounds(redis.store, redis.freshKeys())
  await rounds.write(0, 10 ** 6, 'over')
  expect(await rounds.read(0, NOW)).toEqual({ day: dayOfPartition(0, NOW), after: 0 })
})

test('what is kept is taken up again, and what is no round is begun anew', async () => {
  const keys = redis.freshKeys()
  const rounds = new TendingRounds(redis.store, keys)
  expect(await rounds.due(NOW)).toHaveLength(PARTITIONS)
  const begun = { day: dayOfPartition(5, NOW), after: 0 }
  expect(await rounds.read(5, NOW)).toEqual(begun)
  await rounds.write(5, begun.day, 69)
  expect(await rounds.read(5, NOW)).toEqual({ ...begun, after: 69 })
  await rounds.write(5, begun.day, 'over')
  expect(await rounds.read(5, NOW)).toBeUndefined()
  expect(await rounds.due(NOW)).not.toContain(5)
  await redis.store.hset(keys.partition(5).tended, 'day', 'x')
  expect(await rounds.read(5, NOW)).toEqual(begun)
})
