import { describe, expect, test } from 'vitest'
import { UnreadableKey } from '../../src/limits/history/packed-bytes.ts'
import { encodeWatch } from '../../src/limits/watch/packed-watch.ts'
import { readWatch } from '../../src/limits/watch/read-watch.ts'
import { NEW_WATCH } from '../../src/limits/watch/watch.ts'
import { UnreadableRecord } from '../../src/redis/account-record.ts'
import { ACCOUNT_STATES, type AccountState } from '../../src/redis/keys.ts'
import { outboxOf, putAccess, SEEDED_VERSION, vault } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import {
  alsoWrites,
  BESIDE,
  begunOf,
  FAR,
  FIRST,
  HUB,
  LATER,
  NOW,
  NUMBERS,
  OTHER,
  polledAccounts,
  result,
  SEEN,
  writes,
} from './polled-accounts.ts'

const redis = redisOfFile()
const accounts = (...hubIds: number[]) => polledAccounts(redis, hubIds)
const account = () => polledAccounts(redis)

describe('a poll', () => {
  test('of an account that was never polled starts from its record, its token and its alerts', async () => {
    const { polls, store, own } = await account()
    await store.hset(own.alerts, 'overall', '["warning"]')
    await store.set(own.forecast, '["told"]')
    await store.set(own.paused, NOW + 5)
    const begun = begunOf(await polls.read(HUB))
    expect(begun).toMatchObject({
      hubId: HUB,
      hubDomain: 'acme.example.com',
      watch: NEW_WATCH,
      forecasts: '["told"]',
      pausedUntil: NOW + 5,
      access: { version: SEEDED_VERSION, times: { obtainedAt: NOW, expiresAt: NOW + 1_800_000 } },
      record: { state: 'active', version: SEEDED_VERSION, metadataDue: false },
      alertStates: { overall: '["warning"]' },
    })
    expect(begun.readings.unpacked()).toBeUndefined()
    const sealed = begun.access?.sealed ?? Buffer.alloc(0)
    expect(vault.open(sealed, HUB, 'access').reveal()).toBe(`access-${HUB}`)
  })

  test('of one that was polled just before needs neither: what polls know says whether it has alerts', async () => {
    const { polls, poll, store, own } = await account()
    await poll(NOW, () => ({ watch: { seen: SEEN }, readings: FIRST.readings }))
    // The account has no alert that polls judge, and its token's is none of theirs.
    await store.hset(own.alerts, 'token', 'firing')
    const quiet = begunOf(await polls.read(HUB))
    expect(quiet).toMatchObject({ hubDomain: 'acme.example.com', watch: { polledAt: NOW, seen: SEEN }, forecasts: '' })
    expect(quiet).toMatchObject({ record: undefined, alertStates: {}, pausedUntil: 0 })
    expect(quiet.readings.unpacked()).toEqual(NUMBERS)
    await poll(LATER, alsoWrites({ alerts: writes('', 'new') }))
    const loud = begunOf(await polls.read(HUB))
    expect(loud).toMatchObject({ record: undefined, alertStates: { overall: 'new', token: 'firing' } })
  })

  test.each(ACCOUNT_STATES)('of an account that is %s is made only while it can be', async (state: AccountState) => {
    const { polls, store, own } = await account()
    await store.hset(own.account, 'state', state)
    const isPolled = ['active', 'failing', 'parked'].includes(state)
    expect((await polls.read(HUB)) !== undefined).toBe(isPolled)
    expect(await polls.read(999)).toBeUndefined()
  })

  test('of one without a token that can be read knows its state still, and that it was polled', async () => {
    const { polls, poll, store, keys, own } = await account()
    await poll(NOW)
    await putAccess(store, keys, 'sealed')
    expect(begunOf(await polls.read(HUB)).record).toBeUndefined()
    for (const spoil of [() => store.set(own.access, 'x'), () => store.del(own.access)]) {
      await spoil()
      const record = { state: 'active', version: SEEDED_VERSION, metadataDue: false }
      expect(begunOf(await polls.read(HUB))).toMatchObject({ record, access: undefined, watch: { polledAt: NOW } })
    }
    await store.rpush(own.access, 'of another type')
    expect(begunOf(await polls.read(HUB)).access).toBeUndefined()
  })
})

describe('polls of many accounts', () => {
  test('begin with one command for all that are at rest, each with its own', async () => {
    const all = [FAR, HUB, OTHER, BESIDE]
    const { polls, poll, store } = await accounts(...all)
    for (const [n, hubId] of all.entries()) await poll(NOW + n, () => ({ readings: FIRST.readings }), hubId)
    const before = await commandsRun(store)
    const begun = (await polls.begin(all)).map(begunOf)
    expect((await commandsRun(store)) - before).toBe(1)
    expect(begun.map(({ hubId, watch }) => [hubId, watch.polledAt])).toEqual(all.map((hubId, n) => [hubId, NOW + n]))
    const tokens = begun.map(({ hubId, access }) =>
      vault.open(access?.sealed ?? Buffer.alloc(0), hubId, 'access').reveal(),
    )
    expect(tokens).toEqual(all.map((hubId) => `access-${hubId}`))
    expect(begun.every(({ readings: kept }) => kept.packed?.equals(FIRST.readings))).toBe(true)
  })

  test('begin without those that are not there, and none is none', async () => {
    const { polls } = await accounts(HUB, OTHER)
    const begun = await polls.begin([999, HUB, 1_000, OTHER])
    expect(begun.map((one) => (one instanceof Error || one === 'gone' ? one : one.hubId))).toEqual([
      'gone',
      HUB,
      'gone',
      OTHER,
    ])
    expect(await polls.begin([])).toEqual([])
    expect(await polls.commit([])).toEqual([])
  })

  test('are committed together, each by its own claim', async () => {
    const all = [HUB, OTHER, BESIDE, FAR, OTHER + 64, 999]
    const { polls, store, claim, dueAt, keys } = await accounts(...all.slice(0, -1))
    const until = await claim(all.slice(0, -1))
    const found = all.map((hubId, n) => ({
      ...result(until, { alerts: writes('', `new ${n}`, `${hubId}`), nearness: n }, hubId),
      nextAt: NOW + 900_000 + n,
      watch: { ...NEW_WATCH, polledAt: NOW + n },
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
      expect(await readWatch(store, keys, hubId)).toEqual(
        isCommitted
          ? { watch: { ...NEW_WATCH, polledAt: NOW + n }, readings: FIRST.readings, isInterrupted: false }
          : undefined,
      )
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
    expect(await readWatch(store, keys, HUB)).toBeUndefined()

    await store.set(own.watch, 'x')
    const [spoiled, ...fine] = await polls.begin(all)
    expect(spoiled).toBeInstanceOf(UnreadableRecord)
    expect((spoiled as Error).message).toContain(`account ${HUB}: its watch can't be read`)
    expect(fine.map((one) => begunOf(one).watch.polledAt)).toEqual([NOW + 1_000, NOW + 1_000])
    await expect(polls.read(HUB)).rejects.toThrow(UnreadableRecord)
  })

  test.each(['watch', 'alerts', 'account'] as const)(
    '%s of another type than it should be is no account that is new',
    async (name) => {
      const { polls, store, own } = await accounts(HUB, OTHER)
      await store.del(own[name])
      await (name === 'watch' ? store.hset(own.watch, 'a', 'b') : store.set(own[name], 'x'))
      const [spoiled, fine] = await polls.begin([HUB, OTHER])
      expect(spoiled).toMatchObject({ message: expect.stringMatching(/^WRONGTYPE/) })
      expect(begunOf(fine).hubId).toBe(OTHER)
    },
  )

  test('numbers that can not be read are found once they are asked for, and by each who asks', async () => {
    const { polls, store, own } = await account()
    await store.set(own.watch, encodeWatch({ ...NEW_WATCH, polledAt: NOW }, Buffer.from('x')))
    const { readings: kept } = begunOf(await polls.read(HUB))
    for (const _ of [1, 2]) expect(() => kept.unpacked()).toThrow(UnreadableKey)
  })
})

describe('the plan of an account', () => {
  const TURN = { regularAt: LATER, because: { is: 'still' } } as const

  test('is moved where it was read, and says why', async () => {
    const { polls, poll, dueAt, watch } = await account()
    await poll(NOW, () => ({ readings: FIRST.readings }))
    const planned = await polls.planned(HUB)
    expect(planned).toMatchObject({ hubId: HUB, state: 'active', hubDomain: 'acme.example.com', at: NOW + 900_000 })
    if (planned === undefined) return
    expect(await polls.move(planned, { ...TURN, at: LATER - 5.4 })).toBe('committed')
    expect(await dueAt()).toBe(LATER - 5)
    expect(await watch()).toMatchObject({
      readings: FIRST.readings,
      watch: { polledAt: NOW, turn: TURN },
    })
  })

  test('is left where it was claimed, or polled, since it was read', async () => {
    const { polls, poll, dueAt, claim } = await account()
    await poll(NOW)
    const planned = await polls.planned(HUB)
    if (planned === undefined) throw new Error('it is planned')
    const until = await claim([HUB], LATER)
    expect(await polls.move(planned, { ...TURN, at: NOW })).toBe('lost')
    expect(await dueAt()).toBe(until)
    await poll(LATER)
    expect(await polls.move(planned, { ...TURN, at: NOW })).toBe('lost')
    expect(await dueAt()).toBe(LATER + 900_000)
  })

  test('is none of an account that is not polled, or was not yet', async () => {
    const { polls } = await account()
    expect(await polls.planned(HUB)).toBeUndefined()
    expect(await polls.planned(999)).toBeUndefined()
  })
})

/** How many commands Redis has run of those that begin and commit polls. */
async function commandsRun(store: typeof redis.store): Promise<number> {
  const stats = await store.info('commandstats')
  const counted = [...stats.matchAll(/cmdstat_(mget|evalsha|eval|hgetall|hmget|strlen|get):calls=(\d+)/g)]
  return counted.reduce((sum, [, , calls]) => sum + Number(calls), 0)
}
