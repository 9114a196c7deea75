import { describe, expect, test } from 'vitest'
import { pollLimits, pollWanted } from '../../jobs/poll-limits.ts'
import { storeForecasts } from '../../src/limits/forecast/stored-forecasts.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { metadata } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { dump } from '../support/accounts.ts'
import { fails, reads } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HUB } from '../support/world.ts'
import { EVERY_MS, PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const never = new AbortController().signal

describe('an account whose metadata was never read', () => {
  /** It was imported and has been refreshed once since; nobody has asked yet whose its token is. */
  async function imported(ask: ProviderClient['metadata'] = async () => metadata()) {
    const w = await polled({ provider: { metadata: ask } })
    await w.store.hset(w.keys.own(HUB), 'metadataDue', '1')
    return w
  }
  test('is asked whose it is, then due at once', async () => {
    const one = await imported()
    await one.poll()
    expect([one.calls(), await one.waits()]).toEqual([['metadata'], 0])
    await one.poll()
    expect(one.calls()).toEqual(['metadata', 'customProperties'])
    expect(await one.read()).toMatchObject({ polledAt: one.clock.now() })
  })

  test("waits where that is not known: the numbers may be another account's", async () => {
    const one = await imported(fails('transient'))
    await one.poll()
    expect(one.calls()).toEqual(['metadata'])
    expect(await one.read()).toMatchObject({ polledAt: null })
    expect(await one.waits()).toBe(15_000)
  })

  test('whose scopes open nothing is told of once, whoever finds it first, and its poll is not lost over it', async () => {
    const one = await imported(async () => metadata({ scopes: ['oauth'] }))
    one.says.customProperties = fails('forbidden', { scopes: ['contacts'] })
    await one.poll()
    await one.poll()
    expect((await one.outbox()).map(({ kind, cause }) => [kind, cause])).toEqual([['poll', 'scopes']])
    expect(await one.waits()).toBeGreaterThan(EVERY_MS / 2 - 1)
    expect(await one.waits()).not.toBe(60_000)
  })

  test('is not polled if its token belongs to another account', async () => {
    const one = await imported(async () => metadata({ hubId: 456 }))
    await one.poll()
    expect(one.calls()).toEqual(['metadata'])
    expect(await one.dueAt('poll')).toBeNull()
  })
})

describe('records at or near their limit', () => {
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
    const one = await polled({
      rules: [{ on: 'associations.atLimit', warning: { count: 1 } }],
      settings: { limits: { associations: [PAIR], records } },
      provider: { associations: reads(associations(500, [480], 2)) },
    })
    await one.poll()
    expect(await one.outbox()).toMatchObject([{ usage: 2, records: { shown: items.length, total: 2, items } }])
    const kept = await one.services.samples.read(HUB)
    expect(kept['associations/0-1/0-2']?.atLimit ?? []).toEqual(items)
    const stored = Object.values(await dump(one.store, one.keys)).join(' ')
    if (records !== 'full') expect(stored).not.toContain(Buffer.from('full 0').toString('hex'))
  })
})

/** Its one series rises so much a day, as its forecast has it. */
async function rising(perDay: number) {
  const one = await polled({ rules: [{ on: 'customProperties.overall', critical: { daysLeft: 100 } }] })
  const pace = { perDay, perDayLow: perDay, perDayHigh: perDay, leap: 0, bend: 0 }
  await storeForecasts(one.store, one.keys, HUB, { at: one.clock.now(), rising: { overall: pace }, tooFew: {} })
  await one.poll()
  return one
}

test('a poll judges what it reads by the forecast that was made of the account', async () => {
  const one = await rising(10)
  expect(await one.outbox()).toMatchObject([{ rule: 'customProperties.overall', usage: 10, daysLeft: 99 }])
})

test('a poll ranks its account by the limit that it reaches first', async () => {
  const { store, keys } = await rising(12)
  expect(await store.zscore(keys.nearest, HUB)).toBe('82.5')
})

describe('a provider that takes as long as it may', () => {
  test('is asked once for each account, by one daemon', async () => {
    const slow = Promise.withResolvers<void>()
    const { services, clock, calls } = await polled({
      hubIds: [HUB, HUB + 1],
      provider: {
        customProperties: async () => {
          await slow.promise
          return { ok: true, value: properties(10) }
        },
      },
    })
    const underWay = pollLimits(services, never)
    await eventually('the provider is asked', async () => calls().length === 2)
    // The calls of a poll, ten seconds for each.
    clock.move(60_000)
    await pollLimits(services, never)
    slow.resolve()
    await underWay
    expect(calls()).toEqual(['customProperties', 'customProperties'])
    for (const hubId of [HUB, HUB + 1]) expect(await services.due.when('poll', hubId)).toBeGreaterThan(clock.now())
  })
})

describe('a Redis that takes only some', () => {
  test('of what is claimed has what was polled before', async () => {
    const one = await polled()
    await one.store.zadd(one.keys.due.poll, one.clock.now(), HUB)
    const claimed = await one.services.due.claim('poll', 1, 60_000)
    const due = Object.assign(Object.create(one.services.due), {
      move: one.services.due.move.bind(one.services.due),
      claim: async () => {
        if (claimed.length === 0) throw new Error('MISCONF')
        return claimed.splice(0)
      },
    })
    await expect(pollLimits({ ...one.services, due }, never)).rejects.toThrow('MISCONF')
    expect(await one.read()).toMatchObject({ polledAt: one.clock.now() })
  })

  test('of what is committed has the account polled again soon, and a caller hears of it', async () => {
    const one = await polled()
    await one.store.zadd(one.keys.due.poll, one.clock.now(), HUB)
    const polls = Object.assign(Object.create(one.services.polls), {
      load: one.services.polls.load.bind(one.services.polls),
      commit: async () => [new Error('MISCONF')],
    })
    const services = { ...one.services, polls }
    await pollLimits(services, never)
    expect(await one.waits()).toBe(15_000)
    expect(await pollWanted(services, HUB, never)).toBe('unstored')
    expect(await one.waits()).toBe(15_000)
  })
})
