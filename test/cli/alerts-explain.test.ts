import { beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { encodeState, openedState } from '../../src/alerts/alert-state.ts'
import type { AlertsDeps } from '../../src/alerts/deps.ts'
import { SilenceStore } from '../../src/alerts/silence-store.ts'
import { ruleSetOf } from '../../src/app/settings.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { dump, seedAccount } from '../support/accounts.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { sendToMailAlone } from '../support/send-to-mail-alone.ts'
import { commandsOfFile } from './commands-of-file.ts'

const MINUTE = 60_000
const NOW = Date.parse('2026-11-21T10:00:00.000Z')
const [FULL, UNREAD, PENDING, QUIET, GONE, SILENT, MOVED, LOWERED] = [1, 2, 3, 4, 5, 6, 7, 8] as const

let store: Store
let keys: Keys
let relay: AlertsDeps

const installed = commandsOfFile({
  limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] },
  thresholds: [
    { name: 'quiet', on: '*', match: { account: ['*.quiet.example.com'] }, off: true },
    { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
    { name: 'slow', on: 'customProperties.objectType', match: { objectType: '2-*' }, warning: { percent: 80 } },
    { name: 'full', on: 'associations.atLimit', warning: { count: 1 } },
  ] as object,
  alerts: { firstRun: 'alert', for: 3, group: { by: ['rule', 'account'], wait: '30s', interval: '5m' } },
  routes: [
    { match: { level: 'critical' }, to: ['ops-mail', 'ops-hook'] },
    { match: { kind: 'limit' }, to: ['ops-mail'] },
  ] as object,
})

beforeAll(async () => {
  store = installed.store
  keys = installed.keys
  const rules = rulesOf()
  relay = {
    store,
    keys,
    routes: rules.routes,
    receivers: ['ops-mail', 'ops-hook'],
    log: logLines().log,
    silences: new SilenceStore(store, keys, {}),
    group: rules.group,
  }
  const names = {
    [FULL]: 'full',
    [UNREAD]: 'unread',
    [PENDING]: 'pending',
    [QUIET]: 'a.quiet',
    [GONE]: 'gone',
    [SILENT]: 'silent',
    [MOVED]: 'moved',
    [LOWERED]: 'lowered',
  }
  for (const [hubId, name] of Object.entries(names)) {
    await seedAccount(store, keys, {
      hubId: Number(hubId),
      hubDomain: `${name}.example.com`,
      obtainedAt: NOW - 60 * MINUTE,
    })
  }
  await poll(FULL, NOW - 30 * MINUTE, 850)
  await send(NOW - 30 * MINUTE)
  await poll(FULL, NOW - 15 * MINUTE, 960)
  await poll(QUIET, NOW - 15 * MINUTE, 999)
  await poll(PENDING, NOW - 15 * MINUTE, 850, 3)
})
function rulesOf() {
  const loaded = loadConfig({ file: installed.config, env: {}, cwd: installed.folder, now: NOW })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return ruleSetOf(loaded.config)
}

async function poll(hubId: number, at: number, usage: number, polls = 0, limit = 1_000): Promise<void> {
  const report = readings(at, properties(usage, limit, { '0-1': [10, 1_000] }), { '0-1/0-2': associations(10) })
  await pollAndTell(store, keys, { ...rulesOf(), for: polls, pageOf: () => '' }, hubId, at, report)
}

const send = (at: number) => sendToMailAlone(relay, at)

/** All that stands in Redis; but for hashes that lost a long field, which come in another order each time. */
async function written() {
  return Object.entries(await dump(store, keys)).filter(([key]) => !key.includes(':delivery:msg_'))
}

/** As on a terminal of 80 columns. */
const explain = (...args: string[]) =>
  plimsollHere(['alerts', 'explain', ...args, '--config', installed.config], installed.folder, {
    isTerminal: true,
    columns: 80,
    clock: new HandClock(NOW),
  })

test('each attempt is told, and what waits for whom until when; nothing is written', async () => {
  await send(NOW - 14 * MINUTE)
  // What the first command notes: of the keys, and of the format.
  await explain(String(FULL))
  const before = await written()
  const { out } = await explain(String(FULL))
  expect(out).toMatch(/held back +for ops-hook: on its way, next attempt 2026-11-21 09:46 UTC\n/)
  expect(out).toMatch(/transition +2026-11-21 09:45 UTC critical escalated at 96 %, pending\n/)
  expect(out).toMatch(/ops-mail: delivered 2026-11-21 09:46 UTC \(attempt 1: 250 taken\)\n/)
  expect(out).toMatch(/ops-hook: retry 2026-11-21 09:46 UTC \(attempt 1: 503 not now\)\n/)
  expect(await written()).toEqual(before)
})

test('an open alert has one id, in the list, explained and acknowledged, whatever its series told last', async () => {
  await poll(LOWERED, NOW - 20 * MINUTE, 850)
  await poll(LOWERED, NOW - 10 * MINUTE, 850, 0, 1_010)
  const { out } = await explain(String(LOWERED))
  expect(out).toMatch(/transition +2026-11-21 09:50 UTC limit changed at 84.2 %, pending\n/)
  const [, id = ''] = /^alert +(\S+)$/m.exec(out) ?? []
  const json = JSON.parse((await explain(String(LOWERED), '--series', 'overall', '--json')).out)
  expect(json.series[0].alert).toBe(id)
  const list = await plimsollHere(['alerts', 'list', '--json', '--config', installed.config], installed.folder, {})
  const listed = JSON.parse(list.out).filter(({ hubId }: { hubId: number }) => hubId === LOWERED)
  expect(listed.map((alert: { id: string }) => alert.id)).toEqual([id])
  for (const given of [id, `${id}-1`]) {
    const acknowledged = await plimsollHere(
      ['alerts', 'ack', given, '--json', '--config', installed.config],
      installed.folder,
      {},
    )
    expect(acknowledged).toMatchObject({ code: 0, err: '' })
    expect(JSON.parse(acknowledged.out)).toMatchObject({ id, hubId: LOWERED })
  }
})

test('a level that the config no longer asks for is still open, and the rule that ends it is named', async () => {
  const stored = encodeState({ ...openedState('critical', 'customProperties.overall', NOW - MINUTE) })
  await store.hset(keys.account(QUIET).alerts, 'overall', stored)
  const { out } = await explain(String(QUIET), '--series', 'overall')
  expect(out).toMatch(/state +critical, the alert has been open since 2026-11-21 09:59 UTC\n/)
  expect(out).toMatch(/because +the rule quiet is off: it is not watched\n/)
})

test('a number beyond a threshold that came after the last poll is not called ok', async () => {
  await seedAccount(store, keys, { hubId: 10, hubDomain: 'later.example.com', obtainedAt: NOW - 60 * MINUTE })
  await poll(10, NOW - 10 * MINUTE, 960)
  await store.del(keys.account(10).alerts)
  const { out } = await explain('10', '--series', 'overall')
  expect(out).toMatch(/state +pending\n/)
})

test('as a process, an account that left is said to be gone', async () => {
  await store.hset(keys.account(GONE).account, {
    state: 'uninstalled',
    uninstallReason: 'asked',
    uninstallAskedAt: '1',
    uninstallBy: 'cli',
  })
  const ran = await plimsoll(['alerts', 'explain', String(GONE), '--config', installed.config], installed.folder)
  expect(ran).toMatchObject({ code: 0, err: '' })
  expect(ran.out).toContain(
    'its refresh token is deleted. Its record and readings are deleted at an unknown time. Reason: asked.',
  )
})
