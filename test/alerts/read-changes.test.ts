import { expect, test } from 'vitest'
import { readRows } from '../../src/accounts/account-rows.ts'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { importRows } from '../../src/accounts/import-accounts.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import type { Alert } from '../../src/alerts/alert.ts'
import { encodeEntry } from '../../src/alerts/outbox.ts'
import { readChanges } from '../../src/alerts/read-changes.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { metadata } from '../accounts/connected.ts'
import { CodeDoor } from '../support/endpoint.ts'
import { type FakeAnswers, tokens } from '../support/fake-provider.ts'
import { worldOfFile } from '../support/world.ts'
import { anAlert } from './an-alert.ts'

const world = worldOfFile()
const HOUR = 3_600_000
const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const whole = { since: NOW - 24 * HOUR, until: NOW, mostOfEach: 100 }
const iso = (at: number) => new Date(at).toISOString()

async function fleet(provider: FakeAnswers = {}) {
  const w = await world({ provider })
  const { store, keys } = w
  const log = (...alerts: Alert[]) =>
    Promise.all(alerts.map((alert) => store.xadd(keys.transitions, '*', 'alert', encodeEntry({ alert }))))
  return { ...w, log, read: (more = {}) => readChanges(w, { ...whole, ...more }) }
}

const on = (hubId: number, more: Partial<Alert> = {}) =>
  anAlert({ account: { hubId, hubDomain: `n${hubId}.example.com` }, measuredAt: iso(NOW - HOUR), ...more })

test('nothing changed where nothing happened, or only before', async () => {
  const { read, log } = await fleet()
  await log(on(1, { measuredAt: iso(NOW - 25 * HOUR) }))
  const { counts, ...nothing } = await read()
  expect(nothing).toEqual({ since: iso(NOW - 24 * HOUR), until: iso(NOW), items: [], leftOut: 0 })
  expect(new Set(Object.values(counts))).toEqual(new Set([0]))
})

test('all accounts are in one list, and what does not fit is counted', async () => {
  const { read, log } = await fleet()
  const hubIds = Array.from({ length: 130 }, (_, n) => n + 1)
  await log(...hubIds.map((hubId) => on(hubId, { percent: hubId, level: hubId === 7 ? 'critical' : 'warning' })))
  const { items, counts, leftOut } = await read({ mostOfEach: 3 })
  expect(items.map(({ account }) => account?.hubId)).toEqual([7, 130, 129])
  expect([counts.entered, leftOut]).toEqual([130, 127])
})

test('accounts that are connected, come back and are uninstalled are there by their names', async () => {
  const { read, clock, services } = await fleet({
    exchangeCode: async () => tokens('access-1', 'refresh-1'),
    metadata: async () => metadata({ hubId: 5, hubDomain: 'n5.example.com' }),
  })
  const deps = { ...services, endpoint: new CodeDoor() }
  const at = clock.now()
  const readNow = () => read({ since: at, until: clock.now() })
  await connectWithCode(deps, new Secret('code'))
  expect((await readNow()).items).toEqual([
    { change: 'connected', at: iso(at), account: { hubId: 5, hubDomain: 'n5.example.com' }, times: 1 },
  ])
  clock.move(HOUR)
  await connectWithCode(deps, new Secret('code'))
  clock.move(HOUR)
  await beginUninstall(deps, 5, { by: 'cli', reason: 'the customer left' })
  expect((await readNow()).items).toMatchObject([
    { change: 'uninstalled', before: 'connected', times: 3, at: iso(at + 2 * HOUR), account: { hubId: 5 } },
  ])
  expect((await read({ since: at + HOUR })).items).toMatchObject([{ change: 'uninstalled', before: 'reconnected' }])
})

test('an imported account is connected, one that is replaced reconnected, one that is kept neither', async () => {
  const { read, clock, services } = await fleet()
  const since = clock.now()
  const bring = (text: string, replace = false) => {
    const rows = readRows(
      (async function* () {
        yield Buffer.from(text)
      })(),
      'a.csv',
    )
    const more = { replace, stop: new AbortController().signal, onProgress: () => {}, onBad: () => {} }
    return importRows(services, rows, more)
  }
  await bring('hubId,refreshToken\n1,r1\n2,r2\n')
  await bring('hubId,refreshToken\n1,r1\n')
  await bring('hubId,refreshToken\n2,r3\n', true)
  const { items } = await read({ since, until: clock.now() })
  expect(items.map(({ change, account }) => [change, account?.hubId])).toEqual([
    ['reconnected', 2],
    ['connected', 1],
  ])
})

test('where the oldest were cut off it names since when all are kept', async () => {
  const { read, keys, store } = await fleet()
  expect(await read()).not.toHaveProperty('keptSince')
  const pipeline = store.pipeline()
  const { accountLog } = keys
  for (let n = 0; n < 100_000; n++) {
    pipeline.xadd(accountLog, '*', 'hubId', n, 'event', 'connected', 'at', NOW - 12 * HOUR + n)
  }
  await pipeline.exec()
  const { keptSince, counts } = await read()
  expect([keptSince, counts.connected]).toEqual([iso(NOW - 12 * HOUR), 100_000])
  expect(await read({ since: NOW - 12 * HOUR })).not.toHaveProperty('keptSince')
})

test('what can not be read takes nothing else along', async () => {
  const { read, log, keys, store } = await fleet()
  await log(on(1))
  await store.xadd(keys.transitions, '*', 'alert', 'no JSON')
  await store.xadd(keys.transitions, '*', 'alert', '{"alert":{"measuredAt":"2026-11-21T09:30:00.000Z"}}')
  await store.xadd(keys.transitions, '*', 'alert', '{"alert":null}')
  await store.xadd(keys.accountLog, '*', 'hubId', 'x', 'event', 'connected', 'at', NOW)
  await store.xadd(keys.accountLog, '*', 'other', 'field')
  await store.xadd(keys.accountLog, '*', 'hubId', 65, 'event', 'connected', 'at', NOW)
  await store.set(keys.account(65).account, 'no hash')
  const { items } = await read()
  expect(items.map(({ change, account }) => [change, account?.hubId, account?.hubDomain])).toEqual([
    ['connected', 65, ''],
    ['entered', 1, 'n1.example.com'],
  ])
})

test('the logs of a fleet on fire, all of them full, are read page by page', async () => {
  const { read, keys, store } = await fleet()
  const { transitions, accountLog } = keys
  for (let first = 0; first < 50_000; first += 1_000) {
    const pipeline = store.pipeline()
    for (let n = first; n < first + 1_000; n++) {
      const records = { shown: 3, total: 3, items: [1, 2, 3].map((objectId) => ({ objectId, label: 'a'.repeat(60) })) }
      pipeline.xadd(transitions, '*', 'alert', encodeEntry({ alert: on(n + 1, { percent: n % 1_000, records }) }))
      pipeline.xadd(accountLog, '*', 'hubId', n + 1, 'event', 'connected', 'at', NOW)
    }
    await pipeline.exec()
  }
  let turns = 0
  let isReading = true
  const count = () => {
    turns++
    if (isReading) setImmediate(count)
  }
  count()
  const { counts, items, leftOut, keptSince } = await read()
  isReading = false
  expect([counts.entered, counts.connected, items.length, leftOut]).toEqual([50_000, 50_000, 200, 99_800])
  expect(keptSince).toBe(iso(NOW - HOUR))
  // Every page of it leaves the event loop to others.
  expect(turns).toBeGreaterThan(200)
})
