import { spawn, spawnSync } from 'node:child_process'
import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { delimiter, join } from 'node:path'

/** The programs beside Node that the private Redis needs, started with no more of our environment than they use. */

const PASSED_ON = ['PATH', 'TZ', 'LANG', 'LC_ALL', 'LD_LIBRARY_PATH', 'DYLD_LIBRARY_PATH']

/** Ours holds secrets, and every process of this user could read them there. */
function plainEnvironment(): NodeJS.ProcessEnv {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

/** Number under which the server finds the lock among its open files. */
const LOCK_FD = 3
/** open(2) of macOS and the BSDs locks by itself. */
const LOCKS = { shared: { option: '-s', openFlag: 0x10 }, exclusive: { option: '-x', openFlag: 0x20 } }

/**
 * A lock on a folder, or undefined while another process has one that excludes it. It belongs to the open file: a server that
 * inherits that keeps it for as long as it or a child of it lives - stopped, hung or without its parent - and not a moment
 * longer. It is on the folder itself: a file in it could be deleted, and locked again beside the old one. Node has no
 * flock(): a helper takes it for the folder that we hold open.
 */
export function lockFolder(folder: string, how: keyof typeof LOCKS): number | undefined {
  const { option, openFlag } = LOCKS[how]
  if (process.platform !== 'linux') return openLocked(folder, openFlag)
  const fd = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY)
  const { status, error } = spawnSync('flock', ['-n', option, String(LOCK_FD)], {
    stdio: ['ignore', 'ignore', 'ignore', fd],
    env: plainEnvironment(),
  })
  if (status === 0) return fd
  closeSync(fd)
  if (status === 1) return undefined
  const why = (error as NodeJS.ErrnoException | undefined)?.code
  if (why === 'ENOENT')
    throw new Error('there is no flock on this machine: apt-get install util-linux, or set redis.url')
  throw new Error(`flock could not lock ${folder}: ${why ?? `it ended with ${status}`}`)
}

function openLocked(folder: string, lock: number): number | undefined {
  try {
    return openSync(folder, constants.O_RDONLY | constants.O_NONBLOCK | lock)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return undefined
    throw error
  }
}

/** A server that was started. */
export interface ServerProcess {
  /** How it ended; undefined while it runs. */
  readonly ended: string | undefined
  readonly gone: Promise<void>
  kill(): void
}

/** Starts the server, which keeps the lock. The caller closes its own descriptors. */
export function spawnServer(args: readonly string[], output: number, lock: number): ServerProcess {
  const program = findServer()
  // The server makes its files by the umask that it is born with.
  const umask = process.umask(0o077)
  const child = spawn(program, args, {
    // A process group of its own: Ctrl-C must reach the daemon alone, which still has data to write.
    detached: true,
    env: plainEnvironment(),
    stdio: ['ignore', output, output, lock],
  })
  process.umask(umask)
  child.unref()
  const { promise: gone, resolve } = Promise.withResolvers<void>()
  const server = { ended: undefined as string | undefined, gone, kill: () => void child.kill() }
  const end = (how: string) => {
    server.ended = how
    resolve()
  }
  child.on('error', (error) => end(error.message))
  child.on('exit', (code, signal) => end(`it ended with ${signal ?? code}`))
  return server
}

export function findServer(): string {
  const found = serverProgram()
  if (found !== undefined) return found
  throw new Error('there is no redis-server on this machine: apt-get install redis-server, or set redis.url')
}

/** Undefined where this machine has none. */
export function serverProgram(): string | undefined {
  return process.env.REDIS_SERVER_BIN || findProgram('redis-server', 'valkey-server')
}

function findProgram(...names: string[]): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter)
  return names.flatMap((name) => folders.map((folder) => join(folder, name))).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
