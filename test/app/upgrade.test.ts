import { expect, test } from 'vitest'
import { bringUpToDate } from '../../src/app/upgrade.ts'
import { DaemonStore } from '../../src/heartbeat/daemons.ts'
import { OLDEST_FORMAT } from '../../src/redis/format.ts'
import type { Keys } from '../../src/redis/keys.ts'
import type { Upgrade } from '../../src/redis/upgrades.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { eventually } from '../support/fleet.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

/** Data of the oldest format: a count that each upgrade raises, and the daemons that start on it. */
async function oldData() {
  const keys = redis.freshKeys()
  await redis.store.set(keys.format, OLDEST_FORMAT)
  const lines: string[] = []
  const log = createLogger({ level: 'info', pretty: false }, { write: (line) => lines.push(line) })
  const start = (upgrades: readonly Upgrade[]) =>
    bringUpToDate({ store: redis.store, keys, clock: systemClock, log }, upgrades)
  return { keys, lines, start, format: () => redis.store.get(keys.format) }
}

const countAt = (keys: Keys) => `${keys.prefix}:count`
const raise = (what: string): Upgrade => ({
  what,
  run: async (store, keys) => void (await store.rpush(countAt(keys), what)),
})

test('upgrades are done in their order, each once, however many daemons start at once', async () => {
  const { keys, start, format, lines } = await oldData()
  const upgrades = ['first', 'second', 'third'].map(raise)
  await Promise.all(Array.from({ length: 5 }, () => start(upgrades)))
  await start(upgrades)
  expect(await redis.store.lrange(countAt(keys), 0, -1)).toEqual(['first', 'second', 'third'])
  expect(await format()).toBe(String(OLDEST_FORMAT + 3))
  expect(lines.filter((line) => line.includes('"data.upgraded"'))).toHaveLength(3)
})

test('an upgrade that ends halfway is done again from its beginning', async () => {
  const { keys, start, format } = await oldData()
  const fails = { ...raise('again'), run: () => Promise.reject(new Error('no Redis')) }
  await expect(start([raise('first'), fails])).rejects.toThrow('no Redis')
  expect(await format()).toBe(String(OLDEST_FORMAT + 1))
  await start([raise('first'), raise('again')])
  expect(await redis.store.lrange(countAt(keys), 0, -1)).toEqual(['first', 'again'])
})

test('what a daemon that was killed had begun is left to another one when its lock ends', async () => {
  const { keys, start, format } = await oldData()
  await redis.store.set(keys.upgrading, 'a daemon that was killed', 'PX', 500)
  await start([raise('first')])
  expect(await format()).toBe(String(OLDEST_FORMAT + 1))
  expect(await redis.store.exists(keys.upgrading)).toBe(0)
})

test('the lock is no longer than what is done under it, and stays with who has it', async () => {
  const { keys, start } = await oldData()
  const taken: (string | null)[] = []
  const slow: Upgrade = {
    what: 'slow',
    run: async (store) => {
      taken.push(await store.get(keys.upgrading))
      await store.set(keys.upgrading, 'another')
    },
  }
  await start([slow])
  expect(taken).toEqual([expect.stringMatching(/^[\w-]{16}$/)])
  expect(await redis.store.get(keys.upgrading)).toBe('another')
})

test('daemons of the older version that still run are named and waited for; one that was silent for long is gone', async () => {
  const { keys, start, format, lines } = await oldData()
  const daemons = new DaemonStore(redis.store, keys)
  const now = Date.now()
  const older = { version: '0.1.0', startedAt: now, config: '', roles: [] }
  await daemons.report({ ...older, name: 'old pid 1', lastSeenAt: now })
  await daemons.report({ ...older, name: 'dead pid 2', lastSeenAt: now - 60_000 })
  const started = start([raise('first')])
  const line = await eventually('the line', async () => lines.find((one) => one.includes('"data.older-daemons"')))
  expect(JSON.parse(line)).toMatchObject({ daemons: ['old pid 1'] })
  expect(await format()).toBe(String(OLDEST_FORMAT))
  await daemons.leave('old pid 1')
  await started
  expect(await format()).toBe(String(OLDEST_FORMAT + 1))
})
