import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { closeSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { openRedis } from '../../src/app/open-redis.ts'
import { type EmbeddedRedis, openEmbeddedRedis } from '../../src/redis/embedded.ts'
import { findServer, lockFolder } from '../../src/redis/server-program.ts'
import { type Clock, systemClock } from '../../src/runtime/clock.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { configOf, SMALLEST } from '../config/load-text.ts'
import { checkAppendOnlyFile } from '../support/append-only-file.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'
import { mountSmallDisk, serversOn } from '../support/servers-on.ts'

let dataDir: string
let redisDir: string
let logged: ReturnType<typeof logLines>
const open: EmbeddedRedis[] = []
const owners: ChildProcess[] = []
const unmounts: (() => void)[] = []

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-one-server-'))
  redisDir = join(dataDir, 'redis')
  mkdirSync(redisDir, { mode: 0o700 })
  logged = logLines()
  return () => rmSync(dataDir, { recursive: true, force: true })
})

afterEach(async () => {
  vi.unstubAllEnvs()
  for (const owner of owners.splice(0)) await killed(owner)
  for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGCONT')
  for (const embedded of open.splice(0)) await embedded.close()
  for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGKILL')
  for (const unmount of unmounts.splice(0)) unmount()
})

async function openOn(withinMs?: number, folder = dataDir): Promise<EmbeddedRedis> {
  const embedded = await openEmbeddedRedis(folder, systemClock, logged.log, withinMs)
  open.push(embedded)
  return embedded
}

/** A process of its own that has it open. */
async function startOwner(): Promise<ChildProcess> {
  const owner = spawn(process.execPath, [join(import.meta.dirname, 'open-embedded.ts'), dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  owners.push(owner)
  await once(createInterface({ input: owner.stdout as NodeJS.ReadableStream }), 'line')
  return owner
}

async function killed(owner: ChildProcess): Promise<void> {
  if (owner.exitCode !== null || owner.signalCode !== null) return
  const exited = once(owner, 'exit')
  owner.kill('SIGKILL')
  await exited
}

function expectWholeFile(): void {
  const { isWhole, output: said } = checkAppendOnlyFile(redisDir)
  expect(isWhole, said).toBe(true)
}

/** The one server there is. */
function theServer(): number {
  const pids = serversOn(redisDir)
  expect(pids).toHaveLength(1)
  return pids[0] ?? 0
}

async function write(name: string, value: string): Promise<void> {
  await withClient((client) => client.set(name, value))
}

async function withClient<T>(work: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis({ path: join(redisDir, 'redis.sock'), maxRetriesPerRequest: 5, retryStrategy: () => 100 })
  client.on('error', () => {})
  try {
    return await work(client)
  } finally {
    client.disconnect()
  }
}

const SOON_MS = 500

describe('the private Redis', () => {
  test('is reached through a socket of this user only, on no port, evicts nothing and writes everything down', async () => {
    const { socket } = await openOn()
    const settings = ['port', 'maxmemory-policy', 'appendonly'].map((name) =>
      withClient((client) => client.config('GET', name) as Promise<string[]>),
    )
    expect((await Promise.all(settings)).map(([, value]) => value)).toEqual(['0', 'noeviction', 'yes'])
    expect([statSync(socket), statSync(dirname(socket))].map(({ mode }) => mode & 0o077)).toEqual([0, 0])
  })

  test('stops with whoever uses it last, closed twice or not, and has everything when it starts again', async () => {
    const first = await openOn()
    await write('token', 'kept')
    const other = await startOwner()
    const pid = theServer()
    await first.close()
    await first.close()
    expect(serversOn(redisDir)).toEqual([pid])
    other.stdin?.end()
    await eventually('the server has ended', async () => serversOn(redisDir).length === 0)
    // As one that was killed leaves it.
    writeFileSync(first.socket, '')
    await openOn()
    expect(await withClient((client) => client.get('token'))).toBe('kept')
  })

  test.each([true, false])(
    'whose starter is killed goes on, another uses it then: %s, and that one stops it',
    async (isUsed) => {
      const starter = await startOwner()
      const before = isUsed ? await openOn() : undefined
      const pid = theServer()
      await killed(starter)
      const heir = before ?? (await openOn())
      expect(serversOn(redisDir)).toEqual([pid])
      await heir.close()
      await eventually('the server has ended', async () => serversOn(redisDir).length === 0)
    },
  )

  test('is started again when it is killed, with everything that it had; not where it is closed at that moment', async () => {
    const embedded = await openOn()
    await withClient((client) => client.config('SET', 'appendfsync', 'always'))
    await write('token', 'kept')
    const pid = theServer()
    process.kill(pid, 'SIGKILL')
    await eventually('another server', async () => serversOn(redisDir).some((other) => other !== pid))
    expect(await withClient((client) => client.get('token'))).toBe('kept')
    expect(logged.text()).toContain('"redis.gone"')
    process.kill(theServer(), 'SIGKILL')
    await embedded.close()
    expect(serversOn(redisDir)).toEqual([])
  })

  test('works in a data folder whose path is longer than that of a socket may be', async () => {
    const long = join(dataDir, 'a'.repeat(90), 'b'.repeat(90))
    const [one, other] = [await openOn(undefined, long), await openOn(undefined, long)]
    onTestFinished(() => rmSync(dirname(one.socket), { recursive: true, force: true }))
    expect(one.socket.length).toBeLessThan(104)
    expect(statSync(dirname(one.socket)).mode & 0o077).toBe(0)
    expect(other.socket).toBe(one.socket)
  })

  test('is the program that the environment names, before any on the path; without any it is said how to get one', () => {
    vi.stubEnv('REDIS_SERVER_BIN', '/opt/redis/bin/redis-server')
    expect(findServer()).toBe('/opt/redis/bin/redis-server')
    vi.stubEnv('REDIS_SERVER_BIN', undefined)
    vi.stubEnv('PATH', '/nowhere')
    expect(() => findServer()).toThrow(/apt-get install redis-server/)
  })
})

describe('a server that lives and can not be used', () => {
  test('stopped: none is started beside it', async () => {
    await killed(await startOwner())
    await write('token', 'kept')
    const pid = theServer()
    process.kill(pid, 'SIGSTOP')
    const tries = await Promise.allSettled([1, 2, 3].map(() => openOn(SOON_MS)))
    for (const one of tries) {
      expect(String((one as PromiseRejectedResult).reason)).toMatch('not ready within 0.5 s: it does not answer')
    }
    expect(serversOn(redisDir)).toEqual([pid])

    process.kill(pid, 'SIGCONT')
    await openOn()
    expect(serversOn(redisDir)).toEqual([pid])
    expectWholeFile()
  })

  test.each([
    ['a command is told how to wait longer', SOON_MS, /wait longer with --timeout/],
    ['start, which has no --timeout, is not', undefined, /try again later$/],
  ])('out of order: %s', async (_who, withinMs, told) => {
    const server = createServer((socket) => socket.end('-ERR out of order\r\n'))
    await once(server.listen(join(redisDir, 'redis.sock')), 'listening')
    onTestFinished(() => void server.close())
    // A minute of it is over in a moment.
    const clock: Clock = {
      ...systemClock,
      stopwatch: () => {
        const passed = systemClock.stopwatch()
        return () => passed() * 1_000
      },
    }
    await expect(openEmbeddedRedis(dataDir, clock, logged.log, withinMs)).rejects.toThrow(told)
  })

  test('silent for longer than a moment: it is waited for, and that is said once', async () => {
    await killed(await startOwner())
    const pid = theServer()
    process.kill(pid, 'SIGSTOP')
    const opening = openOn()
    await eventually('it is said what is waited for', async () => logged.text().includes('"redis.unwell"'))
    process.kill(pid, 'SIGCONT')
    await opening
    expect(serversOn(redisDir)).toEqual([pid])
    expect(logged.lines().filter(({ code }) => code === 'redis.unwell')).toHaveLength(1)
  })

  test('without its socket, and all else but its data: none is started beside it, and it is named', async () => {
    await killed(await startOwner())
    await write('token', 'kept')
    const pid = theServer()
    for (const name of readdirSync(redisDir)) if (name !== 'appendonlydir') rmSync(join(redisDir, name))
    await expect(openOn(SOON_MS)).rejects.toThrow(`a redis-server holds ${redisDir} and does not listen`)
    expect(serversOn(redisDir)).toEqual([pid])

    process.kill(pid, 'SIGTERM')
    await openOn()
    expect(theServer()).not.toBe(pid)
    expect(await withClient((client) => client.get('token'))).toBe('kept')
  })

  test('still loading: those that come meanwhile say so or wait, and all use that one', async () => {
    const first = await startOwner()
    await withClient((client) =>
      client.mset(
        Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`k${at}`, randomBytes(1_500).toString('hex')])),
      ),
    )
    await withClient((client) => client.bgrewriteaof())
    await eventually('the file is written anew', async () =>
      /aof_rewrite_in_progress:0.*aof_last_bgrewrite_status:ok/s.test(
        await withClient((client) => client.info('persistence')),
      ),
    )
    process.kill(theServer(), 'SIGTERM')
    await killed(first)
    for (const pid of serversOn(redisDir)) process.kill(pid, 'SIGTERM')
    await eventually('it has ended', async () => serversOn(redisDir).length === 0)

    const slowly = '--key-load-delay 50000 --loading-process-events-interval-bytes 1024'
    const program = join(dataDir, 'redis-that-loads-slowly')
    writeFileSync(program, `#!/bin/sh\nexec ${findServer()} "$@" ${slowly}\n`, { mode: 0o755 })
    vi.stubEnv('REDIS_SERVER_BIN', program)
    await expect(openOn(SOON_MS)).rejects.toThrow('it still loads its file')
    const pid = theServer()
    await expect(openOn(SOON_MS)).rejects.toThrow('it still loads its file')
    await Promise.all([openOn(), openOn(), openOn()])
    expect(serversOn(redisDir)).toEqual([pid])
    expect(await withClient((client) => client.dbsize())).toBe(40)
  })
})

describe('a full disk', () => {
  test('none is started beside it, it can be read, and is not stopped while its memory alone has what was written last', async ({
    skip,
  }) => {
    const unmount = mountSmallDisk(redisDir, '2m')
    if (typeof unmount === 'string') return skip(unmount)
    unmounts.push(unmount)
    const first = await openOn()
    const pid = theServer()
    await write('token', 'kept')
    await fillDisk()

    const second = await openOn(SOON_MS)
    expect(await withClient((client) => client.get('token'))).toBe('kept')
    expect(serversOn(redisDir)).toEqual([pid])
    await first.close()
    await second.close()
    expect(serversOn(redisDir)).toEqual([pid])
    expect(logged.text()).toContain('"redis.left"')

    // On a disk that is still full, after a kill: what was written before it was full is there.
    process.kill(pid, 'SIGKILL')
    await eventually('it has ended', async () => serversOn(redisDir).length === 0)
    await openOn()
    expect(theServer()).not.toBe(pid)
    expect(await withClient((client) => client.get('token'))).toBe('kept')
    expectWholeFile()
  })
})

async function fillDisk(): Promise<void> {
  const value = 'x'.repeat(20_000)
  await withClient(async (client) => {
    const fill = async () => {
      for (let at = 0; at < 1_000; at++) await client.set(`fill${at}`, value)
    }
    await expect(fill()).rejects.toThrow('MISCONF')
  })
}

test('two daemons that come and go at once, with others between them, never use two servers', async () => {
  let most = 0
  const look = setInterval(() => {
    most = Math.max(most, serversOn(redisDir).length)
  }, 5)
  const comeAndGo = async (times: number) => {
    for (let time = 0; time < times; time++) {
      const embedded = await openEmbeddedRedis(dataDir, systemClock, logged.log)
      await withClient((client) => client.incr('uses'))
      await embedded.close()
    }
  }
  await Promise.all([comeAndGo(10), comeAndGo(10), comeAndGo(10)]).finally(() => clearInterval(look))
  expect(most).toBe(1)
  await openOn()
  expect(await withClient((client) => client.get('uses'))).toBe('30')
  expectWholeFile()
})

test('a stop while the server still starts leaves none behind', async () => {
  const slow = join(dataDir, 'slow-server')
  writeFileSync(slow, '#!/bin/sh\nexec sleep 3\n', { mode: 0o700 })
  vi.stubEnv('REDIS_SERVER_BIN', slow)
  const lifecycle = new Lifecycle()
  const config = { ...configOf(SMALLEST), dataDir }
  const opening = openRedis({ config, clock: systemClock, log: logged.log }, lifecycle).catch(() => undefined)
  await eventually('it is started', async () => logged.text().includes('redis.embedded'))
  await lifecycle.close()
  // The process ends a second after that.
  await systemClock.wait(500)
  const lock = lockFolder(redisDir, 'exclusive')
  await opening
  expect(lock, 'nobody holds the folder').toBeDefined()
  if (lock !== undefined) closeSync(lock)
})

test('the server gets none of our secrets in its environment', async () => {
  const program = join(dataDir, 'redis-that-tells')
  writeFileSync(program, `#!/bin/sh\nenv > ${dataDir}/environment\nexec ${findServer()} "$@"\n`, { mode: 0o755 })
  vi.stubEnv('PLIMSOLL_TEST_SECRET', 'hush')
  vi.stubEnv('REDIS_SERVER_BIN', program)
  await openOn()
  const environment = readFileSync(join(dataDir, 'environment'), 'utf8')
  expect(environment).toContain('PATH=')
  expect(environment).not.toContain('hush')
})
