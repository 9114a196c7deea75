import { cpSync, existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, type TestContext, test } from 'vitest'
import { ask, connectAll, eventually, hubIdsOf, journalOf, refreshNow } from '../support/fleet.ts'
import { lookInto } from '../support/look-into.ts'
import { type Scene, sceneFor } from '../support/scene.ts'

/** Refresh tokens rotate: an answer that is not stored is an account that is lost. Lives are long: nothing is urgent here. */
const ACCOUNTS = 8
const SETTINGS = { provider: { timeout: '60s' } }

/** Each account's new token is made, its old one is dead, and the daemon has not heard of it yet. */
async function answersOnTheirWay(context: Pick<TestContext, 'onTestFinished'>, delayMs: number) {
  const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: 60_000 })
  const { sandbox } = scene
  const daemon = await scene.daemon(SETTINGS)
  const hubIds = await hubIdsOf(sandbox.url)
  await connectAll(daemon.url, hubIds)
  const look = lookInto(() => scene)
  for (const hubId of hubIds) await look.addFault({ endpoint: 'token', hubId, after: true, delayMs, times: 1 })
  for (const hubId of hubIds) {
    const asked = ask(`${daemon.url}/api/v1/accounts/${hubId}/refresh`, { method: 'POST' })
    asked.catch(() => undefined) // Nobody waits for what it says.
  }
  for (const hubId of hubIds) await look.faultMet(hubId)
  return { ...look, scene, daemon, hubIds, folder: join(scene.folder, 'data', 'answers') }
}

const filesIn = (folder: string) => (existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [])

/** What the daemon left behind is for nobody else to read, and no token stands in it. */
function expectSealed(scene: Scene, folder: string): void {
  const files = filesIn(folder)
  expect(files.length).toBeGreaterThan(0)
  expect(statSync(folder).mode & 0o777).toBe(0o700)
  for (const file of files) expect(statSync(file).mode & 0o777).toBe(0o600)
  const text = files.map((file) => readFileSync(file, 'latin1')).join('\n')
  const base64 = Buffer.from(text.split(/\s/).join(''), 'base64').toString('latin1')
  const tokens = scene.sandbox.issuedTokens()
  expect(tokens.length).toBeGreaterThan(2 * ACCOUNTS)
  expect(tokens.filter((token) => text.includes(token) || base64.includes(token))).toEqual([])
}

/** The next daemon stores what was left, and refreshes each account with a token that the provider takes. */
async function expectNobodyLost({
  scene,
  hubIds,
  folder,
  statesOf,
  refreshedSince,
}: Awaited<ReturnType<typeof answersOnTheirWay>>) {
  const daemon = await scene.daemon(SETTINGS)
  await eventually('all is stored', async () => filesIn(folder).length === 0)
  const since = Date.now()
  for (const hubId of hubIds) await refreshNow(daemon.url, hubId)
  await refreshedSince(hubIds, since - 1)
  expect((await journalOf(scene.sandbox.url)).filter(({ status }) => status >= 400)).toEqual([])
  expect(await statesOf(daemon)).toEqual({ active: ACCOUNTS })
  expect(daemon.lines.filter((line) => line.includes('"token.interrupted"'))).toEqual([])
}

test.concurrent('a daemon that is told to stop while Redis refuses writes leaves its answers sealed, and the next start stores them all', async (context) => {
  const it = await answersOnTheirWay(context, 8_000)
  const { scene, daemon, hubIds, folder } = it
  const store = scene.redis.connect()
  await store.config('SET', 'min-replicas-to-write', '1')
  for (const hubId of hubIds) await daemon.line(new RegExp(`"token\\.not-stored","hubId":${hubId}\\b`), 0)
  expect(await daemon.stop()).toBe(0)
  expectSealed(scene, folder)
  await store.config('SET', 'min-replicas-to-write', '0')
  await expectNobodyLost(it)
})

test.concurrent('a daemon that is killed takes along what it is given after that, and each of these accounts is told of', async (context) => {
  const { scene, daemon, hubIds, folder } = await answersOnTheirWay(context, 5_000)
  await daemon.kill()
  expect(filesIn(folder)).toEqual([])
  const next = await scene.daemon(SETTINGS)
  for (const hubId of hubIds) await next.line(new RegExp(`"token\\.interrupted","hubId":${hubId}\\b`), 0)
})

test.concurrent('a daemon that is told to stop while Redis is away leaves its answers sealed too', async (context) => {
  const it = await answersOnTheirWay(context, 8_000)
  const { scene, daemon, folder } = it
  await scene.redis.end('SIGTERM')
  // The answers come while it stops.
  expect(await daemon.stop()).toBe(0)
  expectSealed(scene, folder)
  await scene.redis.again()
  await expectNobodyLost(it)
})

test.concurrent('a daemon that is killed in a long outage of Redis has sealed its answers by then, and the next start stores them all', async (context) => {
  const it = await answersOnTheirWay(context, 8_000)
  const { scene, daemon, hubIds, folder } = it
  await scene.redis.end('SIGTERM')
  for (const hubId of hubIds) await daemon.line(new RegExp(`"token\\.sealed","hubIds":\\[[\\d,]*\\b${hubId}\\b`), 0)
  await daemon.kill()
  expectSealed(scene, folder)
  await scene.redis.again()
  await expectNobodyLost(it)
})

test.concurrent('what Redis had taken and lost again, as it died before that was on the disk, is stored once more', async (context) => {
  const scene = await sceneFor(context, { accounts: ACCOUNTS, tokenLifetimeMs: 900_000 })
  const daemon = await scene.daemon(SETTINGS)
  const hubIds = await hubIdsOf(scene.sandbox.url)
  await connectAll(daemon.url, hubIds)
  const { accountOf } = lookInto(() => scene)
  const obtained = () => Promise.all(hubIds.map(async (hubId) => (await accountOf(daemon, hubId)).token.obtainedAt))
  const refreshAll = async () => {
    for (const hubId of hubIds) await refreshNow(daemon.url, hubId)
  }
  const [disk, copy] = [join(scene.folder, 'appendonlydir'), join(scene.folder, 'copy')]
  cpSync(disk, copy, { recursive: true })
  await refreshAll()
  const before = await obtained()
  await scene.redis.end('SIGKILL')
  rmSync(disk, { recursive: true })
  cpSync(copy, disk, { recursive: true })
  await scene.redis.again()
  await eventually('all is stored again', async () => String(await obtained().catch(() => [])) === String(before))
  await refreshAll()
  expect((await journalOf(scene.sandbox.url)).filter(({ status }) => status >= 400)).toEqual([])
})
