import { afterAll, beforeAll, expect, test } from 'vitest'
import { plimsollHere } from '../support/command.ts'
import type { Daemon } from '../support/daemon.ts'
import { ask, connectAll, customProperties, eventually, hooksOf, hubIdsOf, mailsOf, send } from '../support/fleet.ts'
import { startRedisCluster, type TestCluster } from '../support/redis-cluster.ts'
import { allRefreshedSince, type Fleet, keyOf, openFleet, statesOf, whatProviderSaw } from './open-fleet.ts'

/** Accounts on a Redis Cluster of three masters, each with a replica: one master has all keys. */
const ACCOUNTS = 150
const LIFE_MS = 20_000

let cluster: TestCluster
let fleet: Fleet
let daemon: Daemon
let config: string
let hubIds: number[]

beforeAll(async () => {
  cluster = await startRedisCluster({ replicas: true })
  const redis = { cluster: cluster.addresses }
  fleet = await openFleet(redis, { accounts: ACCOUNTS, tokenLifetimeMs: LIFE_MS })
  daemon = await fleet.daemon()
  config = await fleet.configFile()
  hubIds = await hubIdsOf(fleet.sandbox.url)
  await connectAll(daemon.url, hubIds)
})
afterAll(async () => {
  await fleet?.close()
  await cluster?.stop()
})

const command = (...args: string[]) => plimsollHere([...args, '--config', config], fleet.folder)

test('accounts are refreshed with rotating tokens, and none is late: one master has all keys', async () => {
  const keys = await Promise.all(cluster.masters.map(({ admin }) => admin.dbsize()))
  expect(keys.filter((count) => count > 0)).toHaveLength(1)
  await allRefreshedSince(fleet, hubIds, Date.now())
  expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS })
  expect(await whatProviderSaw(fleet.sandbox)).toMatchObject({ refused: [], expired: 0 })
})

test('alerts go out as mail and webhook, and the account of each shows its own', async () => {
  const some = hubIds.slice(0, 12)
  for (const hubId of some) {
    await send(`${fleet.sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(960))
  }
  await eventually('a webhook for each', async () => {
    const told = (await hooksOf(fleet.sandbox.url)).flatMap(({ body }) => body.data.alerts)
    return some.every((hubId) => told.some(({ account }) => account?.hubId === hubId))
  })
  await eventually('a mail for each', async () => {
    const subjects = (await mailsOf(fleet.sandbox.url)).map(({ subject }) => subject)
    return some.every((hubId) => subjects.some((subject) => subject.includes(`(${hubId})`)))
  })
})

test('every command that reads, and every page, is answered', async () => {
  const hubId = String(hubIds[0])
  const commands: string[][] = [
    ['status', '--json'],
    ['accounts', 'list', '--json'],
    ['accounts', 'list', '--stale'],
    ['accounts', 'show', hubId],
    ['accounts', 'history', '--from', '1h', '--format', 'csv'],
    ['accounts', 'export', 'out.csv'],
    ['alerts', 'list', '--json'],
    ['alerts', 'log', '--since', '1h'],
    ['alerts', 'explain', hubId],
    ['alerts', 'silences'],
    ['thresholds', 'plan', config],
    ['admin-tokens', 'list'],
    ['outbox', 'verify'],
    ['config', 'print'],
  ]
  for (const args of commands) expect({ args, ...(await command(...args)) }).toMatchObject({ code: 0, err: '' })
  expect(JSON.parse((await command('accounts', 'list', '--json')).out)).toHaveLength(ACCOUNTS)
  // Twelve accounts are at critical.
  expect((await command('check')).code).toBe(2)
  const search = `/accounts?q=${hubIds.at(-1)}`
  const pages = ['/', '/accounts', search, `/accounts/${hubId}`, '/alerts', '/changes', '/deliveries', '/metrics']
  for (const page of [...pages, `/api/v1${search}`, '/api/v1/status', `/api/v1/accounts/${hubId}/token`]) {
    expect({ page, status: (await ask(daemon.url + page)).status }).toEqual({ page, status: 200 })
  }
  expect(await (await ask(daemon.url + search)).text()).toContain(`/accounts/${hubIds.at(-1)}`)
})

test('doctor looks at all three masters', async () => {
  const { out } = await command('doctor', '--json')
  const findings = (JSON.parse(out) as { name: string; says: string }[]).filter(({ name }) => name.startsWith('redis'))
  for (const address of cluster.addresses) expect(JSON.stringify(findings)).toContain(address)
})

test('an account is polled, refreshed, silenced and uninstalled by command', async () => {
  const hubId = String(hubIds.at(-1))
  expect((await command('accounts', 'poll', hubId)).code).toBe(0)
  expect((await command('accounts', 'refresh', hubId)).code).toBe(0)
  expect(
    (await command('alerts', 'silence', '--match', `account=${hubId}`, '--for', '1h', '--comment', 'x')).code,
  ).toBe(0)
  expect(await command('accounts', 'uninstall', hubId, '--wait')).toMatchObject({ code: 0, err: '' })
  expect(await statesOf(daemon.url)).toEqual({ active: ACCOUNTS - 1, uninstalled: 1 })
})

test('a new key takes the place of the old one for all accounts while they are refreshed', async () => {
  const keys = [keyOf('k2', 8), keyOf('k1', 7)]
  await daemon.stop()
  daemon = await fleet.daemon({ settings: { encryption: { keys } } })
  config = await fleet.configFile({ encryption: { keys } })
  expect(await command('keys', 'rekey')).toMatchObject({ code: 0 })
  daemon = await restartedWith({ encryption: { keys: [keyOf('k2', 8)] } })
  await allRefreshedSince(fleet, hubIds.slice(0, -1), Date.now())
  expect((await whatProviderSaw(fleet.sandbox)).refused).toEqual([])
})

async function restartedWith(settings: Record<string, object>): Promise<Daemon> {
  await daemon.stop()
  config = await fleet.configFile(settings)
  return fleet.daemon({ settings })
}
