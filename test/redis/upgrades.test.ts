import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { bringUpToDate } from '../../src/app/upgrade.ts'
import type { StoredWatch } from '../../src/limits/watch/packed-watch.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { NEW_WATCH } from '../../src/limits/watch/watch.ts'
import { FORMAT, OLDEST_FORMAT } from '../../src/redis/format.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { formatAccess, readAccess } from '../../src/tokens/stored-access.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()
type AddMore = (commands: ReturnType<typeof redis.store.pipeline>, keys: Keys, hubId: number) => void

const accessOf = (hubId: number) => Buffer.from([hubId % 256, 10, 0, 255])
const RECORD = { state: 'active', generation: '1795777777000003', obtainedAt: 10, expiresAt: 20 }

/** Accounts 1 to `count` as they were before access tokens had a key of their own; `add`: more of each. */
async function olderFleet(count: number, add: AddMore = () => {}): Promise<Keys> {
  const keys = redis.freshKeys()
  await redis.store.set(keys.format, OLDEST_FORMAT + 1)
  for (let from = 1; from <= count; from += 1_000) {
    const commands = redis.store.pipeline()
    for (let hubId = from; hubId < Math.min(from + 1_000, count + 1); hubId++) {
      const own = keys.account(hubId)
      commands.hset(own.account, { ...RECORD, hubDomain: `${hubId}.example.com` })
      commands.hset(own.tokens, { access: accessOf(hubId), refresh: `refresh-${hubId}`, scopes: 'oauth' })
      commands.zadd(keys.partition(keys.partitionOf(hubId)).state.active, hubId, hubId)
      add(commands, keys, hubId)
    }
    await commands.exec()
  }
  return keys
}

function upgrade(keys: Keys): Promise<void> {
  const log = createLogger({ level: 'error', pretty: false }, { write: () => {} })
  return bringUpToDate({ store: redis.store, keys, clock: systemClock, log })
}

const isMoved = async (keys: Keys, hubId: number, to: 'access' | 'watch' = 'access') =>
  (await redis.store.exists(keys.account(hubId)[to])) === 1

/** Daemons begin to bring data up to date, and are killed once an account of a later partition has what they move. */
async function beginAndDie(keys: Keys, to: 'access' | 'watch'): Promise<void> {
  // Partition 0 goes first, so that some account of a later one tells how far it came.
  for (const partition of [1, 10, 30]) {
    const daemon = spawn(
      process.execPath,
      [new URL('upgrade-process.ts', import.meta.url).pathname, redis.url, keys.prefix],
      { stdio: 'inherit' },
    )
    const ended = once(daemon, 'exit')
    // As often as Redis answers: it takes no second.
    while (!(await isMoved(keys, partition, to)) && daemon.exitCode === null);
    daemon.kill('SIGKILL')
    await ended
    await redis.store.del(keys.upgrading) // It ends by itself, half a minute later.
  }
}

async function expectMoved(keys: Keys, hubId: number): Promise<void> {
  const own = keys.account(hubId)
  expect(await readAccess(redis.store, keys, hubId)).toEqual({
    ...{ generation: RECORD.generation, times: { obtainedAt: 10, expiresAt: 20 } },
    ...{ hubDomain: `${hubId}.example.com`, sealed: accessOf(hubId) },
  })
  expect(await redis.store.hgetall(own.tokens)).toEqual({ refresh: `refresh-${hubId}`, scopes: 'oauth' })
}

test('access tokens get a key of their own, though daemons at it are killed with -9', async () => {
  const count = 20_000
  const keys = await olderFleet(count)
  await beginAndDie(keys, 'access')
  expect(await redis.store.get(keys.format)).toBe(String(OLDEST_FORMAT + 1))
  await upgrade(keys)
  expect(await redis.store.get(keys.format)).toBe(String(FORMAT))
  for (let hubId = 1; hubId <= count; hubId += 61) await expectMoved(keys, hubId)
})

test('the rest goes on where an account has none, or what is stored of it is something else', async () => {
  const keys = await olderFleet(5)
  const [none, spoiled, noRecord, done] = [1, 2, 3, 4].map((hubId) => keys.account(hubId))
  await redis.store.hdel(none?.tokens ?? '', 'access')
  for (const key of [spoiled?.tokens ?? '', noRecord?.account ?? '']) {
    await redis.store.del(key)
    await redis.store.rpush(key, 'a')
  }
  const text = { generation: '9', times: { obtainedAt: 1, expiresAt: 2 }, hubDomain: '', sealed: accessOf(9) }
  await redis.store.set(done?.access ?? '', formatAccess(text))
  await redis.store.hdel(done?.tokens ?? '', 'access')
  await upgrade(keys)
  await expectMoved(keys, 5)
  expect(await readAccess(redis.store, keys, 1)).toBeUndefined()
  expect(await redis.store.lrange(spoiled?.tokens ?? '', 0, -1)).toEqual(['a'])
  expect(await redis.store.hexists(noRecord?.tokens ?? '', 'access')).toBe(1)
  expect(await readAccess(redis.store, keys, 4)).toEqual(text)
})

/** With a line's end among its bytes. */
const readingsOf = (hubId: number) => Buffer.from([1, hubId % 256, 10, 0, 255])
const KEPT_MS = 1_000_000_000
const POLLED = {
  ...{ polls: '3', polledAt: '8', changedAt: '7', typesLeftOut: '13', disagreed: '1', pairsSeen: '1', seen: 'a b c -' },
  ...{ pollFailures: '9', pollFailureReason: 'the answer was "no"', pollFailureAt: '10', pollFailingSince: '6' },
  ...{ pollBlocked: 'all', pollBlockedSince: '5', pollBlockedScopes: 'contacts tickets', companionsAwayUntil: '12' },
  ...{ pollBecause: '[7,0.5,{"is":"changed","at":7}]', notAvailable: 'pipelines:1763719200000' },
  ...{ bucket: '3 12/110/10000/8', gaps: '{"0-1/0-2":["limit is missing"]}' },
}

/** As polls left an account before what they know of it was one value. */
const addPolled: AddMore = (commands, keys, hubId) => {
  const own = keys.account(hubId)
  commands.hset(own.account, POLLED)
  commands.set(olderKey(keys, hubId, 'readings'), readingsOf(hubId))
  commands.rpush(olderKey(keys, hubId, 'calls'), '8')
  // Its moment is behind the version.
  commands.set(own.samples, Buffer.from([2, 0, 0, 0, 0, 1, 44, 9]), 'PX', KEPT_MS)
}

function olderKey(keys: Keys, hubId: number, name: 'readings' | 'calls'): string {
  return keys.own(hubId).replace(/account:(\d+)$/, `${name}:$1`)
}

const WATCH: StoredWatch['watch'] = {
  ...{ ...NEW_WATCH, polledAt: 8, changedAt: 7, typesLeftOut: 13, disagreed: true, allPairsRead: true },
  seen: undefined,
  failing: { count: 9, reason: 'the answer was "no"', at: 10, since: 6 },
  blocked: { what: 'all', since: 5, scopes: ['contacts', 'tickets'] },
  companionsAwayUntil: 12,
  turn: { regularAt: 7, urgency: 0.5, because: { is: 'changed', at: 7 } },
  notAvailable: { pipelines: 1_763_719_200_000 },
  bucket: { refused: 3, lastSeen: { used: 12, of: 110, intervalMs: 10_000, at: 8 } },
  gaps: { '0-1/0-2': ['limit is missing'] },
  hasAlerts: true,
  records: { readAt: 300, until: expect.any(Number) as number },
}

async function expectWatchMoved(keys: Keys, hubId: number, since: number): Promise<void> {
  const kept = await readWatch(redis.store, keys, hubId)
  expect(kept).toEqual({ watch: WATCH, readings: readingsOf(hubId), isInterrupted: false })
  const { until = 0 } = (kept as StoredWatch).watch.records ?? {}
  expect(until - since - KEPT_MS).toBeGreaterThanOrEqual(-1_000)
  expect(until - Date.now() - KEPT_MS).toBeLessThanOrEqual(1_000)
  const { hubDomain, ...record } = await redis.store.hgetall(keys.own(hubId))
  expect(record).toEqual({ ...RECORD, obtainedAt: '10', expiresAt: '20' })
  const older = [olderKey(keys, hubId, 'readings'), olderKey(keys, hubId, 'calls')]
  expect(await redis.store.exists(...older)).toBe(0)
}

test('what polls know of an account becomes one value, though daemons at it are killed with -9', async () => {
  const count = 20_000
  const since = Date.now()
  const keys = await olderFleet(count, addPolled)
  await beginAndDie(keys, 'watch')
  expect(await redis.store.get(keys.format)).not.toBe(String(FORMAT))
  await upgrade(keys)
  expect(await redis.store.get(keys.format)).toBe(String(FORMAT))
  for (let hubId = 1; hubId <= count; hubId += 61) await expectWatchMoved(keys, hubId, since)
})

test('the rest goes on where an account was never polled, or what polls left of it is something else', async () => {
  const since = Date.now()
  const keys = await olderFleet(6, (commands, all, hubId) => hubId > 1 && addPolled(commands, all, hubId))
  const own = (hubId: number) => keys.account(hubId)
  await redis.store.del(olderKey(keys, 2, 'readings'), own(3).samples, own(4).account)
  for (const key of [olderKey(keys, 2, 'readings'), own(3).samples, own(4).account]) await redis.store.rpush(key, 'a')
  await redis.store.hset(own(5).account, { pollBecause: '["x"]', seen: 'a b', bucket: '0 1/2/3/99999999999999999' })
  await upgrade(keys)
  await expectWatchMoved(keys, 6, since)
  expect(await redis.store.exists(own(1).watch)).toBe(0)
  expect(await readWatch(redis.store, keys, 2)).toMatchObject({ watch: { polledAt: 8 }, readings: undefined })
  expect(await redis.store.lrange(`${olderKey(keys, 2, 'readings')}:unreadable`, 0, -1)).toEqual(['a'])
  expect(await readWatch(redis.store, keys, 3)).toMatchObject({ watch: { polledAt: 8, records: undefined } })
  expect(await redis.store.exists(olderKey(keys, 4, 'readings'))).toBe(0)
  expect(await readWatch(redis.store, keys, 4)).toMatchObject({ readings: expect.anything() })
  expect(await readWatch(redis.store, keys, 5)).toMatchObject({
    watch: { polledAt: 8, turn: undefined, seen: undefined, bucket: undefined },
  })
})
