import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, test } from 'vitest'
import { type EmbeddedRedis, openEmbeddedRedis } from '../../src/redis/embedded.ts'
import { findServer } from '../../src/redis/server-program.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { eventually } from '../support/fleet.ts'
import { logLines } from '../support/log-lines.ts'

const folders: string[] = []
const open: EmbeddedRedis[] = []
const clients: Redis[] = []
const others: ChildProcess[] = []

afterEach(async () => {
  for (const client of clients.splice(0)) client.disconnect()
  for (const other of others.splice(0)) {
    if (other.exitCode === null && other.signalCode === null) {
      const exited = once(other, 'exit')
      other.stdin?.end()
      await exited
    }
  }
  for (const embedded of open.splice(0)) await embedded.close()
  for (const folder of folders.splice(0)) {
    const pid = await serverPid(folder)
    if (pid !== undefined) process.kill(pid, 'SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  }
})

function dataFolder(name = ''): string {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-embedded-'))
  folders.push(folder)
  return join(folder, name)
}

const logged = logLines()

async function openOn(dataDir: string): Promise<EmbeddedRedis> {
  const embedded = await openEmbeddedRedis(dataDir, systemClock, logged.log)
  open.push(embedded)
  return embedded
}

/** Closes it as a daemon does; the afterEach leaves it alone then. */
async function close(embedded: EmbeddedRedis): Promise<void> {
  open.splice(open.indexOf(embedded), 1)
  await embedded.close()
}

function connect(socket: string): Redis {
  const client = new Redis({ path: socket, maxRetriesPerRequest: 20, retryStrategy: () => 50 })
  client.on('error', () => {})
  clients.push(client)
  return client
}

async function pidBehind(socket: string): Promise<number> {
  const client = new Redis({ path: socket, retryStrategy: () => null, maxRetriesPerRequest: 0 })
  client.on('error', () => {})
  try {
    return Number(/process_id:(\d+)/.exec(await client.info('server'))?.[1])
  } finally {
    client.disconnect()
  }
}

/** The server that still runs on a folder, if any does. */
async function serverPid(folder: string): Promise<number | undefined> {
  for (const candidate of [join(folder, 'redis', 'redis.sock'), join(folder, 'data', 'redis', 'redis.sock')]) {
    const pid = existsSync(candidate) ? await pidBehind(candidate).catch(() => undefined) : undefined
    if (pid !== undefined) return pid
  }
  return undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    // A child that ended and was not waited for still has its number.
    return !/^State:\s+Z/m.test(existsSync(`/proc/${pid}/status`) ? readFileSync(`/proc/${pid}/status`, 'utf8') : '')
  } catch {
    return false
  }
}

/** Another process of the same data folder. */
async function otherProcess(dataDir: string): Promise<{ socket: string; child: ChildProcess; leave(): Promise<void> }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'open-embedded.ts'), dataDir], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  others.push(child)
  const [socket] = (await once(createInterface({ input: child.stdout as NodeJS.ReadableStream }), 'line')) as [string]
  return {
    socket,
    child,
    leave: async () => {
      const exited = once(child, 'exit')
      child.stdin?.end()
      await exited
    },
  }
}

describe('the embedded Redis', () => {
  test('starts, and can be reached through a socket of this user only, on no port at all', async () => {
    const embedded = await openOn(dataFolder())
    const client = connect(embedded.socket)
    expect(await client.ping()).toBe('PONG')
    expect(await client.config('GET', 'port')).toEqual(['port', '0'])
    expect(statSync(embedded.socket).mode & 0o777).toBe(0o700)
    expect(statSync(dirname(embedded.socket)).mode & 0o077).toBe(0)
  })

  test('never forgets on its own account: nothing is evicted, everything is written down', async () => {
    const client = connect((await openOn(dataFolder())).socket)
    expect(await client.config('GET', 'maxmemory-policy')).toEqual(['maxmemory-policy', 'noeviction'])
    expect(await client.config('GET', 'appendonly')).toEqual(['appendonly', 'yes'])
  })

  test('stops with whoever uses it last, and has everything when it starts again', async () => {
    const dataDir = dataFolder('data')
    const first = await openOn(dataDir)
    const client = connect(first.socket)
    await client.set('token', 'kept')
    const pid = await pidBehind(first.socket)
    client.disconnect()
    await close(first)
    expect(isAlive(pid)).toBe(false)

    const second = await openOn(dataDir)
    expect(second.socket).toBe(first.socket)
    expect(await connect(second.socket).get('token')).toBe('kept')
  })

  test('is shared by the processes of one data folder, and the last one to leave stops it', async () => {
    const dataDir = dataFolder()
    const own = await openOn(dataDir)
    const pid = await pidBehind(own.socket)
    const other = await otherProcess(dataDir)
    expect(other.socket).toBe(own.socket)
    expect(await pidBehind(other.socket)).toBe(pid)

    await close(own)
    expect(isAlive(pid)).toBe(true)
    expect(await pidBehind(other.socket)).toBe(pid)
    await other.leave()
    await eventually('the server has ended', async () => !isAlive(pid))
  })

  test('whose starter is killed while another process works with it goes on, and that one stops it', async () => {
    const dataDir = dataFolder()
    const starter = await otherProcess(dataDir)
    const pid = await pidBehind(starter.socket)
    const own = await openOn(dataDir)
    const exited = once(starter.child, 'exit')
    starter.child.kill('SIGKILL')
    await exited
    expect(await pidBehind(own.socket)).toBe(pid)
    await close(own)
    await eventually('the server has ended', async () => !isAlive(pid))
  })

  test('is started once, however many processes start at the same moment', async () => {
    const dataDir = dataFolder()
    const all = await Promise.all([
      otherProcess(dataDir),
      otherProcess(dataDir),
      otherProcess(dataDir),
      openOn(dataDir),
    ])
    const pids = await Promise.all(all.map(({ socket }) => pidBehind(socket)))
    expect(new Set(pids).size).toBe(1)
  })

  test('is started again when it is killed, with everything that it had', async () => {
    const embedded = await openOn(dataFolder())
    const client = connect(embedded.socket)
    await client.set('token', 'kept')
    await client.config('SET', 'appendfsync', 'always')
    await client.set('written', 'yes')
    const killed = await pidBehind(embedded.socket)
    process.kill(killed, 'SIGKILL')
    const revived = await eventually('another server answers', async () => {
      const pid = await pidBehind(embedded.socket).catch(() => undefined)
      return pid !== undefined && pid !== killed && pid
    })
    expect(revived).not.toBe(killed)
    expect(await client.mget('token', 'written')).toEqual(['kept', 'yes'])
    expect(logged.text()).toContain('"redis.gone"')
  })

  test('that a crashed daemon left behind is taken over, and stopped in the end', async () => {
    const dataDir = dataFolder()
    const crashed = await otherProcess(dataDir)
    const pid = await pidBehind(crashed.socket)
    const exited = once(crashed.child, 'exit')
    crashed.child.kill('SIGKILL')
    await exited
    expect(isAlive(pid)).toBe(true)

    const heir = await openOn(dataDir)
    expect(await pidBehind(heir.socket)).toBe(pid)
    await close(heir)
    await eventually('the server has ended', async () => !isAlive(pid))
  })

  test('starts although a server that was killed left its socket', async () => {
    const dataDir = dataFolder('data')
    const first = await openOn(dataDir)
    await connect(first.socket).set('token', 'kept')
    await close(first)
    writeFileSync(first.socket, '')
    expect(await connect((await openOn(dataDir)).socket).get('token')).toBe('kept')
  })

  test('works in a data folder whose path is longer than that of a socket may be', async () => {
    const dataDir = dataFolder(join('a'.repeat(90), 'b'.repeat(90)))
    const embedded = await openOn(dataDir)
    expect(embedded.socket.length).toBeLessThan(104)
    expect(statSync(dirname(embedded.socket)).mode & 0o077).toBe(0)
    expect(await connect(embedded.socket).ping()).toBe('PONG')
    const other = await otherProcess(dataDir)
    expect(other.socket).toBe(embedded.socket)
    await other.leave()
    await close(embedded)
    rmSync(dirname(embedded.socket), { recursive: true, force: true })
  })

  test('that cannot start says where its log is', async () => {
    const dataDir = dataFolder()
    mkdirSync(join(dataDir, 'redis', 'appendonlydir'), { recursive: true })
    writeFileSync(join(dataDir, 'redis', 'appendonlydir', 'appendonly.aof.manifest'), 'nonsense\n')
    await expect(openEmbeddedRedis(dataDir, systemClock, logged.log)).rejects.toThrow(/did not start: .*redis\.log/)
  })

  test('that is closed twice is closed once', async () => {
    const embedded = await openOn(dataFolder())
    await close(embedded)
    await expect(embedded.close()).resolves.toBeUndefined()
  })

  test('that was killed a moment ago closes all the same, and no server stays behind', async () => {
    const dataDir = dataFolder('data')
    const embedded = await openOn(dataDir)
    process.kill(await pidBehind(embedded.socket), 'SIGKILL')
    await close(embedded)
    expect(await pidBehind(embedded.socket).catch(() => 'nobody')).toBe('nobody')
  })
})

describe('the server program', () => {
  test('is the one that the environment names, before any on the path', () => {
    const before = process.env.REDIS_SERVER_BIN
    process.env.REDIS_SERVER_BIN = '/opt/redis/bin/redis-server'
    try {
      expect(findServer()).toBe('/opt/redis/bin/redis-server')
    } finally {
      if (before === undefined) delete process.env.REDIS_SERVER_BIN
      else process.env.REDIS_SERVER_BIN = before
    }
  })

  test('that is missing is an error that says how to get it', () => {
    const { PATH, REDIS_SERVER_BIN } = process.env
    process.env.PATH = '/nowhere'
    delete process.env.REDIS_SERVER_BIN
    try {
      expect(() => findServer()).toThrow(/apt-get install redis-server/)
    } finally {
      process.env.PATH = PATH
      if (REDIS_SERVER_BIN !== undefined) process.env.REDIS_SERVER_BIN = REDIS_SERVER_BIN
    }
  })
})
