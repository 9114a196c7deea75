import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { FORMAT } from '../../src/redis/format.ts'
import { createKeys } from '../../src/redis/keys.ts'
import { plimsoll, run } from '../support/command.ts'
import { type Daemon, spawnDaemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { ask, connectAll, eventually, freePort, hubIdsOf } from '../support/fleet.ts'
import { openScene, type Scene } from '../support/scene.ts'

describe('npm start', () => {
  const ROOT = new URL('../../', import.meta.url).pathname

  let scene: Scene
  afterEach(() => scene.close())

  test('a signal to npm start reaches the daemon, which stops in good order', async () => {
    scene = await openScene({ accounts: 1 })
    const npm = spawn('npm', ['start', '--', '--config', await scene.configFile()], {
      cwd: ROOT,
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines: string[] = []
    createInterface({ input: npm.stdout }).on('line', (line) => lines.push(line))
    const started = await eventually('the start', async () => lines.find((line) => line.includes('"daemon.started"')))
    const { url } = JSON.parse(started) as { url: string }
    const closed = once(npm, 'close')
    npm.kill('SIGTERM')
    await closed
    expect(lines.join('\n')).toContain('"daemon.stopped"')
    await expect(fetch(`${url}/healthz`)).rejects.toThrow()
  })

  test('a daemon that is started with one role does that part only, and says so', async () => {
    scene = await openScene({ accounts: 1 })
    const daemon = await startDaemon(await scene.configFile(), {}, undefined, ['--roles', 'worker'])
    const status = async (path: string) => (await ask(`${daemon.url}${path}`)).status
    expect(await status('/healthz')).toBe(200)
    expect(await status('/metrics')).toBe(200)
    expect(await status('/')).toBe(404)
    expect(await daemon.stop()).toBe(0)
  })
})

describe('data of a newer version', () => {
  /** Data of a version that is newer than this one. */
  const KEY = createKeys('plimsoll').format
  let scene: Scene
  beforeAll(async () => {
    scene = await openScene({ accounts: 0 })
    await scene.redis.connect().set(KEY, FORMAT + 1)
  })
  afterAll(() => scene.close())

  const stored = () => scene.redis.connect().keys('*')

  test('a daemon says so and stops, having written nothing', async () => {
    const daemon = spawnDaemon(await scene.configFile())
    await daemon.line(/^plimsoll: Redis holds data of a newer Plimsoll/, 0)
    await eventually('its end', async () => daemon.child.exitCode !== null)
    expect(daemon.child.exitCode).toBe(1)
    expect(await stored()).toEqual([KEY])
  })

  test.each(['accounts list', 'status', 'doctor', 'keys rekey'])(
    '%s says so, having written nothing',
    async (command) => {
      const args = [...command.split(' '), '--config', await scene.configFile()]
      const { code, out, err } = await plimsoll(args, scene.folder)
      expect(code).toBe(1)
      expect(out + err).toContain('Redis holds data of a newer Plimsoll')
      expect(await stored()).toEqual([KEY])
    },
  )
})

test('data of a development version is refused by a daemon, and its accounts can be taken along', async () => {
  const scene = await openScene({ accounts: 0 })
  try {
    const file = await scene.configFile()
    const run = (args: string, config = file) => plimsoll([...args.split(' '), '--config', config], scene.folder)
    const account = JSON.stringify({ hubId: 123, refreshToken: 'refresh-123' })
    writeFileSync(join(scene.folder, 'one.jsonl'), account)
    expect(await run('accounts import one.jsonl')).toMatchObject({ code: 0 })
    // With the version that wrote the data, as the refusal says: no other reads it.
    expect(await run('accounts export accounts.csv')).toMatchObject({ code: 0 })
    await scene.redis.connect().set(createKeys('plimsoll').format, FORMAT - 1)
    const daemon = spawnDaemon(file)
    await daemon.line(/^plimsoll: Redis holds data of a development version .*accounts export accounts.csv/, 0)
    await eventually('its end', async () => daemon.child.exitCode !== null)
    expect(daemon.child.exitCode).toBe(1)
    expect(await run('accounts list')).toMatchObject({ code: 1 })

    const other = await scene.configFile({ redis: { url: scene.redis.url, prefix: 'another' } })
    expect(await run('accounts import accounts.csv', other)).toMatchObject({ code: 0 })
    expect((await run('accounts list', other)).out).toContain('123')
  } finally {
    await scene.close()
  }
})

describe('SIGUSR1', () => {
  const ROOT = new URL('../../', import.meta.url).pathname
  const SETUP = [join(ROOT, 'config/setup/setup.mjs'), 'dist/src/main.js']
  /** For set-up: a Node too old, beside which it starts the one of the packages. */
  const OLD_NODE = "data:text/javascript,Object.defineProperty(process.versions,'node',{value:'20.0.0'})"

  let scene: Scene
  let daemon: Daemon | undefined
  afterEach(async () => {
    await daemon?.stop()
    await scene.close()
  })

  test('SIGUSR1 opens no debugger in a daemon, however Node was started', async () => {
    scene = await openScene({ accounts: 1, tokenLifetimeMs: 4_000 })
    daemon = await startDaemon(await scene.configFile())
    await connectAll(daemon.url, await hubIdsOf(scene.sandbox.url))
    await expectNoDebugger(daemon, [daemon.child.pid ?? 0])
  })

  test.each([
    { by: 'this Node', old: [] },
    { by: 'the Node of the packages', old: ['--import', OLD_NODE] },
  ])('nor in one that npm start runs on $by', async ({ old }) => {
    scene = await openScene({ accounts: 0 })
    const file = await scene.configFile()
    daemon = await startDaemon(file, {}, [...old, ...SETUP])
    const { pid } = JSON.parse(await daemon.line(/"daemon\.started"/, 0)) as { pid: number }
    const pids = [...new Set([daemon.child.pid ?? 0, pid])]
    expect(pids).toHaveLength(old.length === 0 ? 1 : 2)
    await expectNoDebugger(daemon, pids)
  })
})

/** Ports that a process listens on, as `/proc/net/tcp` writes them. */
function portsOf(pid: number): string[] {
  const inodes = new Set(
    readdirSync(`/proc/${pid}/fd`).map((fd) => {
      try {
        return /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/${pid}/fd/${fd}`))?.[1]
      } catch {
        return undefined // Closed meanwhile.
      }
    }),
  )
  return ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((table) =>
    readFileSync(table, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, , , state, , , , , , inode]) => state === '0A' && inodes.has(inode))
      .map(([, local = '']) => local),
  )
}

/**
 * SIGUSR1 makes a Node that nobody told otherwise open a debugger, on a port that all users of the machine reach. Sends it to
 * a daemon's processes, and lets the daemon do something else afterwards.
 */
async function expectNoDebugger(daemon: Daemon, pids: readonly number[]): Promise<void> {
  await expectNodeOpensOne()
  const before = pids.map(portsOf)
  for (const pid of pids) process.kill(pid, 'SIGUSR1')
  const since = daemon.lines.length
  daemon.child.kill('SIGHUP')
  await daemon.line(/"config\.reloaded"/, since)
  expect(pids.map(portsOf)).toEqual(before)
  expect(daemon.lines.filter((line) => /debugger|inspector/i.test(line))).toEqual([])
  expect((await fetch(`${daemon.url}/healthz`)).status).toBe(200)
}

/** Without that, nothing would be shown here. */
async function expectNodeOpensOne(): Promise<void> {
  const node = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000); console.error("up")'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let said = ''
  node.stderr.on('data', (data) => (said += data))
  await eventually('the start', async () => said.includes('up'))
  node.kill('SIGUSR1')
  await eventually('a debugger', async () => /Debugger listening|Starting inspector/.test(said))
  node.kill('SIGKILL')
}

test.each(['SIGINT', 'SIGTERM'] as const)(
  '%s that npm and the set-up send again stops a daemon no sooner: its Redis ends with it',
  async (signal) => {
    const folder = mkdtempSync(join(tmpdir(), 'plimsoll-start-'))
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
    const far = { sandboxUrl: 'http://127.0.0.1:1', smtpUrl: 'smtp://127.0.0.1:1' }
    const daemon = await startDaemon(writeDaemonConfig(folder, { ...far, port: await freePort() }))
    const ended = once(daemon.child, 'exit')
    daemon.child.kill(signal)
    await daemon.line(/"daemon\.stopping"/, 0)
    for (const _ of [1, 2]) daemon.child.kill(signal)
    expect(await ended).toEqual([0, null])
    expect(daemon.lines.at(-1)).toContain('"daemon.stopped"')
    expect(await run('sh', ['-c', `ps -eo args | grep -c "[r]edis-server.*${folder}"`], folder)).toMatchObject({
      out: '0\n',
    })
  },
)
