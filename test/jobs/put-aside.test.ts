import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pollLimits } from '../../jobs/poll-limits.ts'
import { uninstall } from '../../jobs/uninstall.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { associations as pairNumbers, properties } from '../limits/reports.ts'
import { outboxOf } from '../support/accounts.ts'
import { fails, reads } from '../support/fake-provider.ts'
import { redisOfFile } from '../support/of-file.ts'
import { sampled } from '../support/runs.ts'
import { keepAll, type Spoil, spoilsOf } from '../support/spoiled-account.ts'
import { EVERY_MS, ONE, OTHER, SPOILED, spoiledFleet } from '../support/spoiled-fleet.ts'
import { HUB, worldOfFile } from '../support/world.ts'
import { HOUR, PAIR, pollsOfFile } from './polled.ts'

const redis = redisOfFile()
const world = worldOfFile()
const polled = pollsOfFile()
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

describe('an open alert whose readings were put aside', () => {
  const PAIRS = [PAIR, { from: '0-2', to: '0-1' }]
  const TYPES: Record<string, [number, number]> = { '0-1': [1, 100], '0-2': [1, 100] }
  const open = async (associations: object | 'auto', pairsPerPoll = 20) => {
    const one = await polled({
      rules: [{ on: 'associations.fullest', warning: { percent: 90 } }],
      settings: { limits: { associations, pairsPerPoll } },
      provider: {
        associations: reads(pairNumbers(100, [97])),
        customProperties: reads(properties(1, 100, TYPES)),
        associationSources: fails('client', { status: 404 }),
      },
    })
    for (let n = 0; n < 2; n++) {
      await one.poll()
      one.clock.move(HOUR)
    }
    await one.store.del(one.keys.account(HUB).poll)
    one.says.associations = fails('transient')
    one.clock.move(HOUR)
    return one
  }
  const reasons = async ({ outbox }: Awaited<ReturnType<typeof open>>) => (await outbox()).map(({ reason }) => reason)

  test('stays open while its report fails, and closes once it is read as well', async () => {
    const one = await open(PAIRS)
    await one.poll()
    expect(await reasons(one)).toEqual(['entered', 'entered'])
    one.says.associations = reads(pairNumbers(100, [1]))
    one.clock.move(HOUR)
    await one.poll()
    expect(await reasons(one)).toEqual(['entered', 'entered', 'recovered', 'recovered'])
  })

  test('stays open until it is the turn of its pair', async () => {
    const one = await open('auto', 1)
    expect(await reasons(one)).toEqual(['entered', 'entered'])
    one.says.associations = reads(pairNumbers(100, [1]))
    for (const closed of [['recovered'], ['recovered', 'recovered']]) {
      one.clock.move(HOUR)
      await one.poll()
      expect(await reasons(one)).toEqual(['entered', 'entered', ...closed])
    }
  })

  test('closes where its pair is not asked for any more', async () => {
    const one = await open(PAIRS)
    const polling = { ...one.services.polling, associations: [PAIR] }
    await one.store.zadd(one.keys.due.poll, one.clock.now(), HUB)
    await pollLimits({ ...one.services, polling }, never)
    expect(await reasons(one)).toEqual(['entered', 'entered', 'recovered'])
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
    await w.store.hset(w.keys.fleet, 'intent', last)
    await w.services.putAside(HUB)
    const record = await w.store.hgetall(w.keys.own(HUB))
    expect(record).toMatchObject({ state: 'active', metadataDue: '1', expiresAt: '0', version: `${(last + 1) * 1e6}` })
    expect(await w.store.takeIntent(w.keys.own(0))).toBe(`${(last + 2) * 1e6}`)
  })

  test('of an account that is being uninstalled begins its uninstall anew', async () => {
    const w = await spoiled()
    await beginUninstall(w.services, HUB, { by: 'cli', reason: 'asked' })
    await w.services.putAside(HUB)
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
    await w.store.hset(w.keys.fleet, 'intent', last)
    await w.store.hset(w.keys.own(HUB), 'version', 'x')
    const answer = [HUB, w.clock.now(), 'x', 7, '', '{}', 0, 0, stepJson(NO_ALERT_WRITES)]
    expect(await w.store.storeIdentity(w.keys.own(HUB), ...answer)).toBe('foreign')
    expect(await w.store.hget(w.keys.own(HUB), 'version')).toBe(`${(last + 1) * 1e6}`)
  })
})
