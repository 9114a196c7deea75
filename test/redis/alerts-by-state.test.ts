import { expect, test } from 'vitest'
import { keepAlertsByState } from '../../src/redis/alerts-by-state.ts'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { redisOfFile } from '../support/of-file.ts'
import { readAll, readVersion, writeAll } from '../versions/stored-data.ts'

const redis = redisOfFile()
const keys = createKeys('plimsoll')
/** Of the server's clock, which goes on. */
const AT = 1_795_500_000

/** The data of 0.1.0: alerts that are open, acknowledged, silenced, grouped, and on their way to a receiver that is away. */
async function older(): Promise<void> {
  await redis.store.flushall()
  await writeAll(redis.store, readVersion('0.1.0').keys)
}

/** Counts the commands of its user, who dies at one of them. */
function dyingAfter(commands: number, done: { count: number }): Store {
  return new Proxy(redis.store, {
    get: (real, name) => {
      const value = Reflect.get(real, name)
      if (typeof value !== 'function') return value
      return async (...args: unknown[]) => {
        if (done.count++ >= commands) throw new Error('dead')
        return name === 'time' ? [String(AT), '0'] : value.apply(real, args)
      }
    },
  })
}

async function kept() {
  const all = await readAll(redis.store)
  // Without what expires meanwhile.
  return all
    .filter(({ ttlMs }) => ttlMs === undefined)
    .map(({ key, type, value }) => ({ key, type, value }))
    .sort((a, b) => (a.key < b.key ? -1 : 1))
}

test('alerts that are on their way are taken over, wherever whoever does it dies', async () => {
  await older()
  const all = { count: 0 }
  await keepAlertsByState(dyingAfter(Number.POSITIVE_INFINITY, all), keys)
  const expected = await kept()
  const names = expected.map(({ key }) => key.replace(/^.*}:/, '')).filter((name) => !/^\d/.test(name))
  expect(
    names.filter((name) =>
      /^(group:|groups|held|told|last-sent|ledger|pending|ends|counts|collected|outbox)/.test(name),
    ),
  ).toEqual([])
  // The rest of the groups ends by itself.
  const left = (await readAll(redis.store)).filter(({ key }) => key.includes(':group-'))
  expect(left.filter(({ ttlMs }) => ttlMs === undefined)).toEqual([])
  expect(names.filter((name) => name.startsWith('known:'))).toEqual(['known:down', 'known:up'])
  const waiting = await redis.store.hvals(keys.delivery.known('up'))
  expect(waiting.map((text) => JSON.parse(text)).filter(({ waits }) => waits?.is === 'held')).toHaveLength(1)
  expect(waiting.map((text) => JSON.parse(text)).filter(({ told }) => told?.number === 1)).not.toEqual([])
  for (let commands = 0; commands < all.count; commands += 7) {
    await older()
    await expect(keepAlertsByState(dyingAfter(commands, { count: 0 }), keys)).rejects.toThrow('dead')
    await keepAlertsByState(dyingAfter(Number.POSITIVE_INFINITY, { count: 0 }), keys)
    expect(await kept(), `after ${commands} commands`).toEqual(expected)
  }
})
