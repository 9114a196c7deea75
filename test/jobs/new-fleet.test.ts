import { expect, test } from 'vitest'
import type { PollWork } from '../../jobs/job-deps.ts'
import { pollLimits } from '../../jobs/poll-limits.ts'
import type { ChunkJob } from '../../jobs/queues.ts'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import { sweep, sweepCoverage } from '../../jobs/sweep.ts'
import { readRows } from '../../src/accounts/account-rows.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { importAccounts } from '../../src/accounts/import-accounts.ts'
import type { AlertSettings } from '../../src/alerts/evaluation/decide.ts'
import { CoverageStore, readNewFleet } from '../../src/limits/coverage.ts'
import { PollStore } from '../../src/limits/poll-store.ts'
import { SampleStore } from '../../src/limits/samples.ts'
import { ClockWatch, systemClock } from '../../src/runtime/clock.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { announcePoll, metadata, office, pageOf } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { type FakeAnswers, failure } from '../support/fake-provider.ts'
import { redisOfFile } from '../support/of-file.ts'
import { servicesOf } from '../support/services.ts'

const redis = redisOfFile()
const never = new AbortController().signal
const EVERY_MS = 900_000
/** PlannedSweeps for due tokens, each after the work of the one before. */
const LOOKS = 20

/** Accounts that were imported, and sweeps whose work is done before they end. */
async function newFleet(accounts: number, does: FakeAnswers = {}) {
  const keys = redis.freshKeys()
  const asked: string[] = []
  const noted = (what: string, token: Secret) => asked.push(`${what} ${token.reveal().split('-').at(-1)}`)
  const { deps: of } = office(redis.store, keys, {
    refresh: async (token) => {
      noted('refresh', token)
      const accessToken = new Secret(token.reveal().replace('refresh', 'access'))
      return { ok: true, value: { accessToken, lifetimeMs: 1_800_000, refreshToken: undefined } }
    },
    metadata: async (token) => {
      noted('metadata', token)
      return metadata({ hubId: Number(token.reveal().split('-').at(-1)) })
    },
    customProperties: async (token) => {
      noted('customProperties', token)
      return { ok: true, value: properties(10) }
    },
    associations: async (token) => {
      noted('associations', token)
      return { ok: true, value: associations(500) }
    },
    ...does,
  })
  const deps = { ...of, clock: systemClock }
  const due = new DueSets(redis.store, keys)
  const coverage = new CoverageStore(redis.store, keys, { objective: 0.95, freshnessMs: 93_600_000 })
  const polls = new PollStore(redis.store, keys)
  const jobs: Promise<void>[] = []
  const queue = (name: string, work: (job: ChunkJob) => Promise<void>) => ({
    name,
    getWaitingCount: async () => 0,
    addBulk: async (added: { data: ChunkJob }[]) => void jobs.push(...added.map(({ data }) => work(data))),
  })
  const woken = new Set<string>()
  const job: object = {
    ...deps,
    ...{ due, coverage, polls, metrics: createMetrics(), random: () => 0.5, uninstallAfterRefusedMs: 'never' as const },
    ...servicesOf(redis.store, keys),
    endpoint: openEndpoint(redis.store, keys, systemClock),
    share: { requests: 20, perMs: 10_000 },
    ...{
      pauseCalls: async () => {},
      stillPolling: () => {},
      announcePoll,
      alertAfter: 1_800_000,
      callBudget: undefined,
    },
    polling: {
      every: EVERY_MS,
      soonest: EVERY_MS,
      ...{ reports: ['customProperties', 'associations'], associations: [{ from: '0-1', to: '0-2' }] },
      pairsPerPoll: 20,
      accounts: [],
    },
    samples: new SampleStore(redis.store, keys, { records: 'full', keepMs: EVERY_MS }),
    alerts: {
      ...{ rules: [], recoverBelow: 3, for: 0, repeatEveryMs: EVERY_MS, firstRun: 'digest' },
      pageOf,
    } as AlertSettings,
    announceFleet: () => expect.fail('an alert about the fleet'),
    clockWatch: new ClockWatch(systemClock),
    progress: async () => {},
    queues: {
      refreshTokens: queue('refresh-tokens', (data) => refreshTokens(job as never, data, never)),
      pollLimits: queue('poll-limits', (data) => pollLimits(job as never as PollWork, data, never)),
      wake: async (kind: string) => void woken.add(kind),
    },
  }
  const rows = Array.from({ length: accounts }, (_, n) => `${n + 1},refresh-${n + 1}\n`)
  const bytes = (async function* () {
    yield Buffer.from(`hubId,refreshToken\n${rows.join('')}`)
  })()
  await importAccounts(deps, readRows(bytes, 'fleet.csv'), {
    ...{ replace: false, stop: never, onProgress: () => {}, onBad: () => {} },
  })
  const look = async (kind: 'refresh-tokens' | 'poll-limits') => {
    await sweep(job as never, kind)
    await Promise.all(jobs.splice(0))
  }
  return {
    ...{ keys, asked, woken, look },
    progress: () => readNewFleet(redis.store, keys),
    sweepCoverage: () => sweepCoverage(job as never),
    count: (what: string) => asked.filter((one) => one.startsWith(what)).length,
  }
}

test('each account of an imported fleet is refreshed, identified and read, in as many looks as its refreshes take', async () => {
  const ACCOUNTS = 200
  const fleet = await newFleet(ACCOUNTS)
  expect(await fleet.progress()).toEqual({ read: 0, total: ACCOUNTS })
  for (let looks = 0; looks < LOOKS && fleet.count('refresh') < ACCOUNTS; looks++) await fleet.look('refresh-tokens')
  expect(fleet.count('metadata')).toBe(ACCOUNTS)
  expect(fleet.count('customProperties')).toBe(0)
  expect(fleet.woken).toContain('poll-limits')
  await fleet.look('poll-limits')
  // Once each: nobody waited for a turn, or asked again.
  expect(fleet.asked).toHaveLength(4 * ACCOUNTS)
  expect(new Set(fleet.asked).size).toBe(4 * ACCOUNTS)
  expect(await fleet.progress()).toBeUndefined()
  await fleet.sweepCoverage()
  expect(await redis.store.keys(`${fleet.keys.prefix}:*first-readings`)).toEqual([])
})

test('how far a fleet has been read counts those that are read, and no longer those that must be connected again', async () => {
  const fleet = await newFleet(5, {
    refresh: async (token) => {
      if (token.reveal() === 'refresh-5') return failure('rejected')
      const accessToken = new Secret(token.reveal().replace('refresh', 'access'))
      return { ok: true, value: { accessToken, lifetimeMs: 1_800_000, refreshToken: undefined } }
    },
    customProperties: async (token) => {
      if (token.reveal() === 'access-4') return failure('transient')
      return { ok: true, value: properties(10) }
    },
    associations: async (token) => {
      if (token.reveal() === 'access-4') return failure('transient')
      return { ok: true, value: associations(500) }
    },
  })
  await fleet.look('refresh-tokens')
  await fleet.look('poll-limits')
  expect(await fleet.progress()).toEqual({ read: 3, total: 5 })
  await fleet.sweepCoverage()
  expect(await fleet.progress()).toEqual({ read: 3, total: 5 })
})
