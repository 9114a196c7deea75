import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'
import { type Daemon, startDaemon, writeDaemonConfig } from '../support/daemon.ts'
import { eventually, freePort, getJson, journalOf } from '../support/fleet.ts'
import { pauses, refreshTimes } from '../support/scene.ts'

/** A sandbox, and daemons of any roles on whatever Redis a test has. */
export interface Fleet {
  readonly sandbox: Sandbox
  readonly folder: string
  /** All that were started, those that were killed too. */
  readonly daemons: readonly Daemon[]
  configFile(settings?: Record<string, object>): Promise<string>
  daemon(how?: { roles?: string; settings?: Record<string, object> }): Promise<Daemon>
  close(): Promise<void>
}

export async function openFleet(redis: object, options: Partial<SandboxOptions> = {}): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-machines-'))
  const sandbox = await startSandbox(
    {
      port: 0,
      smtpPort: 0,
      accounts: 10,
      tokenLifetimeMs: 15_000,
      rotateRefreshTokens: true,
      scenario: 'steady',
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
      ...options,
    },
    systemClock,
  )
  const daemons: Daemon[] = []
  const configFile = async (settings: Record<string, object> = {}) =>
    writeDaemonConfig(folder, {
      sandboxUrl: sandbox.url,
      smtpUrl: sandbox.smtpUrl,
      port: await freePort(),
      // One key for all daemons of the fleet: they share what they store.
      settings: { redis, encryption: { keys: [keyOf('k1', 7)] }, ...settings },
    })
  return {
    sandbox,
    folder,
    daemons,
    configFile,
    daemon: async ({ roles, settings } = {}) => {
      const more = roles === undefined ? [] : ['--roles', roles]
      const daemon = await startDaemon(await configFile(settings), {}, undefined, more)
      daemons.push(daemon)
      return daemon
    },
    close: async () => {
      await Promise.all(daemons.filter(isRunning).map((daemon) => daemon.stop()))
      await sandbox.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function keyOf(id: string, byte: number): { id: string; key: string } {
  return { id, key: Buffer.alloc(32, byte).toString('base64') }
}

export function isRunning({ child }: Daemon): boolean {
  return child.exitCode === null && child.signalCode === null
}

/** Resolves with how long it took until every account had been refreshed since a moment, ms. */
export async function allRefreshedSince(
  { sandbox, daemons }: Pick<Fleet, 'sandbox' | 'daemons'>,
  hubIds: readonly number[],
  since: number,
  withinMs = 60_000,
): Promise<number> {
  let missing = hubIds
  await eventually(
    'a refresh of every account',
    async () => {
      const times = refreshTimes(await journalOf(sandbox.url))
      missing = hubIds.filter((hubId) => times.get(hubId)?.some((at) => at > since) !== true)
      return missing.length === 0
    },
    withinMs,
  ).catch((error: unknown) => {
    const told = daemons.flatMap(({ lines }) => lines.filter((line) => /"level":"?(40|50|60|warn|error)/.test(line)))
    const what = `${missing.length} of ${hubIds.length} were not, such as ${missing.slice(0, 5).join(', ')}`
    throw new Error(`${what}; the daemons said:\n${told.slice(-20).join('\n')}`, { cause: error })
  })
  return Date.now() - since
}

export interface Kept {
  /** Accounts whose refresh token was refused: it had been redeemed before, or was lost. */
  refused: number[]
  /** Answers to calls with an access token that had expired. */
  expired: number
  /** Between two refreshes of one account, ms. */
  shortest: number
  longest: number
}

/** What the provider saw of the fleet, from a moment on. */
export async function whatProviderSaw(sandbox: Pick<Sandbox, 'url'>, since = 0): Promise<Kept> {
  const journal = (await journalOf(sandbox.url)).filter(({ time }) => Date.parse(time) >= since)
  const refused = journal.filter(({ endpoint, status }) => endpoint === 'token' && status === 400)
  return {
    refused: [...new Set(refused.map(({ hubId }) => hubId ?? 0))],
    expired: journal.filter(({ status }) => status === 401).length,
    ...pauses(journal, Date.now()),
  }
}

export async function statesOf(daemonUrl: string): Promise<Record<string, number>> {
  const { accounts } = await getJson<{ accounts: { byState: Record<string, number> } }>(`${daemonUrl}/api/v1/status`)
  return Object.fromEntries(Object.entries(accounts.byState).filter(([, count]) => count > 0))
}
