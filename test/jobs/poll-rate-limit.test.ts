import { describe, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { associations, pairNumbers, properties, readBody } from '../limits/reports.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { type FakeAnswers, fails, failure, reads } from '../support/fake-provider.ts'
import { eventually } from '../support/fleet.ts'
import { HUB } from '../support/world.ts'
import { HOUR, PAIR, pollsOfFile } from './polled.ts'

const inWorld = pollsOfFile()
const REPORT = properties(10, 100, { '0-1': [1, 9], '0-2': [2, 9] })

async function polled(does: FakeAnswers, limits: object = {}, inFlight?: InFlight) {
  const w = await inWorld({
    settings: {
      limits: { associations: [PAIR], ...limits },
      provider: { accountRate: { requests: 100, per: '10s' } },
    },
    provider: { customProperties: reads(REPORT), associations: reads(associations(500, [480], 2)), ...does },
    // What its door waits for is not what these tests wait for.
    change: ({ store, keys, ...services }) => ({
      endpoint: openEndpoint(store, keys, systemClock),
      inFlight: inFlight ?? services.inFlight,
    }),
  })
  return { ...w, readings: async () => (await w.services.polls.loadOne(HUB))?.state.readings.all }
}

describe('the next poll', () => {
  test('comes when the provider says, and what this one read is kept', async () => {
    const one = await polled({ associations: fails('transient', { status: 429, retryAfterMs: 70_000 }) })
    await one.poll()
    expect(await one.waits()).toBe(70_000)
    const { values } = readBody('customProperties', REPORT)
    expect(await one.readings()).toMatchObject({ customProperties: { values } })
    expect(await one.pollState()).toMatchObject({ failing: { count: 1 } })
  })

  test('comes when the pause ends that another worker was told of; that was no poll and no failure', async () => {
    const one = await polled({})
    await one.services.pauseCalls(HUB, one.clock.now() + HOUR)
    await one.poll()
    expect(one.provider.calls).toEqual([])
    expect(await one.waits()).toBe(3_600_000)
    expect(await one.pollState()).toMatchObject({ polledAt: 0, failing: undefined })
    one.clock.move(3_600_000)
    await one.account()
    await one.store.del(one.keys.account(HUB).paused)
    await one.poll()
    expect(await one.pollState()).toMatchObject({ polledAt: one.clock.now() })
  })

  test('comes no sooner than the app has its bucket back, and later each time that it was too full to read all', async () => {
    const bucket = { intervalMs: 10_000, max: 110, remaining: 2 }
    const pairs = Array.from({ length: 20 }, (_, n) => ({ from: '0-1', to: `2-${n}` }))
    const one = await polled(
      { customProperties: async () => ({ ok: true, value: REPORT, bucket }) },
      { associations: pairs },
      new InFlight(1),
    )
    const waits: number[] = []
    for (let poll = 1; poll <= 4; poll++) {
      await one.poll()
      waits.push(await one.waits())
      one.clock.move(waits.at(-1) ?? 0)
      await one.store.del(one.keys.account(HUB).paused)
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
  // Its claim is over.
  one.clock.move(600_000)
  const second = one.poll()
  await eventually('the second, too', async () => asked === 2)
  answers[1]?.resolve()
  await second
  const [planned, watch] = [await one.dueAt('poll'), await one.pollState()]
  expect(watch?.polledAt).toBe(one.clock.now())
  answers[0]?.resolve()
  await first
  expect([await one.dueAt('poll'), await one.pollState()]).toEqual([planned, watch])
})

test('an account whose alert changed while it was polled is due again at once', async () => {
  const one = await polled({
    customProperties: async () => {
      await one.store.hset(one.keys.account(HUB).alerts, 'poll', 'another')
      return failure('forbidden', { scopes: ['contacts'] })
    },
    associations: fails('forbidden'),
  })
  await one.poll()
  expect(await one.pollState()).toMatchObject({ polledAt: 0 })
  expect(await one.waits()).toBeLessThanOrEqual(0)
})

test('a pair that has something to tell for the first time is no first reading where all were seen before', async () => {
  const named = (...ids: string[]) => ({
    ok: true as const,
    value: ids.map((objectTypeId) => ({ objectTypeId, hasRecordsAtLimit: true, hasRecordsNearLimit: false })),
  })
  let sources = named()
  const one = await polled(
    { associationSources: async () => sources, associationTargets: async () => named('0-2') },
    { associations: 'auto' },
  )
  Object.assign(one.services.alerts, {
    rules: [{ name: 'full', on: 'associations.atLimit', warning: { count: 1 } }],
    firstRun: 'digest',
  })
  await one.poll()
  expect((await one.pollState())?.allPairsRead).toBe(true)
  sources = named('0-1')
  one.clock.move(await one.waits())
  await one.poll()
  const entries = await one.store.xrange(one.keys.transitions, '-', '+')
  expect(entries.map(([, fields]) => JSON.parse(fields[1] ?? ''))).toMatchObject([
    { alert: { series: { metric: 'associations.atLimit' }, reason: 'entered' } },
  ])
  expect(entries.join()).not.toContain('firstReading')
})

test('pairs whose turn it was not keep their numbers and their records', async () => {
  const one = await polled(
    { associationSources: fails('client', { status: 404 }) },
    { associations: 'auto', pairsPerPoll: 1 },
  )
  await one.poll()
  const first = await one.readings()
  const before = pairNumbers(first ?? {})
  expect(Object.keys(before)).toEqual(['0-1/0-1'])
  expect((await one.pollState())?.companionsAwayUntil).toBe(one.clock.now() + 24 * HOUR)
  one.clock.move(await one.waits())
  await one.poll()
  expect(pairNumbers((await one.readings()) ?? {})).toEqual({
    ...before,
    '0-1/0-2': { at: one.clock.now(), limit: 500, atLimit: 2, nearLimit: 1, fullest: 500 },
  })
  expect(Object.keys(await one.services.samples.read(HUB))).toEqual(['associations/0-1/0-1', 'associations/0-1/0-2'])
  expect(one.calls().filter((name) => name === 'associationSources')).toHaveLength(1)
})
