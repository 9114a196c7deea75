import { beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { acknowledgeState } from '../../src/alerts/acknowledge.ts'
import { encodeState, openedState } from '../../src/alerts/alert-state.ts'
import type { AlertsDeps } from '../../src/alerts/deps.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { SilenceStore } from '../../src/alerts/silence-store.ts'
import { ruleSetOf } from '../../src/app/settings.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import type { Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { dump, seedAccount } from '../support/accounts.ts'
import { changeWatch } from '../support/changed-watch.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { stateIn } from '../support/state-in.ts'
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

/** What waits goes out: to the mail server, which takes it, and to the hook, which does not. */
async function send(at: number): Promise<void> {
  await sendAlerts(relay, at)
  await sendAlerts(relay, at + 30_000)
  const deliveries = new Deliveries(store, keys)
  const { ids } = await deliveries.claim(at + 30_000, 100)
  for (const id of ids) {
    const delivery = await deliveries.begin(id, at + 30_000)
    if (typeof delivery !== 'object') throw new Error(`no delivery ${id}`)
    const isMail = delivery.receiver === 'ops-mail'
    const record = isMail
      ? { outcome: 'delivered' as const, nextAt: null, reason: '250 taken', ms: 80 }
      : { outcome: 'retry' as const, nextAt: at + 35_000, reason: '503 not now', ms: 90 }
    await deliveries.record(delivery, record, at + 31_000)
  }
}

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

test('an alert is explained by its reading, the rule that decides and where it stands, and what was sent', async () => {
  const { code, out } = await explain(String(FULL))
  const { series } = JSON.parse((await explain(String(FULL), '--json')).out)
  const { id } = series.find((one: { id: string }) => one.id === 'overall').transitions[0].alert
  const alertId = id.slice(0, id.indexOf('-'))
  expect(code).toBe(0)
  expect(out).toBe(`account       1 full.example.com (active)
note          Its access token expired 30 min ago, and no daemon has refreshed
              it.
limits read   2026-11-21 09:45 UTC
next poll     2026-11-21 10:00 UTC
next refresh  2026-11-21 09:18 UTC

what     its tokens
state    failing
because  Its access token expired 30 min ago, and no daemon has refreshed it

what        Custom properties [overall]
reading     960 of 1,000 (96 %), read 2026-11-21 09:45 UTC
rule        custom properties (thresholds line 105): warning from 80 %, critical
            from 95 %
state       critical, the alert has been open since 2026-11-21 09:30 UTC
alert       ${alertId}
because     96 %, at or above the critical threshold (95 %)
held back   waits in the outbox to be collected
transition  2026-11-21 09:45 UTC critical escalated at 96 %, pending
transition  2026-11-21 09:30 UTC warning entered at 85 %, delivered
            ops-mail: delivered 2026-11-21 09:30 UTC (attempt 1: 250 taken)

STATE  WHAT                              WHY                                RULE
ok     reading its limits                Limits were read 15 min ago; next
                                         poll due now
ok     Records of Things of 0-1 with     0, below the warning threshold     full
       the maximum of companies          (1)
off    Things of 0-1: custom properties  no rule watches it
off    Companies per record of Things    no rule watches it
       of 0-1
off    Records of Things of 0-1 close    no rule watches it
       to the maximum of companies
`)
})

test('a level that more polls must agree on says how many do', async () => {
  const { out } = await explain(String(PENDING))
  expect(out).toMatch(/^state +pending$/m)
  expect(out.replace(/\n +/g, ' ')).toMatch(
    /^because +1 of 3 polls agrees on warning: 85 %, at or above the warning threshold \(80 %\)$/m,
  )
})

test('an account that was never read is said to be so', async () => {
  const { code, out } = await explain(String(UNREAD))
  expect(code).toBe(0)
  expect(out).toContain('Limits have not been read yet; the next poll is overdue by 1 h.')
  expect(out).toContain('limits read   never\n')
})

test('what a rule turns off names the rule, and --all shows it in full', async () => {
  const { out } = await explain(String(QUIET), '--all')
  expect(out).toContain('rule     quiet (thresholds line 95): off\n')
  expect(out).toContain('state    off\nbecause  the rule quiet is off: it is not watched\n')
})

test('--series shows one series, by its id or its metric, and knows the near miss', async () => {
  const { out } = await explain(String(FULL), '--series', 'type/0-1')
  expect(out.match(/^what/gm)).toHaveLength(1)
  const byMetric = JSON.parse((await explain(String(FULL), '--series', 'associations.atLimit', '--json')).out)
  expect(byMetric.series.map(({ id }: { id: string }) => id)).toEqual(['at/0-1/0-2'])
  const missed = await explain(String(FULL), '--series', 'overal')
  expect(missed).toMatchObject({ code: 1, err: 'plimsoll: the account has no series overal: did you mean overall?\n' })
})

test('an account that nobody knows is refused with a way out', async () => {
  const ran = await explain('42')
  expect(ran).toMatchObject({
    code: 1,
    out: '',
    err: 'plimsoll: there is no account 42: plimsoll accounts list shows all\n',
  })
  expect(await explain('acme')).toMatchObject({ code: 1, out: '' })
})

test('each attempt is told, and what waits for whom until when; nothing is written', async () => {
  await send(NOW - 14 * MINUTE)
  const before = await written()
  const { out } = await explain(String(FULL))
  expect(out).toMatch(/held back +for ops-hook: on its way, next attempt 2026-11-21 09:46 UTC\n/)
  expect(out).toMatch(/transition +2026-11-21 09:45 UTC critical escalated at 96 %, pending\n/)
  expect(out).toMatch(/ops-mail: delivered 2026-11-21 09:46 UTC \(attempt 1: 250 taken\)\n/)
  expect(out).toMatch(/ops-hook: retry 2026-11-21 09:46 UTC \(attempt 1: 503 not now\)\n/)
  expect(await written()).toEqual(before)
})

test('a silence and an acknowledgement are named with who, until when and why, and what they held back', async () => {
  const silences = new SilenceStore(store, keys, {})
  const silence = await silences.add({
    matchers: [{ name: 'account', value: String(SILENT) }],
    author: 'ann',
    comment: 'they know',
    createdAt: NOW - 60 * MINUTE,
    endsAt: NOW + 60 * MINUTE,
  })
  await poll(SILENT, NOW - 10 * MINUTE, 900)
  const field = 'overall'
  const stored = (await store.hget(keys.account(SILENT).alerts, field)) ?? ''
  const known = acknowledgeState(stateIn(stored), {
    by: 'bob',
    at: NOW - 5 * MINUTE,
    until: NOW + 24 * 60 * MINUTE,
  })
  await store.hset(keys.account(SILENT).alerts, field, encodeState(known))
  await send(NOW - 9 * MINUTE)
  const { out } = await explain(String(SILENT))
  expect(out).toMatch(/^acknowledged +by bob 2026-11-21 09:55 UTC, until 2026-11-22 10:00 UTC$/m)
  expect(out.replace(/\n +/g, ' ')).toContain(
    `held back     for ops-mail: is held back by silence ${silence.id} until 2026-11-21 11:00 UTC\n`,
  )
  const { series } = JSON.parse((await explain(String(SILENT), '--json')).out)
  expect(series[0].acknowledged).toMatchObject({ by: 'bob', until: new Date(NOW + 24 * 60 * MINUTE).toISOString() })
})

test('a limit that moved is no level that was entered, and waits for people though nothing is open', async () => {
  await poll(MOVED, NOW - 20 * MINUTE, 100)
  await poll(MOVED, NOW - 10 * MINUTE, 100, 0, 2_000)
  const { out } = await explain(String(MOVED))
  expect(out).toMatch(/held back +waits in the outbox to be collected\n/)
  expect(out).toMatch(/transition +2026-11-21 09:50 UTC limit changed at 5 %, pending\n/)
  const { series } = JSON.parse((await explain(String(MOVED), '--series', 'overall', '--json')).out)
  expect(series[0].transitions).toMatchObject([
    { alert: { kind: 'limit-changed' }, transition: expect.stringMatching(/^\d+-\d+$/) },
  ])
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

test('tokens or polls that fail are never ok, also where no alert is open about them yet', async () => {
  const refused = { failures: '1', failureClass: 'rejected', failureReason: 'HTTP 400', failureAt: `${NOW}` }
  await seedAccount(store, keys, { hubId: 9, hubDomain: 'refused.example.com', obtainedAt: NOW - 60 * MINUTE })
  await store.hset(keys.account(9).account, { ...refused, state: 'failing', rejectedAt: `${NOW - MINUTE}` })
  await changeWatch(store, keys, 9, { failing: { count: 1, reason: 'x', at: NOW, since: NOW } })
  const { out } = await explain('9')
  expect(out).toMatch(/what +its tokens\nstate +failing\n/)
  expect(out).toMatch(/what +reading its limits\nstate +failing\n/)
  const show = ['accounts', 'show', '9', '--config', installed.config]
  const shown = await plimsollHere(show, installed.folder, { clock: new HandClock(NOW) })
  expect(shown.out).toMatch(/^tokens +HubSpot refuses its refresh token \(HTTP 400\), to be confirmed by 2026/m)
  expect(shown.out).toMatch(/^reconnect +plimsoll accounts reconnect-link 9 prints the link$/m)
  expect(JSON.parse((await explain('9', '--json')).out).alerts).toMatchObject([
    { state: 'failing' },
    { state: 'failing' },
  ])
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
