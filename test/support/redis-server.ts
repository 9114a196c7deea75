import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connectRedis, type Purpose, type Store } from '../../src/redis/connect.ts'
import { findServer } from '../../src/redis/embedded.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { freePort } from './fleet.ts'

/** A real Redis of a test's own. */
export interface TestRedis {
  readonly port: number
  readonly url: string
  /** A connection as the daemon makes it; closed by stop(). */
  store(purpose?: Purpose): Store
  /** Ends the server and its connections. */
  stop(): Promise<void>
  /** Ends the server only: SIGKILL is a crash. */
  end(signal: 'SIGTERM' | 'SIGKILL'): Promise<void>
  /** Starts it again on the same port with the same file; with these arguments too. */
  again(extra?: readonly string[]): Promise<void>
}

/** In memory only, unless a folder for its append-only file is given; `more` are arguments of its own. */
export async function startRedis(folder?: string, more: readonly string[] = []): Promise<TestRedis> {
  const port = await freePort()
  const url = `redis://127.0.0.1:${port}`
  const stores: Store[] = []
  let child = await launch(port, folder, more)
  const end = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (child.exitCode !== null || child.signalCode !== null) return
    const exited = once(child, 'exit')
    child.kill(signal)
    await exited
  }
  return {
    port,
    url,
    store: (purpose = 'steps') => {
      const store = connectRedis({ kind: 'url', url: new Secret(url) }, purpose, () => {})
      stores.push(store)
      return store
    },
    stop: async () => {
      for (const store of stores) store.disconnect()
      await end('SIGKILL')
    },
    end,
    again: async (extra = []) => {
      child = await launch(port, folder, [...more, ...extra])
    },
  }
}

async function launch(port: number, folder: string | undefined, more: readonly string[]): Promise<ChildProcess> {
  const persistence = folder === undefined ? ['--appendonly', 'no'] : ['--appendonly', 'yes', '--dir', folder]
  const args = ['--port', String(port), '--bind', '127.0.0.1', '--save', '', ...persistence, ...more]
  const child = spawn(findServer(), args, { stdio: 'ignore' })
  const failed = once(child, 'exit').then(() => {
    throw new Error('redis-server ended at once')
  })
  failed.catch(() => undefined)
  while (!(await Promise.race([answers(port), failed]))) await pause(10)
  return child
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const end = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.on('error', () => end(false))
    socket.on('data', (data) => end(data.toString().startsWith('+PONG')))
    socket.write('PING\r\n')
  })
}
