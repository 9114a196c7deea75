import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { uninstall } from '../../jobs/uninstall.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { outboxOf } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { sampled } from '../support/runs.ts'
import { keepAll, type Spoil, spoilsOf } from '../support/spoiled-account.ts'
import { EVERY_MS, ONE, OTHER, SPOILED, spoiledFleet } from '../support/spoiled-fleet.ts'
import { HUB, worldOfFile } from '../support/world.ts'

const redis = redisOfFile()
const world = worldOfFile()
let keys: Keys
let fleet: Awaited<ReturnType<typeof spoiledFleet>>
let spoils: Spoil[]
let restore: () => Promise<void>

beforeAll(async () => {
  keys = redis.freshKeys()
  fleet = await spoiledFleet(redis, keys)
  spoils = await spoilsOf(redis.store, keys, SPOILED)
  restore = await keepAll(redis.store, keys)
})

afterAll(() => fleet?.close())

const DAY_MS = 86_400_000
const never = new AbortController().signal

test('what is stored of one account, spoiled in any way, holds up no other, and is gone once the account was worked on', async () => {
  const troubles: string[] = []
  for (const { name, do: spoil } of sampled(spoils, ({ name }) => name.split(':')[0])) {
    await restore()
    await spoil()
    fleet.clock.move(EVERY_MS)
    await fleet.store.zadd(keys.due.refresh, fleet.clock.now(), SPOILED)
    await fleet.store.zadd(keys.due.history, fleet.clock.now(), SPOILED)
    await fleet.round()
    for (const hubId of [ONE, OTHER]) {
      const { polledAt } = (await fleet.registry.get(hubId)) ?? {}
      if (polledAt !== fleet.clock.now()) troubles.push(`${name}: ${hubId} was not polled`)
    }
    for (let n = 0; n < 3; n++) {
      fleet.clock.move(EVERY_MS)
      await fleet.round()
    }
    const account = await fleet.registry.get(SPOILED)
    if (account === undefined) troubles.push(`${name}: it is gone`)
    const lostTokens = name.startsWith('tokens')
    if (!lostTokens && account?.polledAt !== fleet.clock.now())
      troubles.push(`${name}: not polled again (${account?.state})`)
    if (!lostTokens && account?.pollFailure) troubles.push(`${name}: ${account.pollFailure.reason}`)
  }
  expect(spoils.length).toBeGreaterThan(100)
  expect(troubles).toEqual([])
})

describe('readings that cannot be read', () => {
  test('are told by the poll alert, logged once, kept beside with their history, and closed by the next poll', async () => {
    await restore()
    const own = keys.account(SPOILED)
    const ofPolls = async () => (await outboxOf(redis.store, keys, SPOILED)).filter(({ kind }) => kind === 'poll')
    const logged = () => fleet.logged.lines().filter(({ code }) => code === 'account.unreadable').length
    const before = logged()
    await redis.store.set(own.poll, 'garbage')
    fleet.clock.move(EVERY_MS)
    await fleet.round()
    const message = expect.stringContaining('poll, history')
    expect((await ofPolls()).slice(-2)).toMatchObject([
      { kind: 'poll', cause: 'unreadable', status: 'firing', level: 'warning', message },
      { kind: 'poll', cause: 'unreadable', status: 'resolved' },
    ])
    expect(await redis.store.get(`${own.poll}:unreadable`)).toBe('garbage')
    expect(await redis.store.llen(`${own.history}:unreadable`)).toBeGreaterThan(0)
    expect(await redis.store.pttl(`${own.poll}:unreadable`)).toBeGreaterThan(29 * DAY_MS)
    expect(await fleet.registry.get(SPOILED)).toMatchObject({ pollFailure: null, polledAt: fleet.clock.now() })
    expect(logged() - before).toBe(1)
  })
})

describe('a record that cannot be read', () => {
  const spoiled = async (account: Parameters<Awaited<ReturnType<typeof world>>['account']>[0] = {}) => {
    const w = await world()
    await w.account(account)
    await w.store.hset(w.keys.own(HUB), 'expiresAt', 'x')
    return w
  }

  test('is that of an account that was just imported: its version is an intent that nobody else has', async () => {
    const w = await spoiled()
    // A Redis with a faster clock gave the last ones.
    const last = Math.floor(w.clock.now() / 1_000) + 1_000_000
    await w.store.set(w.keys.grants.intents, last)
    await w.services.repair(HUB)
    const record = await w.store.hgetall(w.keys.own(HUB))
    expect(record).toMatchObject({ state: 'active', metadataDue: '1', expiresAt: '0', version: `${(last + 1) * 1e6}` })
    expect(await w.store.takeIntent(w.keys.own(0))).toBe(`${(last + 2) * 1e6}`)
  })

  test('of an account that is being uninstalled begins its uninstall anew', async () => {
    const w = await spoiled()
    await beginUninstall(w.services, HUB, { by: 'cli', reason: 'asked' })
    await w.services.repair(HUB)
    expect(await w.store.hgetall(w.keys.own(HUB))).toMatchObject({ state: 'uninstalling', uninstallBy: 'evidence' })
    expect(await w.store.zscore(w.keys.due.uninstall, HUB)).not.toBeNull()
  })

  test('of an uninstalled account begins the time anew after which it is forgotten', async () => {
    const w = await world({ provider: { deleteRefreshToken: async () => ({ ok: true, value: 'deleted' }) } })
    await w.account()
    await beginUninstall(w.services, HUB, { by: 'cli', reason: 'asked' })
    await uninstall(w.services, never)
    await w.store.hset(w.keys.own(HUB), 'purgeAt', 'x')
    for (let n = 0; n < 2; n++) {
      await w.store.zadd(w.keys.due.uninstall, w.clock.now(), HUB)
      await uninstall(w.services, never)
    }
    const { state, purgeAt } = await w.store.hgetall(w.keys.own(HUB))
    expect(state).toBe('uninstalled')
    expect(Number(purgeAt)).toBeGreaterThan(w.clock.now())
  })

  test('that lost its version takes an intent for what follows', async () => {
    const w = await world()
    await w.account()
    const last = Math.floor(w.clock.now() / 1_000) + 1_000_000
    await w.store.set(w.keys.grants.intents, last)
    await w.store.hset(w.keys.own(HUB), 'version', 'x')
    const refused = await w.store.refuseForeignToken(w.keys.own(HUB), HUB, 'x', 7, '{}', stepJson(NO_ALERT_WRITES))
    expect(refused).toBe('refused')
    expect(await w.store.hget(w.keys.own(HUB), 'version')).toBe(`${(last + 1) * 1e6}`)
  })
})
