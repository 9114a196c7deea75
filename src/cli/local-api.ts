import { hostname } from 'node:os'
import { openLocalApi } from '../app/local-api.ts'
import type { RemoteCommand } from '../operations/describe-commands.ts'
import { isRedisAway, refusesWrites } from '../redis/away.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger, type Logger } from '../runtime/logger.ts'
import { VaultError } from '../tokens/vault.ts'
import { type Api, ApiProblem, contentOf } from './client.ts'
import { checkInstalled, readConfig } from './installation.ts'
import { CommandError, type Io, proxiesOf, waitOf } from './io.ts'
import { whoRuns } from './who-runs.ts'

/** After a signal to stop, work in progress has so long: a little later the process ends. */
const PATIENCE_MS = 8_000

/** Opens the API in this process, where no daemon runs, and notes that. */
export async function withLocalApi(
  io: Io,
  file: string,
  remote: RemoteCommand,
  work: (api: Api) => Promise<void>,
): Promise<void> {
  const { config } = readConfig(io, file)
  checkInstalled(config, remote.begins === true ? 'begins' : 'refuses')
  if (remote.name !== 'check' || io.errIsTerminal)
    io.err('plimsoll: no daemon runs here: this is answered from its data\n')
  const lifecycle = new Lifecycle()
  try {
    const input = {
      config,
      clock: io.clock,
      random: io.random,
      log: commandLog(io),
      waitMs: waitOf(io),
      proxyFor: proxiesOf(io),
      place: { file, env: io.env, cwd: io.cwd },
    }
    const app = await openLocalApi(input, lifecycle, {
      who: whoRuns(io),
      stop: io.stop,
      missingKeys: remote.allowsMissingKeys === true ? 'allowed' : 'refused',
      writer: remote.writesTokens === true ? `${hostname()} pid ${process.pid} (${remote.name})` : undefined,
    })
    const api: Api = {
      send: async ({ method, path, query, body }, headers) => {
        const response = await app.inject({
          method,
          url: `/api/v1${path}${query.size === 0 ? '' : `?${query}`}`,
          headers: { ...headers, ...contentOf(body) },
          ...(body === undefined ? {} : { payload: body }),
          payloadAsStream: true,
        })
        return {
          status: response.statusCode,
          type: String(response.headers['content-type'] ?? ''),
          body: response.stream(),
        }
      },
    }
    await untilStopped(io, work(api))
  } catch (error) {
    throw explainStoreError(error)
  } finally {
    await lifecycle.close()
  }
}

async function untilStopped(io: Io, work: Promise<void>): Promise<void> {
  const done = new AbortController()
  const patience = async () => {
    await new Promise<void>((resolve) => {
      if (io.stop.aborted) resolve()
      io.stop.addEventListener('abort', () => resolve(), { once: true, signal: done.signal })
    })
    await io.clock.wait(PATIENCE_MS, done.signal)
    throw new CommandError('stopped, with work left behind')
  }
  try {
    await Promise.race([work, patience()])
  } finally {
    done.abort()
  }
}

/** Only messages that need action; that Redis is away is reported once, as the command's own error. */
function commandLog(io: Pick<Io, 'err'>): Logger {
  return createLogger({ level: 'warn', pretty: true }, { write: (line) => sayIfNeeded(io, line) })
}

/** Codes of log lines that the user of a command must see, who sees no log. */
const SHOWN_CODES = [
  'audit.not-written',
  'redis.unwell',
  'vault.key-made',
  'token.not-stored',
  'token.sealed',
  'token.not-sealed',
]

function sayIfNeeded(io: Pick<Io, 'err'>, line: string): void {
  const { code, msg } = JSON.parse(line) as { code?: string; msg: string }
  if (SHOWN_CODES.includes(code ?? '')) io.err(`plimsoll: ${msg}\n`)
}

const TIMED_OUT = 'Command timed out: '

/** An error of the store, with the remedy. */
export function explainStoreError(error: unknown): unknown {
  if (error instanceof VaultError) return new CommandError(error.message)
  if (error instanceof Error && error.message.startsWith(TIMED_OUT)) {
    return new CommandError(`${error.message.slice(TIMED_OUT.length)}: it is busy, or hangs. --timeout 1m waits longer`)
  }
  if (refusesWrites(error)) {
    return new CommandError(
      `Redis accepts no writes (${(error as Error).message}): plimsoll doctor shows what to do; then run this again, it continues where it stopped`,
    )
  }
  const isAway = error instanceof ApiProblem && error.problem.type === 'urn:plimsoll:problem:redis-away'
  if (isAway || isRedisAway(error))
    return new CommandError('Redis does not answer: check redis.url in the config, and that the server runs')
  return error
}
