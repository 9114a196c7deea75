import { describe, expect, test } from 'vitest'
import type { PollWork } from '../../jobs/job-deps.ts'
import { pollLimits } from '../../jobs/poll-limits.ts'
import type { ChunkJob } from '../../jobs/queues.ts'
import { sweep } from '../../jobs/sweep.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { storeForecasts } from '../../src/limits/forecast/forecast-account.ts'
import { type RecordChoice, SampleStore } from '../../src/limits/samples.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import type { ProviderResult } from '../../src/provider/failure.ts'
import { HUB, metadata, pageOf } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { dump, outboxOf, seedAccount } from '../support/accounts.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import { failure } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { redisOfFile } from '../support/of-file.ts'
import { EVERY_MS, pollSettings, pollWork } from './poll-work.ts'

const redis = redisOfFile()
const POLLING = pollSettings()
const never = new AbortController().signal

/** An account that was imported and has been refreshed once since; nobody has asked yet whose its token is. */
async function imported(
  ask: ProviderClient['metadata'],
  changes: Partial<Omit<PollWork, 'clock'>> = {},
  records: RecordChoice = 'full',
) {
  const keys = redis.freshKeys()
  const says = { properties: (): ProviderResult<object> => ({ ok: true, value: properties(10) }) }
  const does = {
    metadata: ask,
    customProperties: async () => says.properties(),
    associations: async () => ({ ok: true as const, value: associations(500, [480], 2) }),
  }
  const samples = new SampleStore(redis.store, keys, { records, keepMs: EVERY_MS })
  const { work: job, due, clock, provider } = pollWork(redis.store, keys, does, { samples, ...changes })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  await redis.store.hset(keys.account(HUB).account, 'metadataDue', '1')
  const registry = new Registry(redis.store, keys)
  return {
    ...{ keys, clock, provider, due, says, samples: job.samples },
    poll: () => pollClaimed(job, [HUB]),
    polledAt: async () => (await registry.get(HUB))?.polledAt ?? null,
    waits: async () => Number(await due.when('poll', HUB)) - clock.now(),
    calls: () => provider.calls.map(([name]) => name),
  }
}

describe('an account whose metadata was never read', () => {
  test('is asked whose it is, then due at once', async () => {
    const one = await imported(async () => metadata())
    await one.poll()
    expect([one.calls(), await one.waits()]).toEqual([['metadata'], 0])
    await one.poll()
    expect(one.calls()).toEqual(['metadata', 'customProperties'])
    expect(await one.polledAt()).toBe(one.clock.now())
  })

  test("waits where that is not known: the numbers may be another account's", async () => {
    const one = await imported(async () => failure('transient'))
    await one.poll()
    expect(one.calls()).toEqual(['metadata'])
    expect(await one.polledAt()).toBeNull()
    expect(await one.waits()).toBe(15_000)
  })

  test('whose scopes open nothing is told of once, whoever finds it first, and its poll is not lost over it', async () => {
    const one = await imported(async () => metadata({ scopes: ['oauth'] }))
    one.says.properties = () => failure('forbidden')
    await one.poll()
    await one.poll()
    expect((await outboxOf(redis.store, one.keys)).map(({ kind, cause }) => [kind, cause])).toEqual([
      ['poll', 'scopes'],
    ])
    expect(await one.waits()).toBeGreaterThan(EVERY_MS / 2 - 1)
    expect(await one.waits()).not.toBe(60_000)
  })

  test('is not polled if its token belongs to another account', async () => {
    const one = await imported(async () => metadata({ hubId: 456 }))
    await one.poll()
    expect(one.calls()).toEqual(['metadata'])
    expect(await one.due.when('poll', HUB)).toBeNull()
  })
})

describe('records at or near their limit', () => {
  const alerts = {
    rules: [{ name: 'full records', on: 'associations.atLimit', warning: { count: 1 } }],
    ...{ recoverBelow: 3, for: 0, repeatEveryMs: EVERY_MS, firstRun: 'alert' },
    pageOf,
  } as unknown as PollWork['alerts']

  test.each([
    [
      'full',
      [
        { objectId: 100, label: 'full 0' },
        { objectId: 101, label: 'full 1' },
      ],
    ],
    ['ids', [{ objectId: 100 }, { objectId: 101 }]],
    ['none', []],
  ] as const)('are told and kept as `records: %s` allows', async (records, items) => {
    const polling = { ...POLLING, associations: [{ from: '0-1', to: '0-2' }] }
    const one = await imported(async () => metadata(), { polling, alerts }, records)
    await one.poll()
    await one.poll()
    expect(await outboxOf(redis.store, one.keys)).toMatchObject([
      { usage: 2, records: { shown: items.length, total: 2, items } },
    ])
    const kept = await one.samples.read(HUB)
    expect(kept['associations/0-1/0-2']?.atLimit ?? []).toEqual(items)
    const stored = Object.values(await dump(redis.store, one.keys)).join(' ')
    if (records !== 'full') expect(stored).not.toContain(Buffer.from('full 0').toString('hex'))
  })
})

test('a poll judges what it reads by the forecast that was made of the account', async () => {
  const soon = { name: 'soon', on: 'customProperties.overall', critical: { daysLeft: 100 } }
  const alerts = {
    ...{ rules: [soon], recoverBelow: 3, for: 0, repeatEveryMs: EVERY_MS, firstRun: 'alert' },
    pageOf,
  } as unknown as PollWork['alerts']
  const { poll, keys, clock } = await imported(async () => metadata(), { alerts })
  const pace = { perDay: 10, perDayLow: 10, perDayHigh: 10, scatter: 0 }
  await storeForecasts(redis.store, keys, HUB, { at: clock.now(), rising: { overall: pace }, tooFew: {} })
  await poll()
  await poll()
  expect(await outboxOf(redis.store, keys, HUB)).toMatchObject([{ rule: 'soon', usage: 10, daysLeft: 99 }])
})

test('a poll ranks its account by the limit that it reaches first', async () => {
  const { poll, keys, clock } = await imported(async () => metadata())
  const pace = { perDay: 12, perDayLow: 12, perDayHigh: 12, scatter: 0 }
  await storeForecasts(redis.store, keys, HUB, { at: clock.now(), rising: { overall: pace }, tooFew: {} })
  await poll()
  await poll()
  expect(await redis.store.zscore(keys.partition(keys.partitionOf(HUB)).nearest, HUB)).toBe('82.5')
})

describe('a provider that takes longer than a claim lasts', () => {
  test('is asked once for each account, however often they are claimed', async () => {
    const keys = redis.freshKeys()
    const slow = Promise.withResolvers<void>()
    const { work, clock, provider } = pollWork(redis.store, keys, {
      customProperties: async () => {
        await slow.promise
        return { ok: true, value: properties(10) }
      },
    })
    let renew = async () => {}
    clock.every = (_, again) => {
      renew = again
      return () => {}
    }
    for (const hubId of [HUB, HUB + 1]) await seedAccount(redis.store, keys, { hubId, obtainedAt: clock.now() })
    const chunks: ChunkJob[] = []
    const addBulk = async (added: { data: ChunkJob }[]) => void chunks.push(...added.map(({ data }) => data))
    const queues = { pollLimits: { name: 'poll-limits', getWaitingCount: async () => 0, addBulk } }
    const handOn = async () => {
      await sweep({ ...work, store: redis.store, keys, queues } as never, 'poll-limits')
      return chunks.splice(0)
    }
    const [waited] = await handOn()
    clock.move(61_000)
    const [claimedAgain] = await handOn()
    expect(claimedAgain?.hubIds).toEqual(waited?.hubIds)
    const poll = (chunk: ChunkJob | undefined) => pollLimits(work, chunk ?? { hubIds: [] }, never)
    const underWay = poll(claimedAgain)
    await eventually('the provider is asked', async () => provider.calls.length === 2)
    clock.move(40_000)
    await renew()
    clock.move(40_000)
    expect(await handOn()).toEqual([])
    await poll(waited)
    slow.resolve()
    await underWay
    expect(provider.calls.map(([name]) => name)).toEqual(['customProperties', 'customProperties'])
  })
})
