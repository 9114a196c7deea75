import { describe, expect, test } from 'vitest'
import type { PollChanges } from '../../src/limits/poll.ts'
import { SampleStore } from '../../src/limits/samples.ts'
import { NO_ALERT_WRITES, stepJson } from '../../src/redis/steps.ts'
import { dump } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { alsoWrites, BESIDE, HUB, LATER, NOW, polledAccounts, RESTS, result, writes } from './polled-accounts.ts'
import { associations, samples } from './reports.ts'

const redis = redisOfFile()
const account = () => polledAccounts(redis)

describe('what a poll found', () => {
  test('ranks the account by its nearest limit, until it is near none or is not polled any more', async () => {
    const { poll, keys, store } = await account()
    const ranked = () => store.zrange(keys.nearest, '0', '-1', 'WITHSCORES')
    await poll(NOW, alsoWrites({ nearness: 12.5 }))
    expect(await ranked()).toEqual([String(HUB), '12.5'])
    // Nothing could be read.
    await poll(NOW + 1)
    expect(await ranked()).toEqual([String(HUB), '12.5'])
    await poll(NOW + 2, alsoWrites({ nearness: 'none' }))
    expect(await ranked()).toEqual([])
    await poll(NOW + 3, alsoWrites({ nearness: 110 }))
    await store.beginUninstall(keys.own(HUB), HUB, NOW, 'left', 0, stepJson(NO_ALERT_WRITES), 'cli', '', '')
    expect(await ranked()).toEqual([])
  })

  test('has the account among those whose polls fail, since when, until one works', async () => {
    const { poll, store, keys } = await account()
    const since = () => store.zscore(keys.pollFailing, HUB)
    await poll(NOW, alsoWrites({ failingSince: NOW - 9 }))
    expect(await since()).toBe(String(NOW - 9))
    await poll(NOW + 1)
    expect(await since()).toBe(String(NOW - 9))
    await poll(NOW + 2, alsoWrites({ failingSince: 'over' }))
    expect(await since()).toBeNull()
  })

  test('counts as read when it says, and as no gap in what is read where no scope lets it be', async () => {
    const { poll, store, keys } = await account()
    const fresh = () => store.zscore(keys.fresh, HUB)
    await poll(NOW, () => ({ freshAt: NOW + 7 }))
    expect(await fresh()).toBe(String(NOW + 7))
    await poll(NOW + 1)
    expect(await fresh()).toBe(String(NOW + 7))
    await poll(NOW + 2, alsoWrites({ isBlocked: true }))
    expect(await fresh()).toBeNull()
  })

  test('ends the wait for a first reading, and begins none', async () => {
    const { poll, store, keys } = await account()
    await poll(NOW, alsoWrites({ isFirst: true }))
    expect(await store.exists(keys.firstReadings)).toBe(0)
    await store.zadd(keys.firstReadings, 1, HUB, 1, BESIDE)
    await poll(NOW + 1)
    expect(await store.zscore(keys.firstReadings, HUB)).toBe('1')
    await poll(NOW + 2, alsoWrites({ isFirst: true }))
    expect(await store.zrange(keys.firstReadings, '0', '-1', 'WITHSCORES')).toEqual([
      String(HUB),
      '0',
      String(BESIDE),
      '1',
    ])
  })

  test('whose alerts are all closed takes the account off those that have one', async () => {
    const { poll, store, keys, own } = await account()
    await poll(NOW, alsoWrites({ alerts: writes('', 'new') }))
    await poll(NOW + 1, alsoWrites({ alerts: writes('new', '') }))
    expect(await store.smembers(keys.alerting)).toEqual([])
    expect(await store.exists(own.alerts)).toBe(0)
  })

  test('that moves to another data centre has it left alone until then, and for no shorter time than was told before', async () => {
    const { poll, store, keys, own, dueAt } = await account()
    const until = NOW + 24 * 3_600_000
    await poll(NOW, alsoWrites({ parkedUntil: until }))
    expect(await store.hmget(own.account, 'state', 'parkedUntil', 'retryAt')).toEqual([
      'parked',
      `${until}`,
      `${until}`,
    ])
    expect([await dueAt(), Number(await store.zscore(keys.due.refresh, HUB))]).toEqual([until, until])
    await poll(NOW + 1, alsoWrites({ parkedUntil: until - 5 }))
    expect(await store.hget(own.account, 'parkedUntil')).toBe(String(until))
    expect(await dueAt()).toBe(until)
  })

  test('keeps the records that were shown for their time, and one that was shown none keeps none', async () => {
    const { poll, store, keys, services, own } = await account()
    const kept = services.samples
    const shown = samples(NOW, { '0-1/0-2': associations(500, [480], 1) })
    const left = () => store.pttl(own.samples)
    const keeping =
      (more: Partial<PollChanges>, at: number, ms: number, readAt = at) =>
      () => ({
        ...alsoWrites(more)(),
        state: { records: { digests: '', age: at - readAt, until: at + ms } },
      })
    await poll(NOW, keeping({ samples: shown }, NOW, 60_000))
    expect(await kept.read(HUB)).toEqual(shown)
    expect(await left()).toBeLessThanOrEqual(60_000)
    expect(await left()).toBeGreaterThan(50_000)
    // As they were, and read again: they are as old as that.
    const again = { ...shown, 'associations/0-1/0-2': { ...shown['associations/0-1/0-2'], at: NOW + 2 } }
    await poll(NOW + 2)
    expect(await left()).toBeLessThanOrEqual(60_000)
    expect(await kept.read(HUB)).toEqual(again)
    const idsOnly = new SampleStore(store, keys, { records: 'ids', keepMs: 60_000 })
    expect((await idsOnly.read(HUB))['associations/0-1/0-2']?.atLimit).toEqual([{ objectId: 100 }])
    await poll(NOW + 3, () => ({ ...alsoWrites({ samples: {} })(), state: { records: undefined } }))
    expect(await store.exists(own.samples)).toBe(0)
    // Some could not be read again: they are no longer kept for that.
    await poll(NOW + 50_000, keeping({ samples: shown }, NOW + 50_000, 60_000, NOW))
    expect(await left()).toBeLessThanOrEqual(60_000)
  })

  test('that is all as it was writes what polls know and no other key of the account', async () => {
    const { polls, claim, store, keys, own } = await account()
    const shown = samples(NOW, { '0-1/0-2': associations(500, [480], 1) })
    const records = { digests: '', age: 0, until: NOW + 60_000 }
    const first = result(await claim(), { samples: shown, nearness: 12.5 })
    await polls.commit([{ ...first, state: { ...first.state, ...RESTS, records }, freshAt: NOW }])
    const before = await dump(store, keys)
    const until = await claim([HUB], LATER)
    const unchanged = { ...first, more: undefined, claim: until, freshAt: LATER }
    expect(await polls.commit([{ ...unchanged, state: { ...first.state, polledAt: LATER } }])).toEqual(['committed'])
    const after = await dump(store, keys)
    const touched = Object.keys(after).filter((key) => after[key] !== before[key])
    expect(touched.sort()).toEqual([own.poll, keys.fresh].sort())
    expect(Object.keys(before).sort()).toEqual(Object.keys(after).sort())
  })
})
