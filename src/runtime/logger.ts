import { createRequire } from 'node:module'
import { type ChildLoggerOptions, type DestinationStream, type LoggerOptions, pino } from 'pino'
import type { PinoPretty } from 'pino-pretty'
import { escapeInvisible, keepEscapes } from './json-text.ts'
import type { LogCode } from './log-codes.ts'
import { redactUrls } from './url-credentials.ts'

/**
 * Structured logs: one JSON object a line. Every line carries the `code` of its event (`token.expired`,
 * `delivery.dead`), which is what an operator greps for; `hubId` names the account where there is one.
 */
export interface LogEvent {
  code: LogCode
  [fact: string]: unknown
}

type Log = (event: LogEvent, message: string) => void

export interface Logger {
  /** The least that is logged. */
  level: string
  debug: Log
  info: Log
  warn: Log
  error: Log
  child(facts: Record<string, unknown>, options: ChildLoggerOptions): Logger
}

interface LogSettings {
  level: 'debug' | 'info' | 'warn' | 'error' | 'silent'
  pretty: boolean
}

/** Names of fields that are secrets wherever they turn up. The last net: nothing should hand them to a log at all. */
const SECRET_FIELDS = [
  'accessToken',
  'refreshToken',
  'access_token',
  'refresh_token',
  'client_secret',
  'clientSecret',
  'adminToken',
  'password',
  'authorization',
  'secret',
  'secrets',
]

/**
 * An error as the log has it: named fields only. Libraries hang all sorts of things on theirs - ioredis the whole
 * command, password and all.
 */
function describeError(error: unknown, depth = 0): unknown {
  if (!(error instanceof Error)) return redactUrls(String(error))
  const { name, message, stack, cause } = error
  const code = (error as NodeJS.ErrnoException).code
  return {
    type: name,
    message: redactUrls(message),
    ...(code === undefined ? {} : { code }),
    ...(stack === undefined ? {} : { stack: redactUrls(stack) }),
    // Causes may go in a circle.
    ...(cause === undefined || depth > 4 ? {} : { cause: describeError(cause, depth + 1) }),
    ...(error instanceof AggregateError && depth <= 4
      ? { errors: error.errors.map((one) => describeError(one, depth + 1)) }
      : {}),
  }
}

export function createLogger(settings: LogSettings, destination?: DestinationStream): Logger {
  const isForPeople = destination === undefined && settings.pretty
  const output = destination ?? (isForPeople ? pinoPretty() : standardOutput())
  const shown = (line: string) => (isForPeople ? keepEscapes(escapeInvisible(line)) : escapeInvisible(line))
  return pino(
    {
      level: settings.level,
      base: null,
      // By this machine's own clock, not by that of Redis: beside the lines of its other programs they are in order.
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (error: unknown) => describeError(error) },
      redact: { paths: SECRET_FIELDS.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
      hooks: { logMethod: withoutRepeats() },
    },
    { write: (line) => output.write(shown(line)) },
  )
}

/** Codes that repeat as long as a state lasts, for each try, queue or account. */
const REPEATING: ReadonlySet<LogCode> = new Set([
  ...(['worker.error', 'queue.error', 'redis.error', 'clock.tick', 'sweep.failed', 'job.failed'] as const),
  ...(['refresh.error', 'poll.error', 'uninstall.error', 'grant.error', 'tend.error'] as const),
])
const REPEATED_AFTER_MS = 60_000
/** More different ones than that are no state. */
const MOST_STATES = 1_000

/** Lets one line a minute of each state through, as long as it lasts: later lines have the number that was left out. */
function withoutRepeats(): Exclude<NonNullable<LoggerOptions['hooks']>['logMethod'], undefined> {
  const states = new Map<string, { leftOut: number; logLeftOut: () => void }>()
  return function (args, log) {
    const [event, ...more] = args as unknown as [LogEvent, string]
    if (!REPEATING.has(event?.code)) return log.apply(this, args)
    const key = stateOf(event)
    const logCount = (leftOut: number) => {
      const repeated = leftOut === 0 ? {} : { repeated: leftOut }
      log.apply(this, [{ ...event, ...repeated }, ...more] as unknown as typeof args)
    }
    const state = states.get(key)
    if (state !== undefined) {
      state.leftOut++
      state.logLeftOut = () => logCount(state.leftOut)
      return
    }
    logCount(0)
    if (states.size < MOST_STATES) watch(key)
  }

  function watch(key: string): void {
    const state = { leftOut: 0, logLeftOut: () => {} }
    states.set(key, state)
    setTimeout(() => {
      states.delete(key)
      if (state.leftOut === 0) return
      state.logLeftOut()
      watch(key)
    }, REPEATED_AFTER_MS).unref()
  }
}

/** The state of a line: which part failed, and how; not for which account. */
function stateOf({ code, queue, kind, step, err }: LogEvent): string {
  const how = err instanceof Error ? err.message.replace(/\d+/g, '#') : err
  return [code, queue, kind, step, how].join(' ')
}

/** So much waits for an output that takes nothing; what comes then is lost. */
const MOST_WAITING_BYTES = 1_000_000

/** Synchronous: the lines written last before a crash are the ones that will be needed. */
function standardOutput(): DestinationStream {
  const output = pino.destination({ dest: 1, sync: true, maxLength: MOST_WAITING_BYTES })
  // The output may be a disk that is full: no reason to end.
  output.on('error', () => {})
  return output
}

/** Log lines for people at a terminal; `destination` is a file descriptor. Loaded where it is used: a command writes none. */
export function pinoPretty(destination = 1): DestinationStream {
  const pretty: typeof PinoPretty = createRequire(import.meta.url)('pino-pretty')
  return pretty({ sync: true, destination, ignore: 'code', translateTime: 'SYS:HH:MM:ss', singleLine: true })
}

const WINDOW_MS = 60_000

/** For lines that requests from outside can cause as often as they like: so many a minute, the rest is counted. */
export class LineQuota {
  readonly #most: number
  #windowEnds = Number.NEGATIVE_INFINITY
  #lines = 0
  #unlogged = 0

  constructor(most: number) {
    this.#most = most
  }

  /** `now`: by the steady clock. How many lines were left out since the last one; undefined: this one is left out too. */
  take(now: number): number | undefined {
    if (now >= this.#windowEnds) {
      this.#windowEnds = now + WINDOW_MS
      this.#lines = 0
    }
    if (this.#lines >= this.#most) {
      this.#unlogged++
      return undefined
    }
    this.#lines++
    const unlogged = this.#unlogged
    this.#unlogged = 0
    return unlogged
  }
}
