import { describe, expect, test } from 'vitest'
import { NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { dump, outboxOf, SEEDED_VERSION } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import {
  BESIDE,
  FIRST,
  HUB,
  LATER,
  loadedOf,
  NOTHING_RESTS,
  NOW,
  NUMBERS,
  polledAccounts,
  RESTS,
  result,
  writes,
} from './polled-accounts.ts'
import { polledState } from './reports.ts'

const redis = redisOfFile()
const accounts = (...hubIds: number[]) => polledAccounts(redis, hubIds)
const account = () => polledAccounts(redis)

describe('the claim of a poll', () => {
  test('that is another one by now commits nothing, even where it changes no alert', async () => {
    const { polls, keys, store, claim, dueAt } = await account()
    const mine = await claim()
    const theirs = await claim()
    const before = await dump(store, keys)
    for (const more of [undefined, result(mine, { alerts: writes('', 'new'), parkedUntil: LATER, samples: {} }).more])
      expect(await polls.commit([{ ...result(mine), more, freshAt: NOW }])).toEqual(['lost'])
    expect(await dump(store, keys)).toEqual(before)
    expect(await dueAt()).toBe(theirs)
  })

  test('is the same to the last digit: no plan, and no other claim of that millisecond, is it', async () => {
    const { polls, keys, store, claim } = await account()
    const until = await claim()
    for (const other of [Math.floor(until), Math.ceil(until), until + 1 / 4096, until - 1 / 4096]) {
      await store.zadd(keys.due.poll, other, HUB)
      expect(await polls.commit([result(until)])).toEqual(['lost'])
    }
    await store.zadd(keys.due.poll, until, HUB)
    expect(await polls.commit([result(until)])).toEqual(['committed'])
  })

  test('lets one of many that say to have it commit, and the same one not twice', async () => {
    const { polls, keys, store, own, claim, dueAt } = await account()
    const until = await claim()
    const all = [1, 2, 3].map((n) => result(until, { alerts: writes('', `state ${n}`, `${n}`) }))
    const outcomes = (await Promise.all(all.map((one) => polls.commit([one])))).flat()
    expect(outcomes.sort()).toEqual(['committed', 'lost', 'lost'])
    expect(await outboxOf(store, keys, HUB)).toHaveLength(1)
    expect(await store.llen(own.history)).toBe(1)
    expect(await dueAt()).toBe(NOW + 900_000)
  })

  test('of an account that is not polled any more is gone, and nothing of it comes back', async () => {
    const { polls, keys, store, claim, dueAt } = await account()
    const until = await claim()
    await store.beginUninstall(keys.own(HUB), HUB, NOW, 'x', 0, stepJson(NO_ALERT_WRITES), 'cli', '', '')
    const before = await dump(store, keys)
    const found = { ...result(until, { alerts: writes('', 'new'), nearness: 5, failingSince: NOW }), freshAt: NOW }
    expect(await polls.commit([found])).toEqual(['gone'])
    expect(await dump(store, keys)).toEqual(before)
    expect(await dueAt()).toBeNull()
    // Forgotten, too.
    const forgotten = await accounts()
    expect(await forgotten.polls.commit([found])).toEqual(['gone'])
    expect(await dump(forgotten.store, forgotten.keys)).toEqual({})
    expect(await store.zscore(keys.due.poll, HUB)).toBeNull()
  })

  test('of an account that was connected anew meanwhile is lost: it is polled with the new tokens', async () => {
    const { polls, account: connect, claim, dueAt } = await account()
    const until = await claim()
    await connect({ obtainedAt: NOW + 5 })
    expect(await polls.commit([result(until)])).toEqual(['lost'])
    expect(await dueAt()).toBe(NOW + 5)
  })
})

describe('a poll whose alert was changed meanwhile', () => {
  test('changes nothing, and is due again at once, with the alert as it is then', async () => {
    const { polls, poll, keys, store, own, claim, dueAt, services } = await account()
    await poll(NOW, () => ({ state: { ...RESTS, hasAlerts: false } }))
    await store.hset(own.alerts, 'overall', 'somebody else')
    const before = await dump(store, keys)
    for (const was of ['', 'as it was']) {
      const until = await claim([HUB], LATER)
      const found = result(until, { alerts: writes(was, 'new'), parkedUntil: LATER, nearness: 5, samples: {} })
      expect(await polls.commit([{ ...found, freshAt: LATER }])).toEqual(['stale'])
      expect(await dueAt()).toBe(services.clock.now())
    }
    const after = await dump(store, keys)
    const touched = Object.keys(after).filter((key) => after[key] !== before[key])
    expect(touched.sort()).toEqual([own.poll, keys.due.poll].sort())
    const loaded = loadedOf(await polls.loadOne(HUB))
    // What it knew of alerts was wrong: it looks.
    expect(loaded.alertStates).toEqual({ overall: 'somebody else' })
    expect(loaded.state).toMatchObject({ polledAt: NOW, ...NOTHING_RESTS })
    expect(loaded.record).toMatchObject({ state: 'active' })
  })

  test('keeps none of the others back', async () => {
    const { polls, store, own, claim } = await accounts(HUB, BESIDE)
    await store.hset(own.alerts, 'overall', 'somebody else')
    const until = await claim([HUB, BESIDE])
    const both = [HUB, BESIDE].map((hubId) => result(until, { alerts: writes('', 'new') }, hubId))
    expect(await polls.commit(both)).toEqual(['stale', 'committed'])
  })
})

describe('what the next poll goes by', () => {
  async function seenBefore() {
    const all = await account()
    const failing = { count: 2, reason: 'x', at: NOW, since: NOW }
    await all.poll(NOW, () => ({ state: { ...RESTS, failing, readings: FIRST } }))
    const refuse = () => {
      const refused = [HUB, NOW, SEEDED_VERSION, '9', '', '{}', 0, 0, stepJson(NO_ALERT_WRITES)]
      return all.store.storeIdentity(all.keys.own(HUB), ...refused)
    }
    return { ...all, refuse, failing }
  }

  test('is less where it was not polled for a while: it left the ranking, and the poll that was under way does not bring it back', async () => {
    const { polls, store, claim, refuse, pollState, own, failing, keys } = await seenBefore()
    const until = await claim()
    expect(await refuse()).toBe('foreign')
    expect(await pollState()).toMatchObject({
      isInterrupted: true,
      failing,
      ...NOTHING_RESTS,
      readings: { text: FIRST.text },
    })
    const found = { ...result(until, { nearness: 12.5 }), state: polledState(LATER, NUMBERS, RESTS) }
    expect(await polls.commit([found])).toEqual(['gone'])
    expect(await store.zscore(keys.nearest, HUB)).toBeNull()
    await store.hset(own.account, 'state', 'active')
    expect(loadedOf(await polls.loadOne(HUB))).toMatchObject({
      state: { polledAt: NOW, ...NOTHING_RESTS },
      record: { state: 'active' },
    })
  })

  test('is nothing of what went wrong before a new grant, also where it was stopped before that', async () => {
    for (const isStopped of [false, true]) {
      const { polls, store, keys, account: connect, refuse, own } = await seenBefore()
      if (isStopped) await refuse()
      await connect({ obtainedAt: NOW + 5 })
      expect((await store.getBuffer(own.poll))?.toString('latin1', 0, 1)).toBe('2')
      const loaded = loadedOf(await polls.loadOne(HUB))
      expect(loaded.state).toMatchObject({ polledAt: NOW, failing: undefined, ...NOTHING_RESTS, turn: undefined })
      expect(loaded.state.readings.text).toEqual(FIRST.text)
      // A grant is never less than that.
      await store.beginUninstall(keys.own(HUB), HUB, NOW, 'x', 0, stepJson(NO_ALERT_WRITES), 'cli', '', '')
      expect((await store.getBuffer(own.poll))?.toString('latin1', 0, 1)).toBe('2')
    }
  })

  test('of another type keeps no step from being done', async () => {
    const { store, own, refuse, account: connect } = await seenBefore()
    await store.del(own.poll)
    await store.rpush(own.poll, 'x')
    expect(await refuse()).toBe('foreign')
    await connect({ obtainedAt: NOW + 5 })
    expect(await store.lrange(own.poll, 0, -1)).toEqual(['x'])
  })
})
