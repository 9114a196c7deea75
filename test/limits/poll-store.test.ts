import { describe, expect, test } from 'vitest'
import { loadPollState, NEW_POLL_STATE } from '../../src/limits/poll-state-text.ts'
import { UnreadableData } from '../../src/redis/account-record.ts'
import { ACCOUNT_STATES, type AccountState } from '../../src/redis/keys.ts'
import { outboxOf, putAccess, SEEDED_VERSION, vault } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import {
  alsoWrites,
  BESIDE,
  FAR,
  FIRST,
  HUB,
  LATER,
  loadedOf,
  NOW,
  NUMBERS,
  OTHER,
  polledAccounts,
  RESTS,
  result,
  writes,
} from './polled-accounts.ts'
import { polledState } from './reports.ts'

const redis = redisOfFile()
const accounts = (...hubIds: number[]) => polledAccounts(redis, hubIds)
const account = () => polledAccounts(redis)

describe('a poll', () => {
  test('of an account that was never polled starts from its record, its token and its alerts', async () => {
    const { polls, store, own } = await account()
    await store.hset(own.alerts, 'overall', '["warning"]')
    await store.set(own.forecast, '["told"]')
    await store.set(own.paused, NOW + 5)
    const loaded = loadedOf(await polls.loadOne(HUB))
    expect(loaded).toMatchObject({
      hubId: HUB,
      hubDomain: 'acme.example.com',
      state: NEW_POLL_STATE,
      forecasts: '["told"]',
      pausedUntil: NOW + 5,
      access: { version: SEEDED_VERSION, times: { obtainedAt: NOW, expiresAt: NOW + 1_800_000 } },
      record: { state: 'active', version: SEEDED_VERSION, metadataDue: false },
      alertStates: { overall: '["warning"]' },
    })
    expect(loaded.state.readings.all).toBeUndefined()
    const sealed = loaded.access?.sealed ?? Buffer.alloc(0)
    expect(vault.open(sealed, HUB, 'access').reveal()).toBe(`access-${HUB}`)
  })

  test('of one that was polled just before needs neither: what polls know says whether it has alerts', async () => {
    const { polls, poll, store, own } = await account()
    await poll(NOW, () => ({ state: { ...RESTS, readings: FIRST } }))
    // The account has no alert that polls judge, and its token's is none of theirs.
    await store.hset(own.alerts, 'token', 'firing')
    const quiet = loadedOf(await polls.loadOne(HUB))
    expect(quiet).toMatchObject({ hubDomain: 'acme.example.com', state: { polledAt: NOW, ...RESTS }, forecasts: '' })
    expect(quiet).toMatchObject({ record: undefined, alertStates: {}, pausedUntil: 0 })
    expect(quiet.state.readings.text).toEqual(FIRST.text)
    await poll(LATER, alsoWrites({ alerts: writes('', 'new') }))
    const loud = loadedOf(await polls.loadOne(HUB))
    expect(loud).toMatchObject({ record: undefined, alertStates: { overall: 'new', token: 'firing' } })
  })

  test.each(ACCOUNT_STATES)('of an account that is %s is made only while it can be', async (state: AccountState) => {
    const { polls, store, own } = await account()
    await store.hset(own.account, 'state', state)
    const isPolled = ['active', 'failing', 'parked'].includes(state)
    expect((await polls.loadOne(HUB)) !== undefined).toBe(isPolled)
    expect(await polls.loadOne(999)).toBeUndefined()
  })

  test('of one without a token that can be read knows its state still, and that it was polled', async () => {
    const { polls, poll, store, keys, own } = await account()
    await poll(NOW)
    await putAccess(store, keys, 'sealed')
    expect(loadedOf(await polls.loadOne(HUB)).record).toBeUndefined()
    for (const spoil of [() => store.set(own.access, 'x'), () => store.del(own.access)]) {
      await spoil()
      const record = { state: 'active', version: SEEDED_VERSION, metadataDue: false }
      expect(loadedOf(await polls.loadOne(HUB))).toMatchObject({ record, access: undefined, state: { polledAt: NOW } })
    }
    await store.rpush(own.access, 'of another type')
    expect(loadedOf(await polls.loadOne(HUB)).access).toBeUndefined()
  })
})

describe('polls of many accounts', () => {
  test('begin with one command for all that are at rest, each with its own', async () => {
    const all = [FAR, HUB, OTHER, BESIDE]
    const { polls, poll, store } = await accounts(...all)
    for (const [n, hubId] of all.entries()) await poll(NOW + n, () => ({ state: { readings: FIRST } }), hubId)
    const before = await commandsRun(store)
    const loaded = (await polls.load(all)).map(loadedOf)
    expect((await commandsRun(store)) - before).toBe(1)
    expect(loaded.map(({ hubId, state }) => [hubId, state.polledAt])).toEqual(all.map((hubId, n) => [hubId, NOW + n]))
    const tokens = loaded.map(({ hubId, access }) =>
      vault.open(access?.sealed ?? Buffer.alloc(0), hubId, 'access').reveal(),
    )
    expect(tokens).toEqual(all.map((hubId) => `access-${hubId}`))
    expect(loaded.every(({ state }) => state.readings.text === FIRST.text)).toBe(true)
  })

  test('are committed together, each by its own claim', async () => {
    const all = [HUB, OTHER, BESIDE, FAR, OTHER + 64, 999]
    const { polls, store, claim, dueAt, keys } = await accounts(...all.slice(0, -1))
    const until = await claim(all.slice(0, -1))
    const found = all.map((hubId, n) => ({
      ...result(until, { alerts: writes('', `new ${n}`, `${hubId}`), nearness: n }, hubId),
      nextAt: NOW + 900_000 + n,
      state: polledState(NOW + n, NUMBERS),
      freshAt: NOW + 10 * n,
    }))
    // Somebody else has this one by now.
    await store.zadd(keys.due.poll, until + 5, FAR)
    const before = await commandsRun(store)
    expect(await polls.commit(found)).toEqual(['committed', 'committed', 'committed', 'lost', 'committed', 'gone'])
    expect((await commandsRun(store)) - before).toBe(1)
    for (const [n, hubId] of all.entries()) {
      const isCommitted = n !== 3 && n !== 5
      const { fresh, nearest, alerting } = keys
      expect(await loadPollState(store, keys, hubId)).toEqual(isCommitted ? polledState(NOW + n, NUMBERS) : undefined)
      expect(await store.hgetall(keys.account(hubId).alerts)).toEqual(isCommitted ? { overall: `new ${n}` } : {})
      expect(await store.llen(keys.account(hubId).history)).toBe(isCommitted ? 1 : 0)
      expect(await store.zscore(nearest, hubId)).toBe(isCommitted ? String(n) : null)
      expect(await store.sismember(alerting, hubId)).toBe(isCommitted ? 1 : 0)
      if (isCommitted) expect(await dueAt(hubId)).toBe(NOW + 900_000 + n)
      if (isCommitted) expect(await store.zscore(fresh, hubId)).toBe(String(NOW + 10 * n))
    }
    expect(await dueAt(FAR)).toBe(until + 5)
    expect(await outboxOf(store, keys, HUB)).toEqual([{ id: `${HUB}` }])
    expect(await outboxOf(store, keys, OTHER)).toEqual([{ id: `${OTHER}` }])
  })

  test('what can not be read, or written, of one is its own trouble', async () => {
    const all = [HUB, BESIDE, OTHER]
    const { polls, store, keys, own, claim, dueAt } = await accounts(...all)
    await store.hset(own.history, 'no', 'list')
    const until = await claim(all)
    const [failed, ...others] = await polls.commit(all.map((hubId) => result(until, {}, hubId)))
    expect(failed).toMatchObject({ message: expect.stringMatching(/^WRONGTYPE/) })
    expect(others).toEqual(['committed', 'committed'])
    // It is due again when its claim ends.
    expect(await dueAt()).toBe(until)
    expect(await loadPollState(store, keys, HUB)).toBeUndefined()

    await store.set(own.poll, 'x')
    const [spoiled, ...fine] = await polls.load(all)
    expect(spoiled).toBeInstanceOf(UnreadableData)
    expect((spoiled as Error).message).toContain(`account ${HUB}: what its polls know can't be read`)
    expect(fine.map((one) => loadedOf(one).state.polledAt)).toEqual([NOW + 1_000, NOW + 1_000])
    await expect(polls.loadOne(HUB)).rejects.toThrow(UnreadableData)
  })

  test('a state of another type than it should be is no account that is new', async () => {
    const { polls, store, own } = await accounts(HUB, OTHER)
    await store.del(own.poll)
    await store.hset(own.poll, 'a', 'b')
    const [spoiled, fine] = await polls.load([HUB, OTHER])
    expect(spoiled).toMatchObject({ message: expect.stringMatching(/^WRONGTYPE/) })
    expect(loadedOf(fine).hubId).toBe(OTHER)
  })
})

/** How many commands Redis has run of those that begin and commit polls. */
async function commandsRun(store: typeof redis.store): Promise<number> {
  const stats = await store.info('commandstats')
  const counted = [...stats.matchAll(/cmdstat_(mget|evalsha|eval|hgetall|hmget|strlen|get):calls=(\d+)/g)]
  return counted.reduce((sum, [, , calls]) => sum + Number(calls), 0)
}
