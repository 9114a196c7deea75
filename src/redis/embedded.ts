import { createHash } from 'node:crypto'
import { closeSync, fstatSync, lstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Clock } from '../runtime/clock.ts'
import { openDataFolder } from '../runtime/data-folder.ts'
import type { Logger } from '../runtime/logger.ts'
import { askServer, LOADS } from './ask-server.ts'
import { lockHolders, type ServerProcess, spawnServer, takeServerLock } from './server-program.ts'
import { damagedStart, explainStart } from './start-failure.ts'
import { storedFiles } from './stored-files.ts'

/**
 * A private redis-server for installations without one: persistent (append-only file), inside the data folder, reachable only
 * through a socket that only this user may open. It is shared by all Plimsoll processes of one data folder - a daemon,
 * the command line - and the last one to leave stops it. A server that a crashed daemon left behind is taken over. Two servers
 * on one folder would spoil its file: one is started only where no process listens and none holds the lock of the folder.
 */
export interface EmbeddedRedis {
  readonly socket: string
  /** Stops the server if no other process uses it. Close your own connections first. */
  close(): Promise<void>
}

/** How long a server may be there and not answer until a daemon gives up. One that loads its file is waited for. */
const START_WITHIN_MS = 60_000
/** Then it is said what is waited for. */
const SAID_AFTER_MS = 2_000
/** Starting costs a process at each try. */
const LONGEST_PAUSE_MS = 500
/** However late it is: a server that loads answers that it does. */
const LAST_TRY_MS = 500
/** How long a join or a leave may take; a busy machine is given time. */
const ANSWER_WITHIN_MS = 5_000

/** The path of a Unix socket may be no longer than this (sun_path is 108 bytes on Linux, 104 elsewhere). */
const LONGEST_SOCKET_PATH = 100

/** True where the folder has data of a server: a command that only reads must not start one on nothing. */
export function holdsEmbeddedRedis(dataDir: string): boolean {
  return storedFiles(join(dataDir, 'redis')) !== undefined
}

/** Throws when it can't be used within that time, with what to do. */
export async function openEmbeddedRedis(
  dataDir: string,
  clock: Clock,
  log: Logger,
  withinMs = START_WITHIN_MS,
): Promise<EmbeddedRedis> {
  const server = new Server(openDataFolder(dataDir, 'redis'), clock, log)
  await server.open(withinMs)
  return { socket: server.socket, close: () => server.release() }
}

class Server {
  readonly socket: string
  readonly #folder: string
  readonly #clock: Clock
  readonly #log: Logger
  #started: ServerProcess | undefined
  #watching: Redis | undefined
  #closing = false
  #reviving: Promise<void> | undefined
  #notRevived: string | undefined
  #released: Promise<void> | undefined

  constructor(folder: string, clock: Clock, log: Logger) {
    this.#folder = folder
    this.#clock = clock
    this.#log = log
    this.socket = socketPath(folder)
  }

  /** Makes this process known to the server, which is started where there is none. */
  async open(withinMs: number): Promise<void> {
    const passed = this.#clock.stopwatch()
    const done = new AbortController()
    let why: string | undefined = 'it does not answer'
    void this.#clock.wait(SAID_AFTER_MS, done.signal).then(() => {
      if (!done.signal.aborted)
        this.#log.warn({ code: 'redis.unwell', reason: why }, `waiting for the private Redis: ${why}`)
    })
    try {
      for (let pauseMs = 10; ; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        why = await this.#tryOpen(Math.max(LAST_TRY_MS, withinMs - passed()))
        if (why === undefined) return
        // A daemon has all the time that a large file takes; a command says that it loads.
        const isLoading = why === LOADS && withinMs >= START_WITHIN_MS
        if (passed() >= withinMs && !isLoading) throw new Error(this.#describe(why, withinMs))
        await this.#clock.wait(pauseMs)
      }
    } finally {
      done.abort()
    }
  }

  /** Why it can't be used yet, or undefined. */
  async #tryOpen(withinMs: number): Promise<string | undefined> {
    const found = await askServer(this.socket, withinMs)
    if (found.is === 'unwell') return found.why
    const why = found.is === 'absent' ? await this.#start(withinMs) : undefined
    return why ?? this.#join(withinMs)
  }

  /** Starts the server unless another process holds its folder. Why it does not answer, or undefined. Throws if it ends. */
  async #start(withinMs: number): Promise<string | undefined> {
    const lock = takeServerLock(this.#folder)
    if (lock === undefined) return NOT_LISTENING
    const { lost } = storedFiles(this.#folder) ?? {}
    if (lost !== undefined) {
      closeSync(lock)
      throw damagedStart(this.#folder, lost)
    }
    const output = openSync(this.#logFile(), 'a', 0o600)
    const loggedBefore = fstatSync(output).size
    try {
      this.#started = spawnServer(this.#arguments(), output, lock)
    } finally {
      closeSync(output)
      closeSync(lock)
    }
    const passed = this.#clock.stopwatch()
    for (;;) {
      const found = await askServer(this.socket, Math.max(LAST_TRY_MS, withinMs - passed()))
      if (found.is === 'answers') break
      const { ended, wasStopped } = this.#started
      // By another process that used it meanwhile, and was the last to leave.
      if (wasStopped) return 'another process has stopped it'
      if (ended !== undefined) throw explainStart(this.#folder, ended, this.#logged(loggedBefore))
      if (passed() >= withinMs) return found.is === 'unwell' ? found.why : 'it does not listen yet'
      await this.#clock.wait(20)
    }
    this.#log.info({ code: 'redis.embedded', folder: this.#folder }, 'embedded Redis started')
    return undefined
  }

  #arguments(): string[] {
    return [
      '--port',
      '0',
      '--unixsocket',
      this.socket,
      '--unixsocketperm',
      '700',
      '--daemonize',
      'no',
      '--dir',
      this.#folder,
      '--appendonly',
      'yes',
      '--appendfsync',
      'everysec',
      '--save',
      '',
      '--maxmemory-policy',
      'noeviction',
      '--databases',
      '1',
    ]
  }

  /** Makes this process known to the server; why it could not, or undefined. */
  async #join(withinMs: number): Promise<string | undefined> {
    const watching = this.#connect(Math.min(withinMs, ANSWER_WITHIN_MS))
    try {
      await watching.connect()
      await this.#awaitLeaving(watching)
      this.#watching = watching
      return undefined
    } catch {
      watching.disconnect()
      return 'it does not answer'
    }
  }

  /** A connection by whose name the server knows us. The end of the one that watches means that the server has gone. */
  #connect(commandTimeout: number): Redis {
    const connection: Redis = new Redis({
      path: this.socket,
      connectionName: `plimsoll:${process.pid}:watch`,
      lazyConnect: true,
      maxRetriesPerRequest: 1,
      commandTimeout,
      retryStrategy: (attempt) => {
        // No reconnect while closing: the SHUTDOWN would be sent again, to a server that another process has started
        // since.
        if (this.#watching !== connection || this.#closing) return null
        this.#revive()
        return Math.min(attempt * 100, 1_000)
      },
    })
    connection.on('error', () => {}) // Its end is the news, and retryStrategy has it.
    return connection
  }

  /**
   * A process that leaves says so by its name before it looks who remains, and may stop the server then: who came after that
   * look finds it leaving, and waits for what it does.
   */
  async #awaitLeaving(watching: Redis): Promise<void> {
    const passed = this.#clock.stopwatch()
    while (/ name=plimsoll:\d+:leaving /.test(await clientList(watching)) && passed() < ANSWER_WITHIN_MS) {
      await this.#clock.wait(10)
    }
  }

  #revive(): void {
    this.#reviving ??= this.#startAgain().finally(() => {
      this.#reviving = undefined
    })
  }

  async #startAgain(): Promise<void> {
    // The server is there: only the connection has ended.
    if ((await askServer(this.socket, ANSWER_WITHIN_MS)).is !== 'absent') return
    const before = this.#notRevived
    if (before === undefined) this.#log.warn({ code: 'redis.gone' }, 'the embedded Redis is gone: starting it again')
    const why = await this.#start(START_WITHIN_MS).catch((error: unknown) => (error as Error).message)
    this.#notRevived = why
    // The next try comes within a second: the same outcome is logged once.
    if (why === undefined || why === before) return
    const reason = why === NOT_LISTENING ? this.#describe(why) : why
    this.#log.error({ code: 'redis.gone', reason }, `the embedded Redis could not be started again: ${reason}`)
  }

  release(): Promise<void> {
    this.#released ??= this.#release()
    return this.#released
  }

  async #release(): Promise<void> {
    this.#closing = true
    await Promise.race([this.#reviving, this.#clock.wait(ANSWER_WITHIN_MS)])
    const watching = this.#watching
    if (watching === undefined) return
    // The watching connection may be between two tries.
    const connection = watching.status === 'ready' ? watching : this.#connect(ANSWER_WITHIN_MS)
    try {
      if ((await askServer(this.socket, ANSWER_WITHIN_MS)).is !== 'absent') await this.#leave(connection)
    } catch (error) {
      this.#log.warn({ code: 'redis.gone', err: error }, 'the embedded Redis could not be stopped')
    } finally {
      watching.disconnect()
      connection.disconnect()
    }
  }

  async #leave(watching: Redis): Promise<void> {
    await watching.client('SETNAME', `plimsoll:${process.pid}:leaving`)
    // Two processes that leave together find each other leaving, and both stop the server.
    if (countOthers(await clientList(watching)) > 0) return
    if (/^aof_last_write_status:err/m.test(await watching.info('persistence'))) {
      // Only the server's memory has the last writes; a stop would lose them.
      this.#log.warn({ code: 'redis.unwritten' }, 'the embedded Redis can not write to its disk: it is left running')
      return
    }
    // SHUTDOWN answers by closing the connection.
    await watching.shutdown().catch(() => undefined)
    await Promise.race([this.#started?.gone, this.#clock.wait(ANSWER_WITHIN_MS)])
  }

  #describe(why: string, withinMs?: number): string {
    const holders = lockHolders(this.#folder)
    const heldBy = holders.length === 0 ? '' : ` (${holders.join('; ')})`
    const waited = withinMs === undefined ? '' : ` within ${withinMs / 1_000} s`
    if (why !== NOT_LISTENING) {
      // A daemon has no --timeout.
      const wait = withinMs !== undefined && withinMs < START_WITHIN_MS ? WAIT_LONGER : ''
      return `the private Redis was not ready${waited}: ${why}${heldBy}. ${TRY_AGAIN}${wait}`
    }
    return (
      `a redis-server holds ${this.#folder}${heldBy} and does not listen on ${this.socket}${waited}: it is still starting, ` +
      'or its socket was removed. In that case end it with kill; another one is then started with the same data'
    )
  }

  #logged(from: number): string {
    return readFileSync(this.#logFile()).subarray(from).toString()
  }

  #logFile(): string {
    return join(this.#folder, 'redis.log')
  }
}

const NOT_LISTENING = 'another process holds its folder, and does not listen yet'
const TRY_AGAIN = 'It is not started a second time; try again later'
const WAIT_LONGER = ', or wait longer with --timeout 2m'

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

async function clientList(redis: Redis): Promise<string> {
  return String(await redis.client('LIST'))
}

/**
 * Counts clients of other processes, and other users of the server in this one: the caller's own watch is called
 * leaving by now.
 */
function countOthers(clients: string): number {
  const names = [...clients.matchAll(/ name=plimsoll:(\d+):(\w+)/g)].map(([, pid, purpose]) => ({ pid, purpose }))
  const leaving = names.filter(({ purpose }) => purpose === 'leaving').map(({ pid }) => pid)
  return names.filter(({ pid, purpose }) => purpose === 'watch' || !leaving.includes(pid)).length
}
