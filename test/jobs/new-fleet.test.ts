import { expect, test } from 'vitest'
import { sweepFleet } from '../../jobs/sweep-fleet.ts'
import { readRows } from '../../src/accounts/account-rows.ts'
import { importRows } from '../../src/accounts/import-accounts.ts'
import { readNewFleet } from '../../src/limits/coverage.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import type { Secret } from '../../src/runtime/secret.ts'
import { metadata } from '../accounts/connected.ts'
import { associations, properties } from '../limits/reports.ts'
import { openEndpoint } from '../support/endpoint.ts'
import { type FakeAnswers, failure, tokens } from '../support/fake-provider.ts'
import { PAIR, pollsOfFile } from './polled.ts'

const polled = pollsOfFile()
const never = new AbortController().signal
/** Sweeps for due tokens, each after the work of the one before. */
const LOOKS = 20
const hubIdOf = (token: Secret) => Number(token.reveal().split('-').at(-1))
const refresh = async (token: Secret) => tokens(token.reveal().replace('refresh', 'access'))

/** Accounts that were imported, and sweeps whose work is done before they end. */
async function newFleet(accounts: number, does: FakeAnswers = {}) {
  const {
    services,
    store,
    keys,
    woken,
    provider,
    calls,
    work: look,
  } = await polled({
    hubIds: [],
    settings: { limits: { associations: [PAIR] }, alerts: { firstRun: 'digest' } },
    provider: { refresh, metadata: async (token) => metadata({ hubId: hubIdOf(token) }), ...does },
    change: ({ store, keys }) => ({
      endpoint: openEndpoint(store, keys, systemClock),
      announceFleet: () => expect.fail('an alert about the fleet'),
    }),
  })
  const rows = Array.from({ length: accounts }, (_, n) => `${n + 1},refresh-${n + 1}\n`)
  const bytes = (async function* () {
    yield Buffer.from(`hubId,refreshToken\n${rows.join('')}`)
  })()
  await importRows(services, readRows(bytes, 'fleet.csv'), {
    replace: false,
    stop: never,
    onProgress: () => {},
    onBad: () => {},
  })
  return {
    store,
    keys,
    woken,
    asked: () => provider.calls.map(([what, token]) => `${what} ${token}`),
    look,
    progress: () => readNewFleet(store, keys),
    sweepFleet: () => sweepFleet(services),
    count: (what: string) => calls().filter((one) => one === what).length,
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
  expect(fleet.asked()).toHaveLength(4 * ACCOUNTS)
  expect(new Set(fleet.asked()).size).toBe(4 * ACCOUNTS)
  expect(await fleet.progress()).toBeUndefined()
  await fleet.sweepFleet()
  expect(await fleet.store.keys(`{${fleet.keys.prefix}}:first-readings`)).toEqual([])
})

test('how far a fleet has been read counts those that are read, and no longer those that must be connected again', async () => {
  const read = async (token: Secret, value: object) =>
    hubIdOf(token) === 4 ? failure('transient') : { ok: true as const, value }
  const fleet = await newFleet(5, {
    refresh: async (token) => (hubIdOf(token) === 5 ? failure('rejected') : refresh(token)),
    customProperties: (token) => read(token, properties(10)),
    associations: (token) => read(token, associations(500)),
  })
  await fleet.look('refresh-tokens')
  await fleet.look('poll-limits')
  expect(await fleet.progress()).toEqual({ read: 3, total: 5 })
  await fleet.sweepFleet()
  expect(await fleet.progress()).toEqual({ read: 3, total: 5 })
})
