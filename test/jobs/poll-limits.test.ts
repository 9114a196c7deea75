import { describe, expect, test } from 'vitest'
import { type PollLimitsDeps, pollLimits } from '../../jobs/poll-limits.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { Registry } from '../../src/accounts/registry.ts'
import { CallShare } from '../../src/limits/call-share.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import type { ProviderClient } from '../../src/provider/client.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/in-flight.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { HUB, metadata, office, pageOf } from '../accounts/connected.ts'
import { properties } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { failure } from '../support/fake-provider.ts'
import { useRedis } from '../support/test-store.ts'

const redis = useRedis()
const EVERY_MS = 900_000

/** An account that was imported and has been refreshed once since; nobody has asked yet whose its token is. */
async function imported(ask: ProviderClient['metadata']) {
  const keys = redis.freshKeys()
  const { deps, clock, provider } = office(redis.store, keys, {
    metadata: ask,
    customProperties: async () => ({ ok: true, value: properties(10) }),
  })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  await redis.store.hset(keys.account(HUB).account, 'metadataDue', '1')
  const due = new DueSets(redis.store, keys)
  const job: PollLimitsDeps = {
    ...deps,
    ...{ due, metrics: createMetrics(), random: () => 0.5, polls: new PollStore(redis.store, keys) },
    ...{ tokens: new TokenStore(redis.store, keys), unstored: new Set<number>(), inFlight: new InFlight(4) },
    ...{ endpoint: openEndpoint(redis.store, keys, systemClock), queues: { wake: async () => {} } as never },
    share: new CallShare(redis.store, keys, { requests: 20, perMs: 10_000 }, clock),
    stillPolling: async () => {},
    ...{ polling: { every: EVERY_MS, soonest: EVERY_MS, associations: [], accounts: [] }, historyKeepMs: EVERY_MS },
    callBudget: undefined,
    alerts: {
      ...{ rules: [], recoverBelow: 0.9, for: 0, repeatEveryMs: EVERY_MS, firstRun: 'alert' },
      pageOf,
    } as unknown as PollLimitsDeps['alerts'],
  }
  const registry = new Registry(redis.store, keys)
  return {
    ...{ keys, clock, provider, due },
    useUpRate: () => redis.store.takeCalls(keys.metadataCalls, clock.now(), 10, 10, 1_000),
    poll: () => pollLimits(job, { hubIds: [HUB] }, new AbortController().signal),
    polledAt: async () => (await registry.get(HUB))?.polledAt ?? null,
    waits: async () => Number(await due.when('poll', HUB)) - clock.now(),
    calls: () => provider.calls.map(([name]) => name),
  }
}

describe('an account whose metadata was never read', () => {
  test('is asked whose it is, then polled', async () => {
    const one = await imported(async () => metadata())
    await one.poll()
    expect(one.calls()).toEqual(['metadata', 'customProperties'])
    expect(await one.polledAt()).toBe(one.clock.now())
  })

  test("waits where the rate is used up: the numbers may be another account's", async () => {
    const one = await imported(async () => metadata())
    await one.useUpRate()
    await one.poll()
    expect(one.calls()).toEqual([])
    expect(await one.polledAt()).toBeNull()
    expect(await one.waits()).toBe(2_000)
    one.clock.move(2_000)
    await one.poll()
    expect(await one.polledAt()).toBe(one.clock.now())
  })

  test('waits as long again each time, so that a fleet does not ask every other second; never beyond its next poll', async () => {
    const one = await imported(async () => failure('transient'))
    const waits = []
    for (let attempt = 1; attempt <= 11; attempt++) {
      await one.poll()
      waits.push(await one.waits())
      one.clock.move(waits.at(-1) ?? 0)
    }
    expect(waits).toEqual([...[2, 2, 4, 8, 16, 32, 64, 128, 256, 512].map((seconds) => seconds * 1_000), EVERY_MS])
    expect(await one.polledAt()).toBeNull()
    expect(new Set(one.calls())).toEqual(new Set(['metadata']))
  })

  test('is not polled if its token belongs to another account', async () => {
    const one = await imported(async () => metadata({ hubId: 456 }))
    await one.poll()
    expect(one.calls()).toEqual(['metadata'])
    expect(await one.due.when('poll', HUB)).toBeNull()
  })
})
