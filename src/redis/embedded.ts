import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
} from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { Redis } from 'ioredis'
import type { Clock } from '../runtime/clock.ts'
import { openDataFolder } from '../runtime/data-folder.ts'
import type { Logger } from '../runtime/logger.ts'

/**
 * A private redis-server for installations without one: persistent (append-only file), inside the data folder, reachable only
 * through a socket that only this user may open. It is shared by all Plimsoll processes of one data folder - a daemon,
 * the command line - and the last one to leave stops it. A server that a crashed daemon left behind is taken over.
 */
export interface EmbeddedRedis {
  readonly socket: string
  /** Stops the server if no other process uses it. Close your own connections first. */
  close(): Promise<void>
}

/** Loading a large file takes its time. */
const START_WITHIN_MS = 60_000

/** The path of a Unix socket may be no longer than this (sun_path is 108 bytes on Linux, 104 elsewhere). */
const LONGEST_SOCKET_PATH = 100

/** Whether a server was started on the folder: a command that only reads must not start one. Redis 6 has a single file. */
export function holdsEmbeddedRedis(dataDir: string): boolean {
  return ['appendonlydir', 'appendonly.aof'].some((name) => existsSync(join(dataDir, 'redis', name)))
}

export async function openEmbeddedRedis(dataDir: string, clock: Clock, log: Logger): Promise<EmbeddedRedis> {
  const server = new Server(openDataFolder(dataDir, 'redis'), clock, log)
  await server.open()
  return { socket: server.socket, close: () => server.release() }
}

class Server {
  readonly socket: string
  readonly #folder: string
  readonly #clock: Clock
  readonly #log: Logger
  #child: ChildProcess | undefined
  #watching: Redis | undefined
  #closing = false
  #reviving: Promise<void> | undefined
  #released: Promise<void> | undefined

  constructor(folder: string, clock: Clock, log: Logger) {
    this.#folder = folder
    this.#clock = clock
    this.#log = log
    this.socket = socketPath(folder)
  }

  /** Starts the server unless it answers already, and makes this process known to it. */
  open(): Promise<void> {
    return this.#alone(async () => {
      if (!(await answers(this.socket))) await this.#start()
      await this.#watch()
    })
  }

  /** One process of the data folder at a time: none may stop the server while another one is joining. */
  async #alone(work: () => Promise<void>): Promise<void> {
    const deadline = this.#clock.now() + START_WITHIN_MS
    while (!takeLock(this.#lockFile(), this.#clock.now())) {
      if (this.#clock.now() > deadline) throw new Error(`another process holds ${this.#lockFile()} for too long`)
      await this.#clock.wait(10)
    }
    try {
      await work()
    } finally {
      rmSync(this.#lockFile(), { force: true })
    }
  }

  async #start(): Promise<void> {
    const program = findServer()
    const output = openSync(this.#logFile(), 'a', 0o600)
    // The server makes its files by the umask that it is born with.
    const umask = process.umask(0o077)
    const child = spawn(
      program,
      [
        ...['--port', '0', '--unixsocket', this.socket, '--unixsocketperm', '700', '--daemonize', 'no'],
        ...['--dir', this.#folder, '--appendonly', 'yes', '--appendfsync', 'everysec', '--save', ''],
        ...['--maxmemory-policy', 'noeviction', '--databases', '1'],
      ],
      // Its own process group: Ctrl-C must reach the daemon alone, which still has data to write.
      { detached: true, stdio: ['ignore', output, output] },
    )
    process.umask(umask)
    closeSync(output)
    child.unref()
    this.#child = child
    let failure: string | undefined
    child.on('error', (error) => {
      failure = error.message
    })
    child.on('exit', (code, signal) => {
      failure = `it ended with ${signal ?? code}`
    })
    const deadline = this.#clock.now() + START_WITHIN_MS
    while (!(await answers(this.socket))) {
      if (this.#clock.now() > deadline) failure ??= 'it does not answer'
      if (failure !== undefined) throw new Error(`the embedded Redis did not start: ${failure}; see ${this.#logFile()}`)
      await this.#clock.wait(20)
    }
    this.#log.info({ code: 'redis.embedded', folder: this.#folder }, 'embedded Redis started')
  }

  /** A connection whose end means that the server has gone: it is then started again. */
  async #watch(): Promise<void> {
    const watching = new Redis({
      path: this.socket,
      connectionName: `plimsoll:${process.pid}:watch`,
      maxRetriesPerRequest: 1,
      retryStrategy: (attempt) => {
        if (!this.#closing) {
          this.#reviving ??= this.#revive().finally(() => {
            this.#reviving = undefined
          })
        }
        return Math.min(attempt * 100, 1_000)
      },
    })
    watching.on('error', () => {}) // Its end is the news, and retryStrategy has it.
    this.#watching = watching
    // From here on the server knows us by name: a process that leaves now does not take it for unused.
    await watching.ping()
  }

  async #revive(): Promise<void> {
    this.#log.warn({ code: 'redis.gone' }, 'the embedded Redis is gone: starting it again')
    const again = this.#alone(async () => {
      if (!(await answers(this.socket))) await this.#start()
    })
    await again.catch((error: unknown) => {
      this.#log.error({ code: 'redis.gone', err: error }, 'the embedded Redis could not be started again')
    })
  }

  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  async #release(): Promise<void> {
    this.#closing = true
    const watching = this.#watching
    if (watching === undefined) return
    try {
      await this.#alone(async () => {
        if ((await otherProcesses(watching)) > 0) {
          // Gone before the lock is: of two that leave together, the second must find itself alone.
          await watching.quit()
          return
        }
        const gone = this.#child === undefined ? undefined : exited(this.#child)
        // SHUTDOWN answers by closing the connection.
        await watching.shutdown().catch(() => undefined)
        await gone
      })
    } catch (error) {
      this.#log.warn({ code: 'redis.gone', err: error }, 'the embedded Redis could not be stopped')
    } finally {
      watching.disconnect()
    }
  }

  #lockFile(): string {
    return join(this.#folder, 'lock')
  }

  #logFile(): string {
    return join(this.#folder, 'redis.log')
  }
}

function socketPath(folder: string): string {
  const near = join(folder, 'redis.sock')
  if (Buffer.byteLength(near) <= LONGEST_SOCKET_PATH) return near
  const far = join(tmpdir(), `plimsoll-${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`)
  mkdirSync(far, { recursive: true, mode: 0o700 })
  const { uid, mode } = lstatSync(far)
  // Any user may make a folder of this name in the temporary folder, and would then own our socket.
  if (uid !== process.getuid?.() || (mode & 0o077) !== 0) throw new Error(`${far} is not ours alone: remove it`)
  return join(far, 'redis.sock')
}

/** True once the server takes commands: while it loads its file it accepts connections already. */
function answers(socket: string): Promise<boolean> {
  return new Promise((resolve) => {
    const connection = connect(socket)
    const end = (answer: boolean) => {
      connection.destroy()
      resolve(answer)
    }
    connection.setTimeout(2_000, () => end(false))
    connection.on('error', () => end(false))
    connection.on('end', () => end(false))
    connection.on('data', (data) => end(data.toString().startsWith('+PONG')))
    connection.write('PING\r\n')
  })
}

/** A link to nowhere that names its holder: it is never seen without the process that holds it. */
function takeLock(file: string, now: number): boolean {
  try {
    symlinkSync(String(process.pid), file)
    return true
  } catch {
    if (isStale(file, now)) removeStale(file, now)
    return false
  }
}

/** Left by a process that died while starting the server, or before this machine was started. */
function isStale(file: string, now: number): boolean {
  const madeAt = lstatSync(file, { throwIfNoEntry: false })?.mtimeMs
  return madeAt !== undefined && (!isAlive(lockHolder(file)) || now - madeAt > START_WITHIN_MS)
}

/** Moved away first: of several that find it stale, only one may remove it, and only if it is still that one. */
function removeStale(file: string, now: number): void {
  const taken = `${file}.stale.${process.pid}`
  try {
    renameSync(file, taken)
    if (!isStale(taken, now)) symlinkSync(readlinkSync(taken), file)
  } catch {
    // Another process was faster.
  }
  rmSync(taken, { force: true })
}

/** 0 of a file that an older version left. */
function lockHolder(file: string): number {
  try {
    return Number(readlinkSync(file))
  } catch {
    return 0
  }
}

function isAlive(pid: number): boolean {
  if (!Number.isInteger(pid) || pid <= 0) return false
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

async function otherProcesses(redis: Redis): Promise<number> {
  const clients = (await redis.client('LIST')) as string
  const names = [...clients.matchAll(/ name=plimsoll:(\d+):/g)].map((match) => Number(match[1]))
  return new Set(names.filter((pid) => pid !== process.pid)).size
}

async function exited(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

export function findServer(): string {
  const named = process.env.REDIS_SERVER_BIN
  if (named !== undefined && named !== '') return named
  for (const name of ['redis-server', 'valkey-server']) {
    for (const folder of (process.env.PATH ?? '').split(delimiter)) {
      const file = join(folder, name)
      if (isExecutable(file)) return file
    }
  }
  throw new Error('there is no redis-server on this machine: apt-get install redis-server, or set redis.url')
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
