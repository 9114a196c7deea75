import { stripVTControlCharacters } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { acknowledgeState } from '../../src/alerts/acknowledge.ts'
import { decodeState, encodeState } from '../../src/alerts/alert-state.ts'
import { sendAlerts } from '../../src/alerts/sending/send-alerts.ts'
import { SilenceStore } from '../../src/alerts/silence-store.ts'
import { ruleSetOf } from '../../src/app/settings.ts'
import { displayWidth } from '../../src/text/display-width.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import { HandClock } from '../support/hand-clock.ts'
import { logLines } from '../support/log-lines.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { takeDue } from '../support/take-due.ts'
import { commandsOfFile } from './commands-of-file.ts'

const NOW = Date.parse('2026-11-21T10:00:00.000Z')
/** Colours, a cursor that goes up, a title of the window, a line of its own, and letters that run backwards. */
const HOSTILE = '\u001b[31m\u001b[2A\u001b]0;owned\u0007\u009b1mword\r\nPLIMSOLL OK - all is well\u2028\u202eevil\u200b'

const installed = commandsOfFile({ alerts: { firstRun: 'alert' } })

beforeAll(() => anAccountOfStrangers())

/** Domain, label and id of an object type, who acknowledged and who silenced, what a mail server said: all hostile. */
async function anAccountOfStrangers(): Promise<void> {
  const { store, keys, config, folder } = installed
  const loaded = loadConfig({ file: config, env: {}, cwd: folder, now: NOW })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  const rules = ruleSetOf(loaded.config)
  const at = NOW - 15 * 60_000
  await seedAccount(store, keys, { hubId: 1, hubDomain: HOSTILE, obtainedAt: at })
  const report = properties(960, 1_000, { [`2-9${HOSTILE}`]: [990, 1_000] })
  const types = report.byObjectType.map((type) => ({ ...type, singularLabel: HOSTILE, pluralLabel: HOSTILE }))
  const read = readings(at, { ...report, byObjectType: types }, { '0-1/0-2': associations(10, [9], 2) })
  await pollAndTell(store, keys, { ...rules, pageOf: () => '' }, 1, at, read)
  const silences = new SilenceStore(store, keys, {})
  const relay = {
    store,
    keys,
    routes: rules.routes,
    receivers: ['ops-mail', 'ops-hook'],
    log: logLines().log,
    silences,
    group: rules.group,
  }
  await sendAlerts(relay, at)
  await sendAlerts(relay, at + 3_600_000)
  await takeDue({ store, keys }, () => ({ outcome: 'retry', nextAt: NOW + 3_600_000, reason: HOSTILE }), at)
  const matchers = [{ name: 'account' as const, value: '1' }]
  await silences.add({ matchers, author: HOSTILE, comment: HOSTILE, createdAt: at, endsAt: NOW + 3_600_000 })
  const { alerts } = keys.account(1)
  const state = decodeState((await store.hget(alerts, 'overall')) ?? '')
  if (state === undefined) throw new Error('no alert')
  const acknowledged = acknowledgeState(state, { by: HOSTILE, comment: HOSTILE, at, until: NOW + 3_600_000 })
  await store.hset(alerts, 'overall', encodeState(acknowledged))
}

const LINES = [
  'alerts list',
  'alerts log --since 7d',
  'changes --since 7d',
  'alerts explain 1 --all',
  'alerts explain 1 --series nothing-of-the-kind',
  'alerts silences',
  'outbox verify',
  'accounts list',
  'accounts show 1',
  'accounts history 1',
  'check --max 50 --all',
  'status',
]

test.each(LINES)('strangers’ words in `plimsoll %s` are harmless', async (line) => {
  const ran = await plimsollHere([...line.split(' '), '--config', installed.config], installed.folder, {
    clock: new HandClock(NOW),
  })
  const said = ran.out + ran.err
  expect(said).not.toMatch(/(?!\n)\p{Cc}|[\u2028\u2029\u202a-\u202e\u200b]/u)
  expect(said).not.toMatch(/^(PLIMSOLL OK - all is well|evil)/m)
  expect(said.length).toBeGreaterThan(10)
  if (!/verify|status|silences/.test(line)) expect(said).toContain('word')
})

test.each(LINES)('no line of `plimsoll %s` is longer than the terminal', async (line) => {
  for (const columns of [120, 80, 40, 24]) {
    const terminal = { isTerminal: true, columns, hasColours: true, clock: new HandClock(NOW) }
    const { out } = await plimsollHere([...line.split(' '), '--config', installed.config], installed.folder, terminal)
    const lines = stripVTControlCharacters(out).split('\n')
    expect({ columns, long: lines.filter((one) => displayWidth(one) > columns) }).toEqual({ columns, long: [] })
  }
})
