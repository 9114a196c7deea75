import { beforeAll, expect, test } from 'vitest'
import { associations, pollAccount, properties, readings } from '../limits/reports.ts'
import { seedAccount } from '../support/accounts.ts'
import { plimsollHere } from '../support/command.ts'
import { commandsOfFile } from './commands-of-file.ts'

const HOUR = 3_600_000
const installed = commandsOfFile()
const { clock, keys } = installed

/** Two accounts that were polled three times within the last three hours, and one that never was. */
beforeAll(async () => {
  const { store } = installed
  const begun = clock.now() - 2.5 * HOUR
  for (const hubId of [9, 70, 1_000])
    await seedAccount(store, keys, { hubId, hubDomain: `d${hubId}.example.com`, obtainedAt: begun })
  for (const hubId of [9, 70]) {
    const poll = async (at: number, usage: number) => {
      const reports = readings(at, properties(usage, 1_000, { '=2-"1"': [1, 3] }), { '0-1/0-2': associations(10) })
      await pollAccount(store, keys, hubId, at, reports)
    }
    for (const [hours, usage] of [
      [0, 100],
      [0.1, 200],
      [1.5, 300],
    ] as const)
      await poll(begun + hours * HOUR, usage + hubId)
    await store.zadd(keys.due.poll, clock.now() + HOUR, hubId)
  }
})

const history = (...args: string[]) => installed.run('accounts', 'history', ...args)

test('of all accounts, CSV has one line per series and moment, and nothing that a spreadsheet would run', async () => {
  const { code, out } = await history('--format', 'csv')
  expect(code).toBe(0)
  const [head, ...lines] = out.trimEnd().split('\n')
  expect(head).toBe('hubId,at,metric,objectTypeId,from,to,usage,limit,percent')
  expect(lines).toHaveLength(2 * 3 * 5)
  expect(lines).toContain('70,2026-11-21T09:00:00.000Z,customProperties.overall,,,,370,1000,37')
  expect(lines).toContain(`9,2026-11-21T09:00:00.000Z,customProperties.objectType,"'=2-""1""",,,1,3,33.333333333333336`)
  expect(lines).toContain('9,2026-11-21T09:00:00.000Z,associations.atLimit,,0-1,0-2,0,,')
})

test('JSON lines have the same fields, and a resolution makes them regular', async () => {
  const { out } = await history('9', '--format', 'jsonl', '--resolution', 'hourly', '--from', '1d')
  const lines = out
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
  const overall = lines.filter(({ metric }) => metric === 'customProperties.overall')
  expect(overall.map(({ at, usage }) => [at.slice(11, 16), usage])).toEqual([
    ['08:00', 209],
    ['09:00', 209],
    ['10:00', 309],
  ])
  expect(lines.find(({ objectTypeId }) => objectTypeId !== undefined)).toEqual({
    hubId: 9,
    at: '2026-11-21T08:00:00.000Z',
    metric: 'customProperties.objectType',
    objectTypeId: '=2-"1"',
    usage: 1,
    limit: 3,
    percent: (1 * 100) / 3,
  })
})

test('--json is one line: an array of accounts with their snapshots', async () => {
  const { out } = await history('--json', '--from', '2026-11-21T09:00:00Z', '--to', '30m')
  expect(out.endsWith(']\n')).toBe(true)
  const accounts = JSON.parse(out)
  expect(accounts).toMatchObject([
    { hubId: 9, hubDomain: 'd9.example.com', items: [{ at: '2026-11-21T09:00:00.000Z', series: { length: 5 } }] },
    { hubId: 70, items: [{}] },
    { hubId: 1_000, items: [] },
  ])
})

test('a time without offset is in http.timeZone, as the times that are shown', async () => {
  const tokyo = installed.written({ http: { timeZone: 'Asia/Tokyo' } })
  const asked = ['--json', '--from', '2026-11-21T18:00', '--to', '30m', '--config', tokyo]
  const { out } = await plimsollHere(['accounts', 'history', ...asked], installed.folder, { clock })
  expect(out).toBe((await history('--json', '--from', '2026-11-21T09:00:00Z', '--to', '30m')).out)
})
