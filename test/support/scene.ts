import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'vitest'
import { systemClock } from '../../src/runtime/clock.ts'
import { type Sandbox, type SandboxOptions, startSandbox } from '../../src/sandbox/sandbox.ts'
import { type Daemon, type Settings, startDaemon, writeDaemonConfig } from './daemon.ts'
import { freePort, type JournalEntry } from './fleet.ts'
import { type RedisServer, startRedis } from './redis-server.ts'

/** A sandbox, a Redis with an append-only file, and as many daemons as a test wants. */
export interface Scene {
  sandbox: Sandbox
  redis: RedisServer
  folder: string
  daemon(settings?: Record<string, object>): Promise<Daemon>
  /** With another `dataDir` its commands do not find the daemons of the scene. */
  configFile(settings?: Settings): Promise<string>
  close(): Promise<void>
}

export async function openScene(options: Partial<SandboxOptions> = {}): Promise<Scene> {
  const folder = mkdtempSync(join(tmpdir(), 'plimsoll-scene-'))
  const redis = await startRedis(folder)
  const sandbox = await startSandbox(
    {
      port: 0,
      smtpPort: 0,
      accounts: 10,
      tokenLifetimeMs: 10_000,
      rotateRefreshTokens: true,
      scenario: 'steady',
      clientId: 'sandbox-client-id',
      clientSecret: 'sandbox-client-secret',
      ...options,
    },
    systemClock,
  )
  const daemons: Daemon[] = []
  const configFile = async (settings: Settings = {}) =>
    writeDaemonConfig(folder, {
      sandboxUrl: sandbox.url,
      smtpUrl: sandbox.smtpUrl,
      redisUrl: redis.url,
      port: await freePort(),
      // One key for all daemons of the scene: they share what they store.
      settings: { encryption: { keys: [{ id: 'k1', key: Buffer.alloc(32, 7).toString('base64') }] }, ...settings },
    })
  return {
    sandbox,
    redis,
    folder,
    configFile,
    daemon: async (settings) => {
      const daemon = await startDaemon(await configFile(settings))
      daemons.push(daemon)
      return daemon
    },
    close: async () => {
      await Promise.all(daemons.filter(isRunning).map((daemon) => daemon.stop()))
      await sandbox.close()
      await redis.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A test's own, closed when it is over: those that mostly wait may do so side by side. */
export async function sceneFor(
  { onTestFinished }: Pick<TestContext, 'onTestFinished'>,
  options: Partial<SandboxOptions> = {},
): Promise<Scene> {
  const scene = await openScene(options)
  onTestFinished(() => scene.close())
  return scene
}

function isRunning({ child }: Daemon): boolean {
  return child.exitCode === null && child.signalCode === null
}

/** Refreshes that worked, by account, as times in ms. */
export function refreshTimes(journal: readonly JournalEntry[]): Map<number, number[]> {
  const times = new Map<number, number[]>()
  for (const { hubId, status, time, endpoint } of journal) {
    if (endpoint !== 'token' || status !== 200 || hubId === null) continue
    times.set(hubId, [...(times.get(hubId) ?? []), Date.parse(time)])
  }
  return times
}

/** The shortest and longest pause between two refreshes of one account, and the longest since its last one. */
export function pauses(journal: readonly JournalEntry[], until: number): { shortest: number; longest: number } {
  let shortest = Number.POSITIVE_INFINITY
  let longest = 0
  for (const times of refreshTimes(journal).values()) {
    for (const [n, at] of times.entries()) {
      const next = times[n + 1]
      if (next !== undefined) shortest = Math.min(shortest, next - at)
      longest = Math.max(longest, (next ?? until) - at)
    }
  }
  return { shortest, longest }
}
