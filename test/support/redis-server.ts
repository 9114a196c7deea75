import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { connectRedis, type Purpose, type Store } from '../../src/redis/connect.ts'
import { findServer } from '../../src/redis/server-program.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { freePort } from './fleet.ts'

/** A real Redis that a test talks to. */
export interface TestRedis {
  readonly url: string
  readonly port: number
  /** A connection as the daemon makes it; closed with the Redis, or after the file. */
  connect(purpose?: Purpose): Store
}

/** One of a test's own. */
export interface RedisServer extends TestRedis, RedisProcess {
  /** Ends the server and its connections. */
  stop(): Promise<void>
}

/** A machine that others keep busy: no page of a test is refused for that. */
export const BUSY_MS = 60_000

/** Of a test that takes Redis away: its pages wait for the answer that does not come. */
export const AWAY_MS = 5_000

/**
 * In memory only, unless a folder for its append-only file is given; `more` are arguments of its own, `pagesMs` is how
 * long pages wait for it.
 */
export async function startRedis(
  folder?: string,
  more: readonly string[] = [],
  pagesMs = BUSY_MS,
): Promise<RedisServer> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const stores: Store[] = []
  // It writes some there in any case: what a replica is sent, the slots of a Cluster.
  const own = mkdtempSync(join(tmpdir(), 'plimsoll-redis-'))
  const persistence = ['--appendonly', folder === undefined ? 'no' : 'yes', '--dir', folder ?? own]
  const process = await startRedisProcess(port, ['--save', '', ...persistence, ...more])
  return {
    ...process,
    url,
    connect: (purpose = 'steps') => {
      const store = connectRedis({ kind: 'url', url: new Secret(url) }, purpose, () => {}, pagesMs)
      stores.push(store)
      return store
    },
    stop: async () => {
      for (const store of stores) store.disconnect()
      await process.end('SIGKILL')
      rmSync(own, { recursive: true, force: true })
    },
  }
}

/** A server process that may be ended and started again on its port, with its files. */
export interface RedisProcess {
  readonly port: number
  /** SIGKILL is a crash. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** With these arguments too. */
  again(extra?: readonly string[]): Promise<void>
}

/** Resolves once it answers. `args` are those beside its port and address. */
export async function startRedisProcess(port: number, args: readonly string[]): Promise<RedisProcess> {
  let child = await launch(port, args)
  return {
    port,
    end: async (signal) => {
      if (child.exitCode !== null || child.signalCode !== null) return
      const exited = once(child, 'exit')
      child.kill(signal)
      await exited
    },
    again: async (extra = []) => {
      child = await launch(port, [...args, ...extra])
    },
  }
}

async function launch(port: number, more: readonly string[]): Promise<ChildProcess> {
  // A file of its own comes ahead of all options.
  const [file = '', ...options] = more[0]?.startsWith('/') === true ? more : ['', ...more]
  const args = [...(file === '' ? [] : [file]), '--port', String(port), '--bind', '127.0.0.1', ...options]
  const child = spawn(findServer(), args, { stdio: 'ignore' })
  const failed = once(child, 'exit').then(() => {
    throw new Error('redis-server ended at once')
  })
  failed.catch(() => undefined)
  while (!(await Promise.race([answers(port, child.pid), failed]))) await pause(10)
  return child
}

/** Another server on that port, of a test that runs beside this one, is not the one that was started. */
function answers(port: number, pid: number | undefined): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1')
    const end = (answer: boolean | Error) => {
      socket.destroy()
      if (answer instanceof Error) reject(answer)
      else resolve(answer)
    }
    socket.on('error', () => end(false))
    let heard = ''
    socket.on('data', (data) => {
      heard += data.toString()
      if (!isWhole(heard)) return
      const found = /\r\nprocess_id:(\d+)\r\n/.exec(heard)?.[1]
      // A sentinel has nothing to load, and says nothing of it.
      if (found === undefined || Number(found) === pid) end(found !== undefined && !heard.includes('\r\nloading:1\r\n'))
      else end(new Error(`port ${port} belongs to the server ${found}`))
    })
    socket.on('close', () => end(false))
    socket.write('INFO\r\n')
  })
}

/** Of what a server answers to `INFO`: an error in one line, or as many bytes as it announces. */
function isWhole(heard: string): boolean {
  if (heard.startsWith('-')) return true
  const [head, length] = /^\$(\d+)\r\n/.exec(heard) ?? []
  return head !== undefined && heard.length >= head.length + Number(length)
}
