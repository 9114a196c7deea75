import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts'
import { plimsoll, plimsollHere, run } from '../support/command.ts'
import { type Daemon, spawnDaemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import {
  ask,
  connectAll,
  customProperties,
  eventually,
  freePort,
  getJson,
  hubIdsOf,
  journalOf,
  send,
} from '../support/fleet.ts'
import { folderOfFile } from '../support/of-file.ts'
import { startRedis } from '../support/redis-server.ts'

/** The guide of config/deploy/README.md, followed: a machine is lost, and another one goes on from its backup. */
const folder = folderOfFile()
let sandbox: Sandbox
let hubIds: number[]
const daemons: Daemon[] = []

beforeAll(async () => {
  sandbox = await startSandbox(
    {
      // Each refresh token is good for one refresh only: a token used twice would show.
      port: 0,
      smtpPort: 0,
      accounts: 3,
      tokenLifetimeMs: 8_000,
      rotateRefreshTokens: true,
      scenario: 'steady',
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
    },
    systemClock,
  )
  hubIds = await hubIdsOf(sandbox.url)
})
afterAll(async () => {
  await Promise.all(daemons.filter(({ child }) => child.exitCode === null).map((daemon) => daemon.stop()))
  await sandbox.close()
})

/** A machine of its own: its folder, its port, its config. */
async function machine(name: string, redisUrl?: string) {
  const home = join(folder, name)
  mkdirSync(home, { recursive: true })
  const config = writeDaemonConfig(home, {
    sandboxUrl: sandbox.url,
    smtpUrl: sandbox.smtpUrl,
    port: await freePort(),
    ...(redisUrl === undefined ? {} : { redisUrl }),
    settings: { limits: { every: '1s', associations: [] }, provider: { api: '2026-03' } },
  })
  return { home, config, data: join(home, 'data') }
}

async function start(config: string): Promise<Daemon> {
  const daemon = await startDaemon(config)
  daemons.push(daemon)
  return daemon
}

const usageOf = (usage: number) =>
  Promise.all(
    hubIds.map((hubId) =>
      send(`${sandbox.url}/sandbox/accounts/${hubId}/custom-properties`, 'PUT', customProperties(usage)),
    ),
  )

interface Snapshots {
  items: { at: string; series: { metric: string; usage: number }[] }[]
}

async function usagesIn(url: string, hubId: number): Promise<number[]> {
  const { items } = await getJson<Snapshots>(`${url}/api/v1/accounts/${hubId}/snapshots`)
  const usages = items.flatMap(({ series }) => series.filter(({ metric }) => metric === 'customProperties.overall'))
  return [...new Set(usages.map(({ usage }) => usage))]
}

/** The token that other services are given: the provider takes it, and the account's history is there. */
async function worksFor(url: string, hubId: number): Promise<boolean> {
  const answer = await ask(`${url}/api/v1/accounts/${hubId}/token`)
  if (answer.status !== 200) return false
  const { accessToken } = (await answer.json()) as { accessToken: string }
  const read = await fetch(`${sandbox.url}/crm/limits/2026-03/custom-properties`, {
    headers: { authorization: `Bearer ${accessToken}` },
  })
  return read.status === 200
}

/** Each account was refreshed since, and nothing that the provider was asked for was refused. */
async function allRefreshedSince(since: number): Promise<void> {
  await eventually('a refresh of each account', async () => {
    const calls = (await journalOf(sandbox.url)).slice(since).filter(({ endpoint }) => endpoint === 'token')
    return hubIds.every((hubId) => calls.some((call) => call.hubId === hubId && call.status === 200))
  })
  const refused = (await journalOf(sandbox.url)).filter(
    ({ endpoint, status }) => endpoint === 'token' && status !== 200,
  )
  expect(refused).toEqual([])
}

/** Of what is stored: when the daemon that the backup was made of last did its work, is another matter. */
async function failuresOf(config: string): Promise<string[]> {
  const { out } = await plimsollHere(['doctor', '--json', '--config', config], folder)
  const findings = JSON.parse(out) as { name: string; level: string; detail: string }[]
  return findings
    .filter(({ name, level }) => level === 'fail' && name !== 'daemon')
    .map(({ name, detail }) => `${name}: ${detail}`)
}

const backup = () => join(folder, 'plimsoll.tgz')

test('a data folder that was packed goes on elsewhere: all tokens work, none was used twice, the history is there', async () => {
  const old = await machine('old')
  await usageOf(100)
  const before = await start(old.config)
  await connectAll(before.url, hubIds)
  await eventually('the first readings', async () => (await usagesIn(before.url, hubIds[0] ?? 0)).includes(100))
  await usageOf(200)
  await eventually('the next ones', async () =>
    (await Promise.all(hubIds.map((hubId) => usagesIn(before.url, hubId)))).every((usages) => usages.includes(200)),
  )
  await allRefreshedSince(0)

  expect(await before.stop()).toBe(0)
  expect(await run('tar', ['-C', old.home, '-czf', backup(), 'data'], folder)).toMatchObject({ code: 0, err: '' })
  rmSync(old.data, { recursive: true })

  const { home, config } = await machine('new')
  expect(await run('tar', ['-C', home, '-xzpf', backup()], folder)).toMatchObject({ code: 0, err: '' })
  expect(await failuresOf(config)).toEqual([])
  await usageOf(300)
  const since = (await journalOf(sandbox.url)).length
  const after = await start(config)
  await allRefreshedSince(since)
  for (const hubId of hubIds) {
    expect(await worksFor(after.url, hubId)).toBe(true)
    await eventually('its history, and what came since', async () => {
      const usages = await usagesIn(after.url, hubId)
      return [100, 200, 300].every((usage) => usages.includes(usage))
    })
  }
  expect(await after.stop()).toBe(0)
  // For the tests below: as of now, since tokens have moved on.
  expect(await run('tar', ['-C', home, '-czf', backup(), 'data'], folder)).toMatchObject({ code: 0, err: '' })
})

test('without its key, or with another one, nothing starts, nothing is changed, and it is said what is missing', async () => {
  const { home, config, data } = await machine('keyless')
  await run('tar', ['-C', home, '-xzpf', backup()], folder)
  const keys = join(data, 'keys')
  cpSync(keys, join(home, 'keys'), { recursive: true })
  rmSync(keys, { recursive: true })
  expect(await failuresOf(config)).toEqual([
    expect.stringMatching(/^encryption: tokens are stored, but their key .* is gone$/),
  ])
  for (const attempt of ['gone', 'another']) {
    const daemon = spawnDaemon(config)
    const [code] = await Promise.all([new Promise((resolve) => daemon.child.on('exit', resolve))])
    expect(code, attempt).toBe(1)
    expect(daemon.lines.at(-1), attempt).toMatch(/^plimsoll: .*key/)
  }
  rmSync(keys, { recursive: true, force: true })
  cpSync(join(home, 'keys'), keys, { recursive: true })
  expect(await failuresOf(config)).toEqual([])
})

test('a Redis of one’s own goes on from its dump in another one, with the key beside it', async () => {
  const source = join(folder, 'source')
  mkdirSync(source)
  const { home, data, config: embedded } = await machine('own')
  await run('tar', ['-C', home, '-xzpf', backup()], folder)
  // The same data, in a server of its own: that of the data folder, as it stood.
  cpSync(join(data, 'redis', 'appendonlydir'), join(source, 'appendonlydir'), { recursive: true })
  expect(existsSync(embedded)).toBe(true)
  const first = await startRedis(source)
  const dump = join(folder, 'plimsoll.rdb')
  expect(await run('redis-cli', ['-p', String(first.port), '--rdb', dump], folder)).toMatchObject({ code: 0 })
  await first.stop()

  const target = join(folder, 'target')
  mkdirSync(target)
  cpSync(dump, join(target, 'dump.rdb'))
  // A server that is to append looks for no dump: it reads it first, and appends from then on.
  const loading = await startRedis(undefined, ['--dir', target])
  const cli = (...args: string[]) => run('redis-cli', ['-p', String(loading.port), ...args], folder)
  expect(await cli('config', 'set', 'appendonly', 'yes')).toMatchObject({ out: 'OK\n' })
  await eventually('the file that it appends to', async () =>
    /aof_rewrite_in_progress:0[\s\S]*aof_last_bgrewrite_status:ok/.test((await cli('info', 'persistence')).out),
  )
  await loading.end('SIGTERM')

  const second = await startRedis(target)
  try {
    const { config, home: there } = await machine('restored', second.url)
    mkdirSync(join(there, 'data'))
    cpSync(join(data, 'keys'), join(there, 'data', 'keys'), { recursive: true })
    expect(await failuresOf(config)).toEqual([])
    const since = (await journalOf(sandbox.url)).length
    const daemon = await start(config)
    await allRefreshedSince(since)
    expect(await worksFor(daemon.url, hubIds[0] ?? 0)).toBe(true)
    expect((await plimsoll(['outbox', 'verify', '--config', config], folder)).code).toBe(0)
    expect(await daemon.stop()).toBe(0)
  } finally {
    await second.stop()
  }
})
