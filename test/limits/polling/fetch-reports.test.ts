import { describe, expect, test } from 'vitest'
import type { Pair } from '../../../src/limits/pair.ts'
import type { PollState } from '../../../src/limits/poll-state.ts'
import { AccountCalls, type FetchDeps } from '../../../src/limits/polling/account-calls.ts'
import { type Answers, readAnswers } from '../../../src/limits/polling/answers.ts'
import { fetchReports, type PollTarget, wasUnauthorized } from '../../../src/limits/polling/fetch-reports.ts'
import { failuresOf, mergeReadings, NOT_ASKED, type Readings, type Reports } from '../../../src/limits/readings.ts'
import { REPORTS } from '../../../src/limits/reports/all-reports.ts'
import { InFlight } from '../../../src/runtime/concurrency.ts'
import { Secret } from '../../../src/runtime/secret.ts'
import { type FakeAnswers, fails, fakeProvider, reads } from '../../support/fake-provider.ts'
import { HandClock } from '../../support/hand-clock.ts'
import { associations, pairNumbers, pairReports, polledState, properties, readBody, readings } from '../reports.ts'

const HUB = 123
const token = new Secret('access-1')
const PAIRS: Pair[] = [
  { from: '0-1', to: '0-2' },
  { from: '0-1', to: '0-3' },
]
type All = PollTarget['settings'] &
  Omit<Partial<PollState>, 'readings'> & { readings: Readings | undefined; pausedUntil: number }
const listed = (pairs: Pair[], readings?: Readings): All => ({ ...AUTO, pairs, readings })
const AUTO: All = {
  reports: REPORTS.slice(0, 2),
  pairs: 'auto',
  pairsPerPoll: 20,
  soonestMs: 60_000,
  readings: undefined,
  pausedUntil: 0,
}
const TYPES = properties(6, 100, { '0-1': [1, 9], '0-2': [2, 9], '2-7': [3, 9] })
const never = new AbortController().signal
type Fetched = { reports: Reports } | undefined
const pairsOf = (answers: Fetched) => pairReports(answers?.reports ?? [])
const callsOf = (answers: Pick<Answers, 'calls'> | undefined) =>
  answers?.calls?.reduce((sum, [, calls]) => sum + calls, 0)
const ownOf = (answers: Fetched) => answers?.reports.get('customProperties')

function worker(does: FakeAnswers = {}, requests = 20, clock = new HandClock()) {
  const provider = fakeProvider({
    customProperties: reads(properties(1)),
    associations: reads(associations(5)),
    ...does,
  })
  const paused: [hubId: number, until: number][] = []
  const deps: FetchDeps = {
    provider,
    share: { requests, perMs: 10_000 },
    inFlight: new InFlight(64),
    clock,
    stillPolling: () => {},
    pauseCalls: async (hubId, until) => void paused.push([hubId, until]),
  }
  const hear = ({ reports, pairs, pairsPerPoll, soonestMs, readings, pausedUntil, ...notes }: All, signal = never) => {
    const account = { state: polledState(1, readings, notes), pausedUntil }
    const calls = new AccountCalls(deps, { hubId: HUB, before: notes.calls }, signal)
    const settings = { reports, pairs, pairsPerPoll, soonestMs }
    return fetchReports(deps, { hubId: HUB, accessToken: token, account, settings, asksAll: false }, calls)
  }
  /** All that is heard, read; `failures`: all of it that failed. */
  const fetch = async (asked: All, signal = never) => {
    const answers = await hear(asked, signal)
    if (answers === undefined) return undefined
    const reports = readAnswers(answers)
    return { ...answers, reports, failures: [...failuresOf(reports.values()), ...answers.troubles] }
  }
  return { hear, fetch, provider, clock, paused }
}

describe('fetching the reports of an account', () => {
  test.each<[string, FakeAnswers, All]>([
    ['customProperties', { customProperties: fails('unauthorized') }, listed(PAIRS)],
    ['a pair', { associations: fails('unauthorized') }, listed(PAIRS)],
    ['a companion', { customProperties: reads(TYPES), associationSources: fails('unauthorized') }, AUTO],
  ])('tells that the access token was not accepted by %s', async (_, does, asked) => {
    const fetched = await worker(does).fetch(asked)
    expect(fetched && wasUnauthorized(fetched)).toBe(true)
  })

  test('is nothing when it is told to stop between two batches, and the calls of the next are not made', async () => {
    const { fetch, provider, clock } = worker({}, 2)
    const stop = new AbortController()
    const fetching = fetch(listed(PAIRS), stop.signal)
    await clock.sleeper()
    stop.abort(new Error('SIGTERM'))
    expect(await fetching).toBeUndefined()
    expect(provider.calls).toHaveLength(2)
  })
})

describe('a poll that is told that it is enough', () => {
  test('has nothing to say of pairs that it did not come to and that were never read', async () => {
    const { fetch, clock } = worker()
    const asked = { ...listed(PAIRS), pausedUntil: clock.now() + 60_000 }
    const fetched = await fetch(asked)
    expect([...(fetched?.reports.keys() ?? [])]).toEqual(['customProperties'])
  })

  test('asks first, the next time, for what has waited longest', async () => {
    const { fetch, provider } = worker({}, 20)
    const before = readings(1, undefined, { '0-1/0-2': associations(1) })
    const fetched = await fetch(listed(PAIRS, before))
    expect(provider.calls.map(([, , , to]) => to)).toEqual([undefined, '0-3', '0-2'])
    // What it hands on stands in the same order each time.
    expect([...pairsOf(fetched).keys()]).toEqual(['0-1/0-2', '0-1/0-3'])
  })
})

describe('with automatic pairs', () => {
  const report = TYPES
  const named = (...ids: string[]) => ({
    ok: true as const,
    value: ids.map((objectTypeId) => ({ objectTypeId, hasRecordsAtLimit: true, hasRecordsNearLimit: false })),
  })
  const auto = (does: FakeAnswers = {}) =>
    worker(
      {
        customProperties: reads(report),
        associationSources: async () => named('0-1', '2-7'),
        associationTargets: async (_token, from) => (from === '0-1' ? named('2-7') : named('0-2', '2-7')),
        ...does,
      },
      1_000,
    )
  const away = (status: number) => fails(status === 403 ? 'forbidden' : 'client', { status })
  const names = (calls: string[][]) => calls.map(([name, , ...args]) => [name, ...args].join(' '))

  test('a first poll learns the object types, asks which pairs have something to tell, and asks for these', async () => {
    const { fetch, provider } = auto()
    const fetched = await fetch(AUTO)
    expect(names(provider.calls)).toEqual([
      'customProperties',
      'associationSources',
      'associationTargets 0-1',
      'associationTargets 2-7',
      'associations 0-1 2-7',
      'associations 2-7 0-2',
      'associations 2-7 2-7',
    ])
    expect([...pairsOf(fetched).keys()]).toEqual(['0-1/2-7', '2-7/0-2', '2-7/2-7'])
    expect(ownOf(fetched)).toEqual(readBody('customProperties', report))
    expect(fetched).toMatchObject({ failures: [] })
    expect(callsOf(fetched)).toBe(7)
  })

  test('a pair that is no longer named is asked for until it has nothing, then reads as nothing without a call', async () => {
    const { fetch, provider, clock } = auto({ associationSources: async () => named() })
    const before = readings(1, report, { '0-1/0-2': associations(50, [45]), '0-2/0-1': associations(70) })
    const fetched = await fetch({ ...AUTO, readings: before })
    expect(names(provider.calls).slice(2)).toEqual(['associations 0-1 0-2'])
    const at = clock.now()
    expect(fetched && pairNumbers(mergeReadings(before, fetched))).toEqual({
      '0-1/0-2': { at, limit: 5, atLimit: 0, nearLimit: 0, fullest: 0 },
      '0-2/0-1': { at, limit: 70, atLimit: 0, nearLimit: 0, fullest: 0 },
    })
  })

  test.each([400, 403, 404, 405])(
    'where the companions answer %i pairs take turns, and for a day nobody asks again',
    async (status) => {
      const { fetch, provider, clock } = auto({ associationSources: away(status) })
      const first = await fetch({ ...AUTO, pairsPerPoll: 6 })
      const until = clock.now() + 24 * 3_600_000
      expect(first).toMatchObject({ failures: [], companionsAwayUntil: until })
      expect(callsOf(first)).toBe(8)
      const before = first && mergeReadings(undefined, first)
      provider.calls.length = 0
      clock.move(1_000)
      const asked = { ...AUTO, pairsPerPoll: 6, readings: before, companionsAwayUntil: until }
      const second = await fetch(asked)
      expect(names(provider.calls)).toEqual([
        'customProperties',
        'associations 2-7 0-1',
        'associations 2-7 0-2',
        'associations 2-7 2-7',
        'associations 0-1 0-1',
        'associations 0-1 0-2',
        'associations 0-1 2-7',
      ])
      expect(second?.companionsAwayUntil).toBeUndefined()
      // Those whose turn it was not stay as they were.
      expect(pairsOf(second).get('0-2/0-1')).toBe(NOT_ASKED)
      expect(Object.keys(pairNumbers(mergeReadings(before, second as never)))).toHaveLength(9)
      provider.calls.length = 0
      clock.move(24 * 3_600_000)
      await fetch(asked)
      expect(names(provider.calls)).toContain('associationSources')
    },
  )

  test('where only one of the two companions is there they are not there', async () => {
    const { fetch, clock } = auto({ associationTargets: away(404) })
    const fetched = await fetch(AUTO)
    expect(pairsOf(fetched).size).toBe(9)
    expect(fetched).toMatchObject({ failures: [], companionsAwayUntil: clock.now() + 24 * 3_600_000 })
  })

  test('a companion that fails is a failure of the poll, and loses neither what was read nor pairs that had records', async () => {
    const { fetch, provider, clock } = auto({ associationSources: fails('transient', { status: 503 }) })
    const before = readings(1, report, { '0-1/0-2': associations(50, [45]), '0-2/0-1': associations(70) })
    const fetched = await fetch({ ...AUTO, readings: before })
    expect(names(provider.calls)).toEqual(['customProperties', 'associationSources', 'associations 0-1 0-2'])
    expect(fetched?.failures).toMatchObject([{ class: 'transient', status: 503 }])
    expect(fetched?.companionsAwayUntil).toBeUndefined()
    const after = mergeReadings(before, fetched as never)
    expect(after.customProperties).toEqual(readings(clock.now(), report).customProperties)
    expect(pairNumbers(after)).toEqual({
      '0-1/0-2': { at: clock.now(), limit: 5, atLimit: 0, nearLimit: 0, fullest: 0 },
      '0-2/0-1': pairNumbers(before)['0-2/0-1'],
    })
  })

  test('all that had something to tell was seen, unless one was left out, failed, or nobody could say', async () => {
    const seen = async (does: FakeAnswers, asked = AUTO) => (await auto(does).fetch(asked))?.allPairsRead
    expect(await seen({})).toBe(true)
    expect(await seen({}, { ...AUTO, pairsPerPoll: 2 })).toBe(false)
    expect(await seen({ associations: fails('transient', { status: 503 }) })).toBe(false)
    expect(await seen({ associationTargets: fails('transient', { status: 503 }) })).toBe(false)
    expect(await seen({ associationSources: away(404) })).toBe(false)
  })

  test.each(['unauthorized', 'forbidden'] as const)(
    'a report that is %s is not followed by more of the same',
    async (kind) => {
      const { fetch, provider } = auto({ customProperties: fails(kind) })
      const before = readings(1, report, { '0-1/0-2': associations(9, [8]) })
      const fetched = await fetch({ ...AUTO, readings: before })
      expect(provider.calls).toHaveLength(1)
      expect(fetched && mergeReadings(before, fetched)).toEqual(before)
      expect(fetched && wasUnauthorized(fetched)).toBe(kind === 'unauthorized')
    },
  )

  test('a report that fails is no reason not to ask for the pairs of the object types that were known', async () => {
    const { fetch, provider } = auto({ customProperties: fails('transient', { status: 500 }) })
    const fetched = await fetch({ ...AUTO, readings: readings(1, report) })
    expect(names(provider.calls)).toContain('associations 0-1 2-7')
    expect(fetched?.failures).toHaveLength(1)
    provider.calls.length = 0
    await fetch(AUTO)
    expect(provider.calls).toHaveLength(1)
  })

  test('pairs of an object type that is gone are gone', async () => {
    const { fetch } = auto({ associationSources: away(404) })
    const before = readings(1, report, { '0-1/2-9': associations(9, [8]), '2-7/0-1': associations(9) })
    const fetched = await fetch({ ...AUTO, pairsPerPoll: 1, readings: before })
    expect(Object.keys(pairNumbers(mergeReadings(before, fetched as never))).sort()).toEqual(['0-1/0-1', '2-7/0-1'])
  })

  test('a pair that nobody has heard of has nothing; one that was read before and now is not there failed', async () => {
    const { fetch } = auto({ associationSources: away(404), associations: away(404) })
    const before = readings(1, report, { '0-1/0-2': associations(9, [8]) })
    const fetched = await fetch({ ...AUTO, readings: before })
    expect(fetched?.failures).toHaveLength(1)
    const after = mergeReadings(before, fetched as never)
    expect(pairNumbers(after)['0-1/0-2']).toEqual(pairNumbers(before)['0-1/0-2'])
    expect(pairNumbers(after)['0-2/0-1']).toMatchObject({ limit: 0, atLimit: 0, nearLimit: 0 })
    const again = await fetch({ ...AUTO, readings: { 'associations/0-2/0-1': after['associations/0-2/0-1'] as never } })
    expect(again?.failures).toEqual([])
  })
})
