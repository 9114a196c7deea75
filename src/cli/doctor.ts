import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Config } from '../../config/schema/schema.ts'
import { configuredKeys, hasPrivateRedis, lacksEmbeddedRedis } from '../app/data-folder.ts'
import { openRedis } from '../app/open-redis.ts'
import { storesBy } from '../app/services.ts'
import { readFleetStatus } from '../checks/fleet-status.ts'
import type { RedisConnection } from '../doctor/check.ts'
import { type Finding, fail, runChecks } from '../doctor/check.ts'
import { checksOf } from '../doctor/checks.ts'
import { holdsSecrets } from '../doctor/config-and-keys.ts'
import type { Fleet } from '../doctor/fleet.ts'
import { askNodes, connectRedis } from '../redis/connect.ts'
import { createKeys, type Keys } from '../redis/keys.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger } from '../runtime/logger.ts'
import { cleanText } from '../text/clean-text.ts'
import { wrapToWidth } from '../text/display-width.ts'
import { FleetStatusShape } from '../views/shapes/fleet-status.ts'
import type { CommonOptions } from './arguments.ts'
import { ask, NoDaemon, overHttp } from './client.ts'
import { findDaemon } from './daemon-address.ts'
import { checkInstalled, load } from './installation.ts'
import { CommandError, type Io, printJson, proxiesOf, waitOf } from './io.ts'
import { coloured } from './output.ts'
import { roomOf } from './say.ts'

/** `plimsoll doctor`. */
export async function doctor(io: Io, options: CommonOptions): Promise<void> {
  const lifecycle = new Lifecycle()
  try {
    const findings = await examine(io, options.config, lifecycle)
    if (options.json === true) printJson(io, findings)
    else printFindings(io, findings)
    const failed = findings.filter(({ level }) => level === 'fail').length
    if (failed > 0) throw new CommandError(`${failed} of ${findings.length} checks failed: each shows what to do`)
  } finally {
    await lifecycle.close()
  }
}

async function examine(io: Io, file: string, lifecycle: Lifecycle): Promise<Finding[]> {
  const { cwd, clock } = io
  const files: string[] = []
  const readFile = (path: string) => {
    files.push(path)
    return readFileSync(path, 'utf8')
  }
  const loaded = load(io, file, readFile)
  if (!loaded.ok) {
    const fix = 'correct the file; without it nothing else can be checked'
    return loaded.problems.map(({ path, line, message }) =>
      fail('config', `${[path, line && `(line ${line})`].filter(Boolean).join(' ') || file}: ${message}`, fix),
    )
  }
  const { config, notices } = loaded
  const path = resolve(cwd, file)
  const redis = connect(io, config, lifecycle)
  const keys = createKeys(config.redis.prefix)
  const installation = {
    config,
    notices,
    clock,
    redis,
    keys,
    configFile: { path, hasSecrets: holdsSecrets(readFileSync(path, 'utf8'), config) },
    secretFiles: files.filter((one) => one !== path),
    vaultKeys: configuredKeys(config),
    proxyFor: proxiesOf(io),
  }
  const checks = checksOf(installation, readFleet(io, file, config, redis, keys))
  return runChecks(checks, clock)
}

/** The status as the daemon on this machine answers it, or else as Redis has it. Undefined: neither answers. */
async function readFleet(io: Io, file: string, config: Config, redis: RedisConnection, keys: Keys): Promise<Fleet> {
  const { clock, env } = io
  try {
    // The daemon of this file, whichever the environment names.
    const own = { ...io, env: { ...env, PLIMSOLL_URL: undefined, PLIMSOLL_TOKEN: undefined } }
    const daemon = await findDaemon(own, { config: file })
    if (daemon === undefined) throw new NoDaemon()
    const { json } = await ask(overHttp(io, daemon), STATUS, SILENT)
    return FleetStatusShape.parse(json)
  } catch {
    const read = async () => {
      const store = await redis.store
      return readFleetStatus({ store, keys, clock, ...storesBy({ store, keys, clock, log: NO_LOG }, config) })
    }
    return read().catch(() => undefined)
  }
}

const STATUS = { method: 'GET', path: '/status', query: new URLSearchParams(), wants: 'value' } as const
const SILENT = { progress: () => {}, shown: () => {}, note: () => {} }
const NO_LOG = createLogger({ level: 'silent', pretty: false })

function connect(io: Io, config: Config, lifecycle: Lifecycle): RedisConnection {
  const waitMs = waitOf(io)
  let lastError: Error | undefined
  const address = (async () => {
    if (lacksEmbeddedRedis(config)) checkInstalled(config, 'refuses')
    return openRedis({ config, clock: io.clock, log: NO_LOG, waitMs }, lifecycle)
  })()
  const open = async () => {
    const store = connectRedis(
      await address,
      'pages',
      (error) => {
        lastError = error
      },
      waitMs,
    )
    lifecycle.onClose('the Redis connection', () => store.disconnect())
    return store
  }
  const store = open()
  store.catch(() => undefined) // Each check that needs it finds out by itself.
  return {
    store,
    isPrivate: hasPrivateRedis(config),
    waitMs,
    lastError: () => lastError,
    askNodes: async () => askNodes(await address, waitMs),
  }
}

/** One line each, with the remedy below: nothing is cut off, however narrow the terminal is. */
function printFindings(io: Io, findings: readonly Finding[]): void {
  const names = Math.max(...findings.map(({ name }) => name.length))
  const beside = names + 8
  const indent = roomOf(io) - beside < 30 ? 6 : beside
  for (const { name, level, detail, fix } of findings) {
    const head = `${coloured(io, level, level.padEnd(4))}  ${indent === beside ? `${name.padEnd(names)}  ` : `${name}\n${' '.repeat(indent)}`}`
    io.out(head + hanging(io, detail, indent))
    if (fix !== undefined) io.out(`${' '.repeat(indent)}-> ${hanging(io, fix, indent + 3)}`)
  }
}

function hanging(io: Io, text: string, indent: number): string {
  return `${wrapToWidth(cleanText(text, MOST_CHARACTERS), roomOf(io) - indent).join(`\n${' '.repeat(indent)}`)}\n`
}

const MOST_CHARACTERS = 500
