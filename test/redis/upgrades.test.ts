import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { bringUpToDate } from '../../src/app/upgrade.ts'
import { FORMAT, OLDEST_FORMAT } from '../../src/redis/format.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { formatAccess, readAccess } from '../../src/tokens/stored-access.ts'
import { redisOfFile } from '../support/of-file.ts'

const redis = redisOfFile()

const accessOf = (hubId: number) => Buffer.from([hubId % 256, 10, 0, 255])
const RECORD = { state: 'active', generation: '1795777777000003', obtainedAt: 10, expiresAt: 20 }

/** Accounts 1 to `count` as they were before access tokens had a key of their own. */
async function olderFleet(count: number): Promise<Keys> {
  const keys = redis.freshKeys()
  await redis.store.set(keys.format, OLDEST_FORMAT + 1)
  for (let from = 1; from <= count; from += 1_000) {
    const commands = redis.store.pipeline()
    for (let hubId = from; hubId < Math.min(from + 1_000, count + 1); hubId++) {
      const own = keys.account(hubId)
      commands.hset(own.account, { ...RECORD, hubDomain: `${hubId}.example.com` })
      commands.hset(own.tokens, { access: accessOf(hubId), refresh: `refresh-${hubId}`, scopes: 'oauth' })
      commands.zadd(keys.partition(keys.partitionOf(hubId)).state.active, hubId, hubId)
    }
    await commands.exec()
  }
  return keys
}

function upgrade(keys: Keys): Promise<void> {
  const log = createLogger({ level: 'error', pretty: false }, { write: () => {} })
  return bringUpToDate({ store: redis.store, keys, clock: systemClock, log })
}

const isMoved = async (keys: Keys, hubId: number) => (await redis.store.exists(keys.account(hubId).access)) === 1

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
  // Partition 0 goes first, so that some account of a later one tells how far it came.
  for (const partition of [1, 10, 30]) {
    const daemon = spawn(
      process.execPath,
      [new URL('upgrade-process.ts', import.meta.url).pathname, redis.url, keys.prefix],
      { stdio: 'inherit' },
    )
    const ended = once(daemon, 'exit')
    // As often as Redis answers: it takes no second.
    while (!(await isMoved(keys, partition)) && daemon.exitCode === null);
    daemon.kill('SIGKILL')
    await ended
    await redis.store.del(keys.upgrading) // It ends by itself, half a minute later.
  }
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
