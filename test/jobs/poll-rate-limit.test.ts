import { describe, expect, test } from 'vitest'
import type { PollWork } from '../../jobs/job-deps.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { HUB, pageOf } from '../accounts/connected.ts'
import { associations, pairNumbers, properties, readBody } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { pollClaimed } from '../support/committed-poll.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { type FakeAnswers, failure } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HandClock } from '../support/hand-clock.ts'
import { redisOfFile } from '../support/of-file.ts'
import { EVERY_MS, pollSettings, pollWork } from './poll-work.ts'

const redis = redisOfFile()
const POLLING = pollSettings({ associations: [{ from: '0-1', to: '0-2' }] })
const REPORT = properties(10, 100, { '0-1': [1, 9], '0-2': [2, 9] })

async function polled(
  does: FakeAnswers,
  { clock = new HandClock(), ...changes }: Partial<Omit<PollWork, 'clock'>> & { clock?: HandClock } = {},
  keys = redis.freshKeys(),
) {
  const says = {
    customProperties: async () => ({ ok: true as const, value: REPORT }),
    associations: async () => ({ ok: true as const, value: associations(500, [480], 2) }),
    ...does,
  }
  const polls = new PollStore(redis.store, keys)
  const {
    work: job,
    due,
    provider,
  } = pollWork(redis.store, keys, says, {
    ...{ clock, polls, polling: POLLING },
    // What it waits for is not what these tests wait for.
    endpoint: openEndpoint(redis.store, keys, systemClock),
    share: { requests: 100, perMs: 10_000 },
    ...changes,
  })
  await seedAccount(redis.store, keys, { obtainedAt: clock.now() })
  const { samples } = job
  return {
    ...{ keys, clock, provider, job },
    poll: () => pollClaimed(job, [HUB]),
    waits: async () => Number(await due.when('poll', HUB)) - clock.now(),
    due: () => due.when('poll', HUB),
    readings: async () => (await polls.read(HUB))?.readings.unpacked(),
    samples: async () => Object.keys(await samples.read(HUB)),
    watch: async () => (await polls.read(HUB))?.watch,
  }
}

describe('the next poll', () => {
  test('comes when the provider says, and what this one read is kept', async () => {
    const tooMany = async () => failure('transient', { status: 429, retryAfterMs: 70_000 })
    const one = await polled({ associations: tooMany })
    await one.poll()
    expect(await one.waits()).toBe(70_000)
    const { values } = readBody('customProperties', REPORT)
    expect(await one.readings()).toMatchObject({ customProperties: { values } })
    expect(await one.watch()).toMatchObject({ failing: { count: 1 } })
  })

  test('comes when the pause ends that another worker was told of; that was no poll and no failure', async () => {
    const one = await polled({})
    await one.job.pauseCalls(HUB, one.clock.now() + 3_600_000)
    await one.poll()
    expect(one.provider.calls).toEqual([])
    expect(await one.waits()).toBe(3_600_000)
    expect(await one.watch()).toMatchObject({ polledAt: 0, failing: undefined })
    one.clock.move(3_600_000)
    await seedAccount(redis.store, one.keys, { obtainedAt: one.clock.now() })
    await redis.store.del(one.keys.account(HUB).paused)
    await one.poll()
    expect(await one.watch()).toMatchObject({ polledAt: one.clock.now() })
  })

  test('comes no sooner than the app has its bucket back, and later each time that it was too full to read all', async () => {
    const bucket = { intervalMs: 10_000, max: 110, remaining: 2 }
    const pairs = Array.from({ length: 20 }, (_, n) => ({ from: '0-1', to: `2-${n}` }))
    const one = await polled(
      { customProperties: async () => ({ ok: true, value: REPORT, bucket }) },
      { polling: { ...POLLING, associations: pairs }, inFlight: new InFlight(1) },
    )
    const waits: number[] = []
    for (let poll = 1; poll <= 4; poll++) {
      await one.poll()
      waits.push(await one.waits())
      one.clock.move(waits.at(-1) ?? 0)
      await redis.store.del(one.keys.account(HUB).paused)
    }
    expect(waits).toEqual([10_000, 10_000, 20_000, 40_000])
  })
})

test('where two workers are at one account only the one that claimed it last leaves anything', async () => {
  const answers = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  let asked = 0
  const one = await polled({
    customProperties: async () => {
      await answers[asked++]?.promise
      return { ok: true, value: REPORT }
    },
  })
  const first = one.poll()
  await eventually('the first at work', async () => one.provider.calls.length > 0)
  one.clock.move(1)
  const second = one.poll()
  await eventually('the second, too', async () => asked === 2)
  answers[1]?.resolve()
  await second
  const [planned, watch] = [await one.due(), await one.watch()]
  expect(watch?.polledAt).toBe(one.clock.now())
  answers[0]?.resolve()
  await first
  expect([await one.due(), await one.watch()]).toEqual([planned, watch])
})

test('an account whose alert changed while it was polled is due again at once', async () => {
  const one = await polled({
    customProperties: async () => {
      await redis.store.hset(one.keys.account(HUB).alerts, 'poll', 'another')
      return failure('forbidden')
    },
    associations: async () => failure('forbidden'),
  })
  await one.poll()
  expect(await one.watch()).toMatchObject({ polledAt: 0 })
  expect(await one.waits()).toBeLessThanOrEqual(0)
})

test('a pair that has something to tell for the first time is no first reading where all were seen before', async () => {
  const rules = [{ name: 'full records', on: 'associations.atLimit', warning: { count: 1 } }]
  const alerts = { ...{ rules, recoverBelow: 3, for: 0, repeatEveryMs: EVERY_MS }, firstRun: 'digest', pageOf }
  const named = (...ids: string[]) => ({
    ok: true as const,
    value: ids.map((objectTypeId) => ({ objectTypeId, hasRecordsAtLimit: true, hasRecordsNearLimit: false })),
  })
  let sources = named()
  const one = await polled(
    { associationSources: async () => sources, associationTargets: async () => named('0-2') },
    {
      polling: { ...POLLING, associations: 'auto' },
      alerts: alerts as unknown as PollWork['alerts'],
    },
  )
  await one.poll()
  expect((await one.watch())?.allPairsRead).toBe(true)
  sources = named('0-1')
  one.clock.move(await one.waits())
  await one.poll()
  const entries = await redis.store.xrange(one.keys.partition(one.keys.partitionOf(HUB)).log, '-', '+')
  expect(entries.map(([, fields]) => JSON.parse(fields[1] ?? ''))).toMatchObject([
    { alert: { series: { metric: 'associations.atLimit' }, reason: 'entered' } },
  ])
  expect(entries.join()).not.toContain('firstReading')
})

test('pairs whose turn it was not keep their numbers and their records', async () => {
  const gone = async () => failure('client', { status: 404 })
  const one = await polled(
    { associationSources: gone },
    {
      polling: { ...POLLING, associations: 'auto', pairsPerPoll: 1 },
    },
  )
  await one.poll()
  const first = await one.readings()
  const before = pairNumbers(first ?? {})
  expect(Object.keys(before)).toEqual(['0-1/0-1'])
  expect((await one.watch())?.companionsAwayUntil).toBe(one.clock.now() + 24 * 3_600_000)
  one.clock.move(await one.waits())
  await one.poll()
  expect(pairNumbers((await one.readings()) ?? {})).toEqual({
    ...before,
    '0-1/0-2': { at: one.clock.now(), limit: 500, atLimit: 2, nearLimit: 1, fullest: 500 },
  })
  expect(await one.samples()).toEqual(['associations/0-1/0-1', 'associations/0-1/0-2'])
  expect(one.provider.calls.filter(([name]) => name === 'associationSources')).toHaveLength(1)
})
