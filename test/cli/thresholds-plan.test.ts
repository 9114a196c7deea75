import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { loadConfig } from '../../config/schema/load.ts'
import { ruleSetOf } from '../../src/app/settings.ts'
import type { Store } from '../../src/redis/connect.ts'
import { associations, properties, readings } from '../limits/reports.ts'
import { dump, seedAccount } from '../support/accounts.ts'
import { plimsoll, plimsollHere } from '../support/command.ts'
import { pollAndTell } from '../support/polled-account.ts'
import { commandsOfFile } from './commands-of-file.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const EVERY = 15 * MINUTE
const installed = commandsOfFile()
const { clock, keys } = installed
const NOW = clock.now()

let store: Store
let config: string

const SETTINGS = {
  limits: { every: '15m', associations: [{ from: '0-1', to: '0-2' }] },
  thresholds: [
    { on: 'customProperties.overall', warning: { percent: 80 }, critical: { percent: 95 } },
    { name: 'full', on: 'associations.atLimit', warning: { count: 1 } },
  ] as object,
}

/** Four accounts, polled every quarter of an hour: one rises, one flaps, one stands still, one was never read. */
const [RISING, FLAPPING, STILL, NEW] = [1, 2, 3, 4] as const

beforeAll(async () => {
  store = installed.store
  config = written('running', {})
  const settings = { ...rulesOf(config), pageOf: () => '' }
  const begun = NOW - 6 * HOUR
  for (const hubId of [RISING, FLAPPING, STILL, NEW])
    await seedAccount(store, keys, { hubId, hubDomain: `d${hubId}.example.com`, obtainedAt: begun })
  for (let n = 0; begun + n * EVERY <= NOW; n++) {
    const at = begun + n * EVERY
    const poll = async (hubId: number, usage: number, full = 0) => {
      const pair = { '0-1/0-2': associations(10, [], full) }
      await pollAndTell(store, keys, settings, hubId, at, readings(at, properties(usage), pair))
    }
    await poll(RISING, 780 + n * 8)
    await poll(FLAPPING, n % 4 < 2 ? 700 : 850, n % 8 === 7 ? 2 : 0)
    await poll(STILL, 760)
  }
})
/** A config file that differs from the running one in these settings. */
function written(name: string, settings: Record<string, object>): string {
  const made = installed.written({ ...SETTINGS, ...settings })
  const file = `${name}.yaml`
  writeFileSync(join(installed.folder, file), readFileSync(made, 'utf8'))
  return file
}

function rulesOf(file: string) {
  const loaded = loadConfig({ file, env: {}, cwd: installed.folder, now: NOW })
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems))
  return ruleSetOf(loaded.config)
}

const plan = (...args: string[]) =>
  plimsollHere(['thresholds', 'plan', ...args, '--config', config], installed.folder, { clock })

const LOWER = { on: 'customProperties.overall', warning: { percent: 75 }, critical: { percent: 84 } }

test('who changes level now is summarised and listed, worst first', async () => {
  const file = written('lower', { thresholds: [LOWER] as object })
  const { code, out, err } = await plan(file)
  expect({ code, err }).toEqual({ code: 0, err: '' })
  expect(out.split('\n\n')[0]).toBe(
    [
      'lower.yaml in place of running.yaml, with the next poll of each account:',
      '  1 series of 1 account comes to warning',
      '  compared: 4 accounts, 3 series watched (6 before); 1 account never read',
    ].join('\n'),
  )
  expect(out).toMatch(
    /^warning +ok +3 +d3\.example\.com +Custom properties +760 of 1,000 +76 +customProperties\.overall: from 75 %$/m,
  )
})

test('a config that is the one in force changes nothing', async () => {
  const { out } = await plan(config, '--json')
  const { accounts, counts } = JSON.parse(out)
  expect(accounts).toEqual([])
  expect(counts.accounts).toEqual({ looked: 4, changed: 0, neverRead: 1 })
})

test('a level below all readings takes every series that is not there yet', async () => {
  const thresholds = [{ on: 'customProperties.overall', critical: { percent: 1 } }] as object
  const { accounts, counts } = JSON.parse((await plan(written('lowest', { thresholds }), '--json')).out)
  expect(counts.now.critical).toEqual({ series: 2, accounts: 2 })
  expect(accounts.map(({ hubId }: { hubId: number }) => hubId).sort()).toEqual([FLAPPING, STILL])
})

test('the list is cut with a count, and --json has it whole', async () => {
  const thresholds = [{ on: 'customProperties.overall', critical: { percent: 1 } }] as object
  const { out } = await plan(written('lowest', { thresholds }), '--max', '1')
  expect(out).toContain('and 1 more: --max shows more, --json all\n')
})

test('a config with problems is refused with all of them, as config check does; wrong usage is 2', async () => {
  const file = written('broken', { thresholds: [{ on: 'customProperties.overal' }, { on: '*' }] as object })
  const ran = await plan(file)
  expect(ran).toMatchObject({ code: 1, err: 'plimsoll: broken.yaml has 3 problems: nothing was compared\n' })
  expect(ran.out).toContain('thresholds[0].on')
  expect(JSON.parse((await plan(file, '--json')).out)).toMatchObject({ status: 400, errors: { length: 3 } })
  expect(await plan('nowhere.yaml')).toMatchObject({ code: 1, err: expect.stringContaining('nowhere.yaml') })
  expect(await plan()).toMatchObject({ code: 2 })
})

test('as a process it does the same, and nothing is written to Redis', async () => {
  const before = await dump(store, keys)
  const ran = await plimsoll(['thresholds', 'plan', config, '--config', config], installed.folder)
  expect(ran).toMatchObject({ code: 0, err: '', out: expect.stringContaining('no series changes its level') })
  const after = await dump(store, keys)
  // What any command notes of the keys that it has.
  expect(Object.keys(after).filter((key) => !key.includes(':vault:'))).toEqual(
    Object.keys(before).filter((key) => !key.includes(':vault:')),
  )
  for (const [key, value] of Object.entries(before)) if (!key.includes(':vault:')) expect(after[key], key).toBe(value)
})
