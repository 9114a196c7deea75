import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import type { Store } from '../../src/redis/connect.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { parseAccess } from '../../src/tokens/stored-access.ts'
import { createVault, keyIdOf } from '../../src/tokens/vault.ts'
import { plimsoll } from '../support/command.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { ADMIN_TOKEN, connectAll, eventually, hubIdsOf, journalOf, refreshTokenFor } from '../support/fleet.ts'
import { MAIN } from '../support/main.ts'
import { openScene, refreshTimes, type Scene } from '../support/scene.ts'

const KEYS = createKeys('plimsoll')
const K1 = { id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }
const K2 = { id: 'k2', key: Buffer.alloc(32, 8).toString('base64') }

let scene: Scene
let daemons: Daemon[] = []
afterEach(async () => {
  await Promise.all(daemons.filter(({ child }) => child.exitCode === null).map((daemon) => daemon.stop()))
  daemons = []
  await scene.close()
})

async function start(file: string): Promise<Daemon> {
  const daemon = await startDaemon(file)
  daemons.push(daemon)
  return daemon
}

/** The same file with other settings, and the daemon told. Resolves with what it logs of it. */
async function reload(daemon: Daemon, file: string, change: (config: Record<string, unknown>) => void) {
  const config = JSON.parse(readFileSync(file, 'utf8'))
  change(config)
  writeFileSync(file, JSON.stringify(config))
  const answer = daemon.line(/"config\.(reloaded|refused)"/)
  daemon.child.kill('SIGHUP')
  return JSON.parse(await answer) as Record<string, unknown>
}

const withKeys =
  (...keys: object[]) =>
  (config: Record<string, unknown>) => {
    config.encryption = { keys }
  }

/** How many stored values stand under which key. */
async function valuesByKey(store: Store, hubIds: readonly number[]): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  for (const some of lotsOf(hubIds)) {
    const reading = store.pipeline()
    for (const hubId of some) reading.hmgetBuffer(KEYS.account(hubId).tokens, 'refresh', 'previous')
    for (const hubId of some) reading.mgetBuffer(KEYS.account(hubId).access)
    for (const [, values] of (await reading.exec()) ?? []) {
      for (const stored of values as (Buffer | null)[]) {
        const value = parseAccess(stored)?.sealed ?? stored
        if (value !== null) counts[keyIdOf(value)] = (counts[keyIdOf(value)] ?? 0) + 1
      }
    }
  }
  return counts
}

/** Accounts that nobody refreshes, so that only a rekey changes them, and enough of them that it takes a while. */
async function seedQuietAccounts(store: Store, hubIds: readonly number[]): Promise<void> {
  const vault = createVault([{ id: 'k1', key: Buffer.from(K1.key, 'base64') }])
  for (const some of lotsOf(hubIds)) {
    const writing = store.pipeline()
    for (const hubId of some) {
      writing.hset(KEYS.account(hubId).account, 'state', 'reauthorize')
      writing.zadd(KEYS.state.reauthorize, hubId, hubId)
      writing.hset(KEYS.account(hubId).tokens, 'refresh', vault.seal(new Secret(`refresh-${hubId}`), hubId, 'refresh'))
    }
    await writing.exec()
  }
}

/** In one pipeline, 60,000 commands and their answers are there all at once. */
function* lotsOf(hubIds: readonly number[], size = 1_000): Generator<readonly number[]> {
  for (let from = 0; from < hubIds.length; from += size) yield hubIds.slice(from, from + size)
}

/** Starts a rekey and ends it, without a chance to clean up, once it has done some of its work. */
async function rekeyKilledMidway(file: string, store: Store, quiet: readonly number[]): Promise<void> {
  const child = spawn(process.execPath, [MAIN, 'keys', 'rekey', '--config', file], { stdio: 'ignore' })
  const exited = once(child, 'exit')
  const [first = 0] = quiet
  await eventually('a rekey at work', async () => (await valuesByKey(store, [first])).k2 === 1)
  child.kill('SIGKILL')
  expect(await exited).toEqual([null, 'SIGKILL'])
  expect(await valuesByKey(store, quiet)).toMatchObject({ k1: expect.any(Number), k2: expect.any(Number) })
}

test('the key is changed under a fleet that is refreshed all the while, by a rekey that is killed midway and run again', async () => {
  scene = await openScene({ accounts: 100, tokenLifetimeMs: 30_000 })
  const { sandbox, redis } = scene
  const store = redis.connect()
  const file = await scene.configFile()
  const daemon = await start(file)
  const hubIds = await hubIdsOf(sandbox.url)
  await connectAll(daemon.url, hubIds)
  // The first of them are in the partition that comes first.
  const quiet = Array.from({ length: 20_000 }, (_, n) => 64_000_000 + n)
  await seedQuietAccounts(store, quiet)
  await eventually('refreshes', async () => refreshTimes(await journalOf(sandbox.url)).size === hubIds.length)

  expect(await reload(daemon, file, withKeys(K1, K2))).toMatchObject({ code: 'config.reloaded', restart: [] })
  expect(await reload(daemon, file, withKeys(K2, K1))).toMatchObject({ code: 'config.reloaded', restart: [] })
  await rekeyKilledMidway(file, store, quiet)
  const rekeyed = await plimsoll(['keys', 'rekey', '--json', '--config', file], scene.folder)
  expect(rekeyed.code).toBe(0)
  expect(JSON.parse(rekeyed.out)).toMatchObject({
    outcome: 'clean',
    key: 'k2',
    accounts: 20_100,
    unopened: [],
    removable: ['k1'],
  })
  expect(Object.keys(await valuesByKey(store, [...hubIds, ...quiet]))).toEqual(['k2'])

  // Without the old key: the running daemon first, then a new one.
  expect(await reload(daemon, file, withKeys(K2))).toMatchObject({ code: 'config.reloaded' })
  await refreshedOnceMore(daemon)
  expect(await daemon.stop()).toBe(0)
  const next = await start(file)
  await refreshedOnceMore(next)

  const journal = await journalOf(sandbox.url)
  expect(journal.filter(({ status }) => status === 401)).toEqual([])
  expect(journal.filter(({ endpoint, status }) => endpoint === 'token' && status !== 200)).toEqual([])
  const trouble = /token\.(rejected|transient|reauthorize)|(refresh|poll)\.error|vault\./
  expect(daemon.lines.concat(next.lines).filter((line) => trouble.test(line))).toEqual([])
  expect(Object.keys(await valuesByKey(store, [...hubIds, ...quiet]))).toEqual(['k2'])

  async function refreshedOnceMore(by: Daemon): Promise<void> {
    const since = Date.now()
    await eventually(`a refresh of every account by ${by.child.pid}`, async () => {
      const times = refreshTimes(await journalOf(sandbox.url))
      return [...times.values()].every((at) => at.some((time) => time > since))
    })
  }
})

test('two daemons change their key one after the other; a rekey waits for the one that was forgotten, and names it', async () => {
  scene = await openScene({ accounts: 10 })
  const [fileA, fileB] = [await scene.configFile(), await scene.configFile()]
  const [a, b] = await Promise.all([start(fileA), start(fileB)])
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(a.url, hubIds)

  // B is a step ahead: A, which lacks the key, says so.
  await reload(b, fileB, withKeys(K2, K1))
  const lacking = JSON.parse(await a.line(/"vault\.key-missing"/, 0))
  expect(lacking).toMatchObject({ level: 'error', key: 'k2', writer: expect.stringContaining(String(b.child.pid)) })
  await reload(a, fileA, withKeys(K1, K2))

  const byB = ['--url', b.url, '--token', ADMIN_TOKEN]
  const early = await plimsoll(['keys', 'rekey', ...byB], scene.folder)
  expect(early.code).toBe(1)
  expect(early.err).toMatch(/^waiting for processes that still encrypt with another key: .* with key k1$/m)
  expect(early.err).toMatch(
    new RegExp(
      `another process still writes with key k1 \\(.*pid ${a.child.pid}\\b.*\\): send a daemon SIGHUP, let a command end, then run this again`,
    ),
  )
  await reload(a, fileA, withKeys(K2, K1))
  const rekeyed = await plimsoll(['keys', 'rekey', ...byB], scene.folder)
  expect(rekeyed.code).toBe(0)
  expect(rekeyed.out).toContain('nothing is encrypted with key k1: it may be taken out of encryption.keys')
  expect(Object.keys(await valuesByKey(scene.redis.connect(), hubIds))).toEqual(['k2'])
})

test('a rekey waits for an import that began under the old key, and what that brought is opened without the old key', async () => {
  scene = await openScene({ accounts: 2, rotateRefreshTokens: false })
  const { sandbox, redis, folder } = scene
  const store = redis.connect()
  const [first = 0, second = 0] = await hubIdsOf(sandbox.url)
  const [one, two] = await Promise.all([first, second].map((hubId) => refreshTokenFor(sandbox.url, hubId)))
  const [before, both, after] = await Promise.all([
    scene.configFile(),
    scene.configFile({ encryption: { keys: [K2, K1] } }),
    scene.configFile({ encryption: { keys: [K2] } }),
  ])

  const bringing = spawn(process.execPath, [MAIN, 'accounts', 'import', '-', '--config', before], { cwd: folder })
  const brought = once(bringing, 'exit')
  bringing.stdin.write(`hubId,refreshToken\n${first},${one}\n`)
  await eventually('the first line', async () => (await valuesByKey(store, [first])).k1 === 1)

  const rekeying = spawn(process.execPath, [MAIN, 'keys', 'rekey', '--config', both], { cwd: folder })
  const rekeyed = once(rekeying, 'exit')
  const said = { out: '', err: '' }
  rekeying.stdout.on('data', (data) => (said.out += data))
  rekeying.stderr.on('data', (data) => (said.err += data))
  await eventually(
    'the rekey to wait, or to be over',
    async () => said.err.includes('waiting for ') || rekeying.exitCode !== null,
  )
  bringing.stdin.end(`${second},${two}\n`)
  expect(await brought).toEqual([0, null])
  expect(await rekeyed).toEqual([0, null])
  expect(said.err).toMatch(
    new RegExp(`^waiting for .*: \\S+ pid ${bringing.pid} \\(accounts import\\) with key k1$`, 'm'),
  )
  expect(said.out).toContain('2 accounts: 2 values encrypted with key k2')
  expect(said.out).toContain('nothing is encrypted with key k1: it may be taken out of encryption.keys')
  expect(await valuesByKey(store, [first, second])).toEqual({ k2: 2 })

  await start(after)
  await eventually('a refresh of both', async () => refreshTimes(await journalOf(sandbox.url)).size === 2)
})

test('a reload is in force, and says so, although Redis refuses the report of its key', async () => {
  scene = await openScene({ accounts: 1 })
  const file = await scene.configFile()
  const daemon = await start(file)
  const store = scene.redis.connect()
  await store.set(KEYS.daemons, 'no hash: the report fails, nothing else')
  expect(await reload(daemon, file, withKeys(K2, K1))).toMatchObject({
    code: 'config.reloaded',
    applied: ['encryption.keys'],
    restart: [],
  })
  expect(daemon.lines.some((line) => line.includes('"vault.unreported"'))).toBe(true)
  await store.del(KEYS.daemons)
  await eventually('the next report', async () =>
    Object.values(await store.hgetall(KEYS.daemons)).some((said) => said.includes('"keyId":"k2"')),
  )
})

test('SIGHUP takes over credentials, and refuses keys that open nothing of what is stored', async () => {
  scene = await openScene({ accounts: 3 })
  const file = await scene.configFile()
  const good = readFileSync(file, 'utf8')
  const daemon = await start(file)
  const [hubId = 0] = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, [hubId])

  const wrongKeys = [{ id: 'k3', key: K2.key }]
  expect(await reload(daemon, file, withKeys(...wrongKeys))).toMatchObject({
    code: 'config.refused',
    problems: [expect.stringContaining('may be encrypted with key k1, which is not configured')],
  })
  expect(await reload(daemon, file, withKeys({ ...K1, key: K2.key }))).toMatchObject({
    code: 'config.refused',
    problems: [expect.stringContaining('another key with the same id')],
  })

  writeFileSync(file, good)
  const taken = await reload(daemon, file, (config) => {
    Object.assign(config.provider as object, { clientId: 'another-app' })
  })
  expect(taken).toMatchObject({ code: 'config.reloaded', applied: ['provider.clientId'], restart: [] })
  const install = await fetch(`${daemon.url}/install`, { redirect: 'manual' })
  expect(new URL(install.headers.get('location') ?? '').searchParams.get('client_id')).toBe('another-app')
  // The provider knows no such app: the calls, too, go out under the new name.
  await eventually('a refused refresh', async () => daemon.lines.some((line) => line.includes('"token.client"')))

  writeFileSync(file, good)
  expect(await reload(daemon, file, () => {})).toMatchObject({ applied: ['provider.clientId'], restart: [] })
  const since = Date.now()
  await eventually('a refresh', async () =>
    refreshTimes(await journalOf(scene.sandbox.url))
      .get(hubId)
      ?.some((time) => time > since),
  )
})
