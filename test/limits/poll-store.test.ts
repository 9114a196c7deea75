import { describe, expect, test } from 'vitest'
import { packPoll } from '../../src/limits/findings.ts'
import { History } from '../../src/limits/history/history.ts'
import { type PollResult, PollStore } from '../../src/limits/poll-store.ts'
import { KeptSamples } from '../../src/limits/samples.ts'
import { ACCOUNT_STATES, type AccountState, type Keys } from '../../src/redis/keys.ts'
import { type AlertWrites, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { dump, outboxOf, seedAccount, vault } from '../support/accounts.ts'
import { redisOfFile } from '../support/of-file.ts'
import { associations, properties, readings, samples } from './reports.ts'

const redis = redisOfFile()
const HUB = 123
const NOW = 1_763_719_200_000

async function account(state?: AccountState) {
  const keys = redis.freshKeys()
  await seedAccount(redis.store, keys, { obtainedAt: NOW })
  if (state !== undefined) await redis.store.hset(keys.account(HUB).account, 'state', state)
  return { keys, polls: new PollStore(redis.store, keys), due: () => dueAt(keys) }
}

const dueAt = async (keys: Keys) => {
  const score = await redis.store.zscore(keys.partition(HUB % 64).due.poll, HUB)
  return score === null ? null : Number(score)
}

const FIRST = packPoll(readings(NOW + 1_000, properties(5)), {
  at: NOW + 1_000,
  before: [['overall', undefined]],
})

function result(more: Partial<PollResult> = {}): PollResult {
  return {
    polls: '0',
    nextAt: NOW + 900_000.4,
    fields: { polledAt: String(NOW + 1_000), pollFailures: '' },
    ...FIRST,
    alerts: NO_ALERT_WRITES,
    ...more,
  }
}

const SEEN = { answers: 'answers_', said: 'names___', records: 'records_', judged: 'judged__' }

const writes = (before: string, after: string, alert = 'a'): AlertWrites => ({
  changes: [['overall', before, after]],
  entries: [JSON.stringify({ alert: { id: alert } })],
})

describe('a poll', () => {
  test('starts from what is known: state, token, readings, alerts', async () => {
    const { polls, keys } = await account()
    await redis.store.hset(keys.account(HUB).alerts, 'overall', '["warning"]')
    const context = await polls.read(HUB)
    expect(context).toMatchObject({
      ...{ state: 'active', hubDomain: 'acme.example.com', obtainedAt: NOW, expiresAt: NOW + 1_800_000 },
      ...{ generation: '1', polls: '0', polledAt: 0, pollFailures: 0, readings: undefined },
      alertStates: { overall: '["warning"]' },
    })
    expect(vault.open(context?.accessToken ?? Buffer.alloc(0), HUB, 'access').reveal()).toBe('access-1')
  })

  test('ranks the account by its nearest limit, until it is near none or is not polled any more', async () => {
    const { polls, keys } = await account()
    const ranked = () => redis.store.zrange(keys.partition(HUB % 64).nearest, '0', '-1', 'WITHSCORES')
    await polls.commit(HUB, result({ nearness: 12.5 }))
    expect(await ranked()).toEqual([String(HUB), '12.5'])
    // Nothing could be read.
    await polls.commit(HUB, result({ polls: '1', readings: undefined, record: undefined }))
    expect(await ranked()).toEqual([String(HUB), '12.5'])
    await polls.commit(HUB, result({ polls: '2', nearness: 'none' }))
    expect(await ranked()).toEqual([])
    await polls.commit(HUB, result({ polls: '3', nearness: 110 }))
    const noAlerts = JSON.stringify(NO_ALERT_WRITES)
    await redis.store.beginUninstall(keys.own(HUB), HUB, NOW, 'left', 0, noAlerts, 'cli', '', 'one')
    expect(await ranked()).toEqual([])
  })

  test('of an account that was imported over meanwhile plans no other before its first refresh', async () => {
    const { polls, keys, due } = await account()
    await redis.store.hset(keys.account(HUB).account, { obtainedAt: 0, expiresAt: 0 })
    await redis.store.zrem(keys.partition(HUB % 64).due.poll, HUB)
    expect(await polls.commit(HUB, result())).toBe('committed')
    expect(await due()).toBeNull()
  })

  test.each(ACCOUNT_STATES)('of an account that is %s is made only while it can be', async (state) => {
    const { polls } = await account(state)
    const isPolled = ['active', 'failing', 'parked'].includes(state)
    expect((await polls.read(HUB)) !== undefined).toBe(isPolled)
    expect(await polls.read(999)).toBeUndefined()
  })

  test('commits all it found in one step', async () => {
    const { polls, keys, due } = await account()
    expect(await polls.commit(HUB, result({ alerts: writes('', 'new') }))).toBe('committed')
    expect(await polls.read(HUB)).toMatchObject({
      polls: '1',
      polledAt: NOW + 1_000,
      readings: readings(NOW + 1_000, properties(5)),
      alertStates: { overall: 'new' },
    })
    expect(await due()).toBe(NOW + 900_000)
    expect(await outboxOf(redis.store, keys, HUB)).toEqual([{ id: 'a' }])
    expect(await redis.store.smembers(keys.partition(HUB % 64).alerting)).toEqual([String(HUB)])
    expect(await new History(redis.store, keys).changes(HUB)).toMatchObject({
      readAt: NOW + 1_000,
      current: new Map([['overall', { usage: 5, limit: 1_000 }]]),
      changes: [{ at: NOW + 1_000, before: [['overall', undefined]] }],
    })
  })

  test('of which nothing could be read keeps the readings, and writes no history', async () => {
    const { polls, keys } = await account()
    await polls.commit(HUB, result())
    const failed = {
      polls: '1',
      readings: undefined,
      record: undefined,
      fields: { pollFailures: '1', pollFailureReason: 'x' },
    }
    expect(await polls.commit(HUB, result(failed as Partial<PollResult>))).toBe('committed')
    expect(await polls.read(HUB)).toMatchObject({
      polls: '2',
      pollFailures: 1,
      readings: readings(NOW + 1_000, properties(5)),
    })
    expect(await redis.store.llen(keys.account(HUB).history)).toBe(1)
  })

  test('keeps the records that were shown for their time, and one that was shown none keeps none', async () => {
    const { polls, keys } = await account()
    const kept = new KeptSamples(redis.store, keys, { records: 'full', keepMs: 60_000 })
    const shown = samples(NOW, { '0-1/0-2': associations(500, [480], 1) })
    await polls.commit(HUB, result({ samples: { shown, keepMs: 60_000 } }))
    expect(await kept.read(HUB)).toEqual(shown)
    await redis.store.pexpire(keys.account(HUB).samples, 30_000)
    await polls.commit(HUB, result({ polls: '1', samples: undefined }))
    expect(await kept.read(HUB)).toEqual(shown)
    expect(await redis.store.pttl(keys.account(HUB).samples)).toBeLessThanOrEqual(30_000)
    await polls.commit(HUB, result({ polls: '2', samples: { shown, keepMs: 60_000 } }))
    expect(await redis.store.pttl(keys.account(HUB).samples)).toBeGreaterThan(30_000)
    const idsOnly = new KeptSamples(redis.store, keys, { records: 'ids', keepMs: 60_000 })
    expect((await idsOnly.read(HUB))['associations/0-1/0-2']?.atLimit).toEqual([{ objectId: 100 }])
    await polls.commit(HUB, result({ polls: '3', samples: { shown: {}, keepMs: 60_000 } }))
    expect(await redis.store.exists(keys.account(HUB).samples)).toBe(0)
  })

  test('that another poll overtook changes nothing', async () => {
    const { polls, keys } = await account()
    const outcomes = await Promise.all(
      [1, 2, 3].map((n) => polls.commit(HUB, result({ alerts: writes('', `state ${n}`, `${n}`) }))),
    )
    expect(outcomes.sort()).toEqual(['committed', 'lost', 'lost'])
    expect(await outboxOf(redis.store, keys, HUB)).toHaveLength(1)
    expect(await redis.store.llen(keys.account(HUB).history)).toBe(1)
  })

  test('whose alert was changed meanwhile changes nothing', async () => {
    const { polls, keys } = await account()
    await redis.store.hset(keys.account(HUB).alerts, 'overall', 'somebody else')
    const before = await dump(redis.store, keys)
    expect(await polls.commit(HUB, result({ alerts: writes('', 'new') }))).toBe('lost')
    expect(await polls.commit(HUB, result({ alerts: writes('as it was', 'new') }))).toBe('lost')
    expect(await dump(redis.store, keys)).toEqual(before)
  })

  test('of an account that is uninstalled meanwhile changes nothing', async () => {
    const { polls, keys, due } = await account()
    const asked = [HUB, NOW, 'x', 0, JSON.stringify(NO_ALERT_WRITES), 'cli', '', 'one']
    await redis.store.beginUninstall(keys.own(HUB), ...asked)
    const before = await dump(redis.store, keys)
    expect(await polls.commit(HUB, result({ alerts: writes('', 'new') }))).toBe('gone')
    expect(await dump(redis.store, keys)).toEqual(before)
    expect(await due()).toBeNull()
  })

  test.each([
    ['must be authorised again', 'reauthorize', null],
    ['is told to wait', 'parked', NOW + 24 * 3_600_000],
  ] as const)(
    'of an account that %s meanwhile is kept, and followed by no other before its time',
    async (_, state, until) => {
      const { polls, keys, due } = await account(state)
      const { poll } = keys.partition(HUB % 64).due
      if (until === null) await redis.store.zrem(poll, HUB)
      else {
        await redis.store.hset(keys.account(HUB).account, 'parkedUntil', until)
        await redis.store.zadd(poll, until, HUB)
      }
      expect(await polls.commit(HUB, result())).toBe('committed')
      expect(await due()).toBe(until)
    },
  )

  test('that found all as it was moves nothing but the moment of readings and records', async () => {
    const { polls, keys } = await account()
    const own = keys.account(HUB)
    const shown = samples(NOW + 1_000, { '0-1/0-2': associations(500, [480], 1) })
    const nearness = 12.5
    await polls.commit(HUB, result({ samples: { shown, keepMs: 60_000 }, nearness, seen: SEEN }))
    await redis.store.pexpire(own.samples, 30_000)
    const before = await dump(redis.store, keys)
    const later = NOW + 901_000
    const unchanged: Partial<PollResult> = {
      ...{ polls: '1', fields: { polledAt: String(later) } },
      ...{ readings: 'unchanged', record: undefined, seen: 'unchanged' },
      samples: { shown: 'unchanged', keepMs: 60_000 },
    }
    expect(await polls.commit(HUB, result(unchanged))).toBe('committed')
    const context = await polls.read(HUB)
    expect(context).toMatchObject({ polls: '2', polledAt: later, readings: readings(later, properties(5)), seen: SEEN })
    const kept = new KeptSamples(redis.store, keys, { records: 'full', keepMs: 60_000 })
    expect((await kept.read(HUB))['associations/0-1/0-2']).toEqual({ ...shown['associations/0-1/0-2'], at: later })
    expect(await redis.store.pttl(own.samples)).toBeGreaterThan(30_000)
    const after = await dump(redis.store, keys)
    const touched = Object.keys(after).filter((key) => JSON.stringify(after[key]) !== JSON.stringify(before[key]))
    expect(touched.sort()).toEqual([own.account, own.readings, own.samples].sort())
    // What was deleted meanwhile stays deleted.
    await redis.store.del(own.readings, own.samples)
    await polls.commit(HUB, result({ ...unchanged, polls: '2' }))
    expect(await redis.store.exists(own.readings, own.samples)).toBe(0)
  })

  test('of an account that left the ranking meanwhile leaves nothing that the next one could go by', async () => {
    const { polls, keys } = await account()
    const seen = async () => (await polls.read(HUB))?.seen
    const { nearest } = keys.partition(HUB % 64)
    await polls.commit(HUB, result({ nearness: 12.5, seen: SEEN }))
    expect(await seen()).toEqual(SEEN)
    const refused = [HUB, '1', '9', JSON.stringify({}), JSON.stringify(NO_ALERT_WRITES)]
    await redis.store.refuseForeignToken(keys.own(HUB), ...refused)
    expect(await redis.store.zscore(nearest, HUB)).toBeNull()
    // One that was under way ends while it is not polled, another one after that.
    await polls.commit(HUB, result({ polls: '1', nearness: 12.5, seen: SEEN }))
    await redis.store.hset(keys.account(HUB).account, 'state', 'active')
    expect(await seen()).toBeUndefined()
    await polls.commit(HUB, result({ polls: '2', readings: 'unchanged', record: undefined, seen: 'unchanged' }))
    expect(await seen()).toBeUndefined()
  })

  test('whose alerts are all closed takes the account off those that have one', async () => {
    const { polls, keys } = await account()
    await polls.commit(HUB, result({ alerts: writes('', 'new') }))
    await polls.commit(HUB, result({ polls: '1', alerts: writes('new', '') }))
    expect(await redis.store.smembers(keys.partition(HUB % 64).alerting)).toEqual([])
    expect(await redis.store.exists(keys.account(HUB).alerts)).toBe(0)
  })
})

describe('a poll that another one overtook', () => {
  test('commits nothing, even where it changes no alert', async () => {
    const { keys, polls, due } = await account()
    expect(await polls.commit(HUB, result())).toBe('committed')
    const planned = await due()
    const before = await dump(redis.store, keys)
    expect(await polls.commit(HUB, result({ nextAt: NOW + 5, fields: { polledAt: String(NOW) } }))).toBe('lost')
    expect([await dump(redis.store, keys), await due()]).toEqual([before, planned])
  })

  test('does not overrule the plan of that one', async () => {
    const { polls, due } = await account()
    expect(await polls.commit(HUB, result())).toBe('committed')
    const planned = await due()
    expect(await polls.hold(HUB, '0', NOW + 5)).toBe('lost')
    expect(await due()).toBe(planned)
    expect(await polls.hold(HUB, '1', NOW + 5)).toBe('moved')
  })
})
