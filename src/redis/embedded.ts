import { createHash } from 'node:crypto'
import { closeSync, fstatSync, lstatSync, mkdirSync, openSync, readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import type { Clock } from '../runtime/clock.ts'
import { openDataFolder } from '../runtime/data-folder.ts'
import type { Logger } from '../runtime/logger.ts'
import { askServer, LOADS, sendLine } from './ask-server.ts'
import { lockFolder, type ServerProcess, spawnServer } from './server-program.ts'
import { explainStart, hasData, isWithoutManifest, lostData } from './start-failure.ts'

/**
 * A private redis-server for installations without one: persistent (append-only file), inside the data folder, reachable only
 * through a socket that only this user may open. Two locks say who does what, and the kernel frees them with their process:
 * - The server holds the one on its own folder for as long as it lives. Who gets it may start a server, and nobody else.
 * - All Plimsoll processes share the one on the data folder. Who has it to itself in the end stops the server, whoever started it.
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
/** How long one answer, or a stop, may take; a busy machine is given time. */
const ANSWER_WITHIN_MS = 5_000

/** The path of a Unix socket may be no longer than this (sun_path is 108 bytes on Linux, 104 elsewhere). */
const LONGEST_SOCKET_PATH = 100

/** True where the folder has data of a server: a command that only reads must not start one on nothing. */
export function holdsEmbeddedRedis(dataDir: string): boolean {
  return hasData(join(dataDir, 'redis'))
}

/** Throws when it can't be used within that time, with what to do. `opening` gets the way to close it before it is open, too. */
export async function openEmbeddedRedis(
  dataDir: string,
  clock: Clock,
  log: Logger,
  withinMs = START_WITHIN_MS,
  opening?: (close: () => Promise<void>) => void,
): Promise<EmbeddedRedis> {
  const server = new Server(openDataFolder(dataDir, 'redis'), clock, log)
  opening?.(() => server.close())
  await server.open(withinMs)
  return { socket: server.socket, close: () => server.close() }
}

class Server {
  readonly socket: string
  readonly #folder: string
  readonly #clock: Clock
  readonly #log: Logger
  /** The shared lock. */
  #use: number | undefined
  #started: { process: ServerProcess; loggedBefore: number } | undefined
  /** Ends with the server. */
  #watching: Socket | undefined
  #reviving: Promise<void> | undefined
  #closed: Promise<void> | undefined

  constructor(folder: string, clock: Clock, log: Logger) {
    this.#folder = folder
    this.#clock = clock
    this.#log = log
    this.socket = socketPath(folder)
  }

  async open(withinMs: number): Promise<void> {
    try {
      await this.#open(withinMs)
    } catch (error) {
      this.#closed ??= Promise.resolve()
      if (this.#use !== undefined) closeSync(this.#use)
      throw error
    }
  }

  async #open(withinMs: number): Promise<void> {
    const passed = this.#clock.stopwatch()
    const done = new AbortController()
    let why: string | undefined = 'it does not answer'
    void this.#clock.wait(SAID_AFTER_MS, done.signal).then(() => {
      if (!done.signal.aborted)
        this.#log.warn({ code: 'redis.unwell', reason: why }, `waiting for the private Redis: ${why}`)
    })
    try {
      for (let pauseMs = 10; this.#closed === undefined; pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)) {
        why = await this.#reach(Math.max(LAST_TRY_MS, withinMs - passed()))
        if (why === undefined) return this.#watch()
        // A daemon has all the time that a large file takes; a command says that it loads.
        const isLoading = why === LOADS && withinMs >= START_WITHIN_MS
        if (passed() >= withinMs && !isLoading) throw new Error(this.#describe(why, withinMs))
        await this.#clock.wait(pauseMs)
      }
    } finally {
      done.abort()
    }
  }

  /** Why it can't be used yet, or undefined. It is started where none listens and none lives; throws if that one ends. */
  async #reach(withinMs: number): Promise<string | undefined> {
    this.#use ??= lockFolder(dirname(this.#folder), 'shared')
    if (this.#use === undefined) return 'another process is stopping it'
    const found = await askServer(this.socket, withinMs)
    if (found.is === 'answers') return undefined
    if (found.is === 'unwell') return found.why
    if (this.#started === undefined) return this.#closed === undefined ? this.#start() : NOT_LISTENING
    const { process, loggedBefore } = this.#started
    if (process.ended === undefined) return 'it does not listen yet'
    this.#started = undefined
    throw explainStart(this.#folder, process.ended, readFileSync(this.#logFile()).subarray(loggedBefore).toString())
  }

  /** Unless another process holds its folder. Why it does not answer. */
  #start(): string {
    const lock = lockFolder(this.#folder, 'exclusive')
    if (lock === undefined) return NOT_LISTENING
    try {
      if (isWithoutManifest(this.#folder)) throw lostData(this.#folder, 'the list of its files is missing')
      const output = openSync(this.#logFile(), 'a', 0o600)
      const loggedBefore = fstatSync(output).size
      try {
        this.#started = { process: spawnServer(argumentsOf(this.socket, this.#folder), output, lock), loggedBefore }
      } finally {
        closeSync(output)
      }
    } finally {
      closeSync(lock)
    }
    this.#log.info({ code: 'redis.embedded', folder: this.#folder }, 'embedded Redis started')
    return 'it does not listen yet'
  }

  #watch(): void {
    if (this.#closed !== undefined) return // Since the last try.
    this.#watching = connect(this.socket).resume()
    this.#watching.on('error', () => {}) // Its end is the news.
    this.#watching.on('close', () => {
      if (this.#closed === undefined) this.#reviving = this.#revive()
    })
  }

  /** Whoever of its users is the first to lock its folder starts it again. */
  async #revive(): Promise<void> {
    this.#log.warn(
      { code: 'redis.gone' },
      'the embedded Redis has ended the connection: it is started again if it is gone',
    )
    this.#started = undefined
    let before: string | undefined
    for (; this.#closed === undefined; await this.#clock.wait(LONGEST_PAUSE_MS)) {
      const reason = await this.#open(START_WITHIN_MS).catch((error: unknown) => (error as Error).message)
      if (reason === undefined) return
      // The next try comes soon: the same outcome is logged once.
      if (reason !== before)
        this.#log.error({ code: 'redis.gone', reason }, `the embedded Redis could not be started again: ${reason}`)
      before = reason
    }
  }

  close(): Promise<void> {
    this.#closed ??= this.#close()
    return this.#closed
  }

  async #close(): Promise<void> {
    this.#watching?.destroy()
    await Promise.race([this.#reviving, this.#clock.wait(ANSWER_WITHIN_MS)])
    if (this.#use === undefined) return
    closeSync(this.#use)
    const lock = lockFolder(dirname(this.#folder), 'exclusive')
    if (lock === undefined) return // Others use it.
    try {
      await this.#stop()
    } finally {
      closeSync(lock)
    }
  }

  async #stop(): Promise<void> {
    const found = await askServer(this.socket, ANSWER_WITHIN_MS)
    // One that was started just now has nothing yet.
    if (found.is === 'absent') return this.#started?.process.kill()
    // A stop would lose the last writes, which are in its memory alone; one that loads has none.
    const unwritten = found.is === 'answers' && found.isUnwritten ? 'it can not write to its disk' : undefined
    const reason = found.is === 'unwell' && found.why !== LOADS ? found.why : unwritten
    if (reason !== undefined) {
      this.#log.warn({ code: 'redis.left', reason }, `the embedded Redis is left running: ${reason}`)
      return
    }
    await sendLine(this.socket, 'SHUTDOWN', ANSWER_WITHIN_MS).catch(() => undefined)
    await Promise.race([this.#started?.process.gone, this.#clock.wait(ANSWER_WITHIN_MS)])
  }

  #describe(why: string, withinMs: number): string {
    const waited = ` within ${withinMs / 1_000} s`
    if (why === NOT_LISTENING)
      return `a redis-server holds ${this.#folder} and does not listen on ${this.socket}${waited}: ${NO_SOCKET}`
    // A daemon has no --timeout.
    const wait = withinMs < START_WITHIN_MS ? WAIT_LONGER : ''
    return `the private Redis was not ready${waited}: ${why}. ${TRY_AGAIN}${wait}`
  }

  #logFile(): string {
    return join(this.#folder, 'redis.log')
  }
}

const NOT_LISTENING = 'another process holds its folder, and does not listen yet'
const NO_SOCKET =
  'it is still starting, or its socket was removed. In that case end it with kill; another one is then started with the same data'
const TRY_AGAIN = 'It is not started a second time; try again later'
const WAIT_LONGER = ', or wait longer with --timeout 2m'

function argumentsOf(socket: string, folder: string): string[] {
  const settings = {
    port: '0',
    unixsocket: socket,
    unixsocketperm: '700',
    daemonize: 'no',
    dir: folder,
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    databases: '1',
  }
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value])
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
