import { randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { request } from 'undici'
import { formatDuration } from '../../config/schema/duration.ts'
import { startApp } from '../app.ts'
import { tokenFileIn } from '../http/access/admin-tokens.ts'
import { serverProgram } from '../redis/server-program.ts'
import { Lifecycle } from '../runtime/lifecycle.ts'
import { createLogger, pinoPretty } from '../runtime/logger.ts'
import { EVERY_POLL } from '../sandbox/journal.ts'
import { type Sandbox, startSandbox } from '../sandbox/sandbox.ts'
import { countOf } from '../text/format-number.ts'
import { type DemoDaemon, gatherFacts, missingFacts, printDemoFacts } from './demo-facts.ts'
import { readConfig } from './installation.ts'
import { CommandError, type Io, printJson } from './io.ts'

interface DemoOptions {
  for?: number
  json?: boolean
}

const ACCOUNTS = 25
const TOKEN_LIFETIME_MS = 20_000
const CONFIG = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url))

/** The demo has no config that could name one elsewhere. */
const NO_REDIS =
  'the demo starts a Redis of its own, and this machine has no redis-server: install one (apt-get install redis-server, ' +
  'apk add redis, brew install redis), or set REDIS_SERVER_BIN to the path of one'

/** `plimsoll demo`. */
export async function demo(io: Io, options: DemoOptions): Promise<void> {
  if (serverProgram() === undefined) throw new CommandError(NO_REDIS)
  const lifecycle = new Lifecycle()
  // With --json standard output is for the facts alone.
  const say = (text: string) => (options.json === true ? io.err(text) : io.out(text))
  try {
    const sandbox = await openSandbox(io, lifecycle)
    const { daemon, hubIds } = await startDaemon(io, sandbox, lifecycle)
    say(whereToLook(daemon, sandbox, options.for))

    const begun = io.clock.now()
    await connectAll(daemon.url, hubIds)
    say(
      `\n${hubIds.length} accounts connected through the install page. Their tokens live ${TOKEN_LIFETIME_MS / 1000} s.\n`,
    )
    const [leaving = 0] = hubIds
    await watch(io, { daemon, sandbox, leaving, begun, runForMs: options.for, isLive: options.json !== true })

    const facts = await gatherFacts(daemon, sandbox, hubIds, io.clock.now())
    if (options.json === true) printJson(io, facts)
    else printDemoFacts(io, facts)
    const missing = missingFacts(facts)
    if (missing.length > 0) throw new CommandError(`not everything happened: ${missing.join('; ')}`)
  } finally {
    await lifecycle.close()
  }
}

async function openSandbox(io: Io, lifecycle: Lifecycle): Promise<Sandbox> {
  const sandbox = await startSandbox(
    {
      port: await freePort(8090),
      smtpPort: await freePort(2525),
      accounts: ACCOUNTS,
      scenario: 'climbing',
      tokenLifetimeMs: TOKEN_LIFETIME_MS,
      rotateRefreshTokens: false,
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
    },
    io.clock,
  )
  lifecycle.onClose('the sandbox', () => sandbox.close())
  return sandbox
}

/** The real daemon on an embedded Redis of its own, which leaves nothing behind. */
async function startDaemon(io: Io, sandbox: Sandbox, lifecycle: Lifecycle) {
  const dataDir = mkdtempSync(join(tmpdir(), 'plimsoll-demo-'))
  lifecycle.onClose('the data folder', () => rmSync(dataDir, { recursive: true, force: true }))
  const env = {
    SANDBOX_URL: sandbox.url,
    SANDBOX_SMTP_URL: sandbox.smtpUrl,
    DEMO_DATA_DIR: dataDir,
    DEMO_PORT: String(await freePort(8088)),
    DEMO_KEY: randomBytes(32).toString('base64'),
    DEMO_WEBHOOK_SECRET: randomBytes(32).toString('base64'),
  }
  const { config } = readConfig({ ...io, env }, CONFIG)
  const log = createLogger({ level: config.log.level, pretty: true }, pinoPretty(2))
  const { url, signInPath } = await startApp({ config, clock: io.clock, random: io.random, log }, lifecycle)
  const { body } = await request(`${sandbox.url}/sandbox/accounts`)
  const accounts = (await body.json()) as { hubId: number }[]
  const tokenFile = tokenFileIn(dataDir)
  const bearer = { authorization: `Bearer ${readFileSync(tokenFile, 'utf8').trim()}` }
  return {
    daemon: { url, signInLink: url + signInPath, tokenFile, bearer },
    hubIds: accounts.map(({ hubId }) => hubId),
  }
}

/** The flow that a customer goes through: our install link, the provider's page, Connect, back with a code. */
async function connectAll(url: string, hubIds: readonly number[]): Promise<void> {
  await Promise.all(
    hubIds.map(async (hubId) => {
      const installPage = await redirectOf(`${url}/install`, 'GET')
      const callback = await redirectOf(`${installPage}&account=${hubId}`, 'POST')
      const { statusCode, body } = await request(callback)
      await body.dump()
      if (statusCode !== 200) throw new CommandError(`account ${hubId} could not be connected: ${statusCode}`)
    }),
  )
}

async function redirectOf(url: string, method: 'GET' | 'POST'): Promise<string> {
  const { headers, body, statusCode } = await request(url, { method })
  await body.dump()
  if (typeof headers.location !== 'string') throw new CommandError(`expected a redirect, got ${statusCode}`)
  return headers.location
}

interface Watch {
  daemon: DemoDaemon
  sandbox: Sandbox
  leaving: number
  begun: number
  runForMs: number | undefined
  isLive: boolean
}

/** Until it is over: a line about how things stand now and then, and half-way one account is uninstalled. */
async function watch(io: Io, { daemon, sandbox, leaving, begun, runForMs, isLive }: Watch): Promise<void> {
  const endsAt = begun + (runForMs ?? Number.POSITIVE_INFINITY)
  let uninstallAt = begun + (runForMs === undefined ? 25_000 : runForMs * 0.6)
  while (!io.stop.aborted && io.clock.now() < endsAt) {
    await io.clock.wait(Math.min(5_000, endsAt - io.clock.now(), Math.max(100, uninstallAt - io.clock.now())), io.stop)
    if (io.clock.now() >= uninstallAt) {
      uninstallAt = Number.POSITIVE_INFINITY
      const path = `/api/v1/accounts/${leaving}/uninstall`
      const { body } = await request(daemon.url + path, { method: 'POST', headers: daemon.bearer })
      await body.dump()
      if (isLive) io.out(`          uninstalling account ${leaving}\n`)
    }
    if (isLive) io.out(`${await progress(io, sandbox, begun)}\n`)
  }
}

async function progress(io: Io, sandbox: Sandbox, begun: number): Promise<string> {
  const count = async (path: string) =>
    ((await (await request(sandbox.url + path, JSON_ONLY)).body.json()) as unknown[]).length
  const [tokens, reports, mails, hooks] = await Promise.all([
    count('/sandbox/requests?endpoint=token'),
    count(`/sandbox/requests?endpoint=${EVERY_POLL}`),
    count('/sandbox/inbox'),
    count('/sandbox/hooks'),
  ])
  const seconds = Math.round((io.clock.now() - begun) / 1000)
  return `  ${String(seconds).padStart(4)} s  ${countOf(tokens - ACCOUNTS, 'refresh', 'refreshes')}  ${reports} polls  ${countOf(mails, 'e-mail')}  ${countOf(hooks, 'webhook')}`
}

const JSON_ONLY = { headers: { accept: 'application/json' } }

function whereToLook({ url, signInLink, tokenFile }: DemoDaemon, sandbox: Sandbox, runForMs?: number): string {
  const end = runForMs === undefined ? 'until Ctrl-C' : `for ${formatDuration(runForMs)}`
  return (
    `Plimsoll runs against its sandbox ${end}. Open:\n` +
    `  status page   ${signInLink}\n` +
    `                signs you in, once; elsewhere: ${url}/ with the token in ${tokenFile}\n` +
    `  alerts        ${url}/alerts   to acknowledge: here, or by the link in an e-mail\n` +
    `  e-mails       ${sandbox.url}/sandbox/inbox\n` +
    `  webhooks      ${sandbox.url}/sandbox/hooks\n` +
    `  the provider  ${sandbox.url}/\n`
  )
}

/** The usual port if it is free, else any. */
function freePort(usual: number): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.on('error', () => {
      if (usual === 0) reject(new CommandError('no port is free on this machine'))
      else resolve(freePort(0))
    })
    server.listen(usual, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : usual))
    })
  })
}
