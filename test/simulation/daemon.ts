import { join } from 'node:path'
import type { JobDeps, RefreshWork, UninstallWork } from '../../jobs/job-deps.ts'
import { refreshOne, refreshTokens } from '../../jobs/refresh-tokens.ts'
import { sweep, sweepGrants } from '../../jobs/sweep.ts'
import { uninstall } from '../../jobs/uninstall.ts'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { importRows } from '../../src/accounts/import-accounts.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { closeAlerts } from '../../src/alerts/kinds/notified-alert.ts'
import { grantAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../../src/alerts/kinds/token-alert.ts'
import { Deliveries } from '../../src/delivery/deliveries.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import { onReady, type Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { EndpointText, NO_ALERT_WRITES } from '../../src/redis/steps.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { TokenEndpoint } from '../../src/tokens/endpoint/token-endpoint.ts'
import { PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { SealedFile, storeSealed } from '../../src/tokens/sealed-tokens.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { createVault, type VaultKey } from '../../src/tokens/vault.ts'
import { type AlertConfig, type AlertParts, alertParts } from './alert-parts.ts'
import type { StandInProvider } from './provider.ts'
import type { StandInReceiver } from './receiver.ts'
import { type RekeyParts, rekeyParts } from './rekey-parts.ts'
import { type StepWatcher, simulatedStore } from './simulated-store.ts'
import type { Stored } from './stored.ts'
import type { Process, World } from './world.ts'

/** How long an uninstalled account is kept. */
export const KEEP_MS = 600_000

/** What all daemons of a run share. */
export interface Scene {
  world: World
  real: Store
  keys: Keys
  stored: Stored
  /** What a daemon that starts, or takes the config over, finds in it. */
  config: { keys: readonly VaultKey[]; rekeys: boolean; polls: boolean; alerts: AlertConfig }
  /** Has the data folder of each machine. */
  folder: string
  provider: StandInProvider
  receivers: ReadonlyMap<string, StandInReceiver>
  /** For whichever daemon takes them. */
  jobs: Job[]
  watch: StepWatcher
}

export interface Job {
  queue: 'refresh' | 'uninstall' | 'poll' | 'deliver'
}

/** A process with parts of its own, and what it may be told to do. */
export interface Daemon extends AlertParts, RekeyParts {
  process: Process
  work(job: Job): Promise<unknown>
  /** `only`: by a link for that account. */
  connect(code: string, only?: number): Promise<unknown>
  import(hubId: number, refreshToken: string): Promise<unknown>
  /** The provider refused its access token: whoever was refused wants another one, due or not. */
  refreshNow(hubId: number): Promise<unknown>
  beginUninstall(hubId: number): Promise<unknown>
  /** Makes jobs of what is due, and says when something is due next. */
  sweep(): Promise<number | undefined>
  /** Finishes installs whose account was not known. */
  sweepGrants(): Promise<void>
  /** What an earlier process of a machine left in its data folder goes to Redis. */
  storeSealed(machine: string): Promise<void>
  /** As at SIGTERM. */
  stop(): Promise<void>
}

const QUEUE_OF = { refreshTokens: 'refresh', pollLimits: 'poll', uninstall: 'uninstall', deliver: 'deliver' } as const
const metrics = createMetrics()
const pageOf = (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`
const pages = { pageOf }
export const POLL_EVERY_MS = 60_000
const never = new AbortController().signal

/** `machine`: its data folder outlasts the process. */
export function startDaemon(
  scene: Scene,
  name: string,
  { machine = name, vaultKeys = scene.config.keys } = {},
): Daemon {
  const { world, real, keys, provider, watch, jobs } = scene
  const process = world.addProcess(name)
  process.machine = machine
  const dataDir = join(scene.folder, machine)
  const log = createLogger({ level: 'error', pretty: false }, { write: (line) => world.noteLine(line) })
  const store = simulatedStore(world, process, real, watch)
  // Real time is no part of a run.
  const clock = process.clock
  const vault = createVault(vaultKeys)
  const due = new DueSets(store, keys, () => world.dice.next())
  const tokens = new TokenStore(store, keys, clock, () => world.dice.next())
  const pending = new PendingTokens({ tokens, vault, clock, log, file: new SealedFile(vault, dataDir) })
  const deps: RefreshWork & UninstallWork = {
    store,
    keys,
    vault,
    clock,
    due,
    log,
    metrics,
    provider: provider.clientFor(world, process),
    endpoint: new TokenEndpoint({
      text: new EndpointText(store, keys),
      announce: async () => NO_ALERT_WRITES,
      alerted: async () => {},
      clock,
      log,
    }),
    tokens,
    pending,
    movement: new Movement(clock),
    callMs: 10_000,
    putAside: async () => {},
    inFlight: new InFlight(8),
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    announce: tokenAnnouncer(pages),
    announceScopes: grantAnnouncer({ ...pages, scopes: ['oauth'] }),
    closeAlerts: closeAlerts.bind(undefined, pageOf),
    uninstallKeepMs: KEEP_MS,
    dataDir,
    uninstallAfterRefusedMs: 'never',
    queues: {
      wake: async () => {},
      look: async (kind: keyof typeof QUEUE_OF) => {
        const queue = QUEUE_OF[kind]
        if (!jobs.some((job) => job.queue === queue)) jobs.push({ queue })
      },
    } as never,
    random: () => 0.5,
  }
  onReady(store, () => void pending.storeAgain())
  clock.every(1_000, async () => pending.seal())
  const alerts = alertParts(scene, process, deps, pages)
  const polling = { every: POLL_EVERY_MS, accounts: [] }
  const sweeping = { ...deps, polling, deliveries: new Deliveries(store, keys), sending: { store, keys } }
  const kinds = ['refresh-tokens', 'uninstall', ...(scene.config.polls ? (['poll-limits'] as const) : [])] as const
  const stopping = new AbortController()
  return {
    ...alerts,
    ...rekeyParts(scene, name, vault, store, clock),
    process,
    work: ({ queue }) => {
      if (queue === 'deliver') return alerts.deliver()
      if (queue === 'refresh') return refreshTokens(deps, stopping.signal)
      return queue === 'poll' ? alerts.pollDue() : uninstall(deps, stopping.signal)
    },
    connect: (code, only) => connectWithCode(deps, new Secret(code), { only }),
    import: (hubId, refreshToken) => importRows(deps, rowOf(hubId, refreshToken), importOptions),
    refreshNow: async (hubId) => {
      const version = await store.hget(keys.account(hubId).account, 'version')
      if (version !== null) await refreshOne(deps, hubId, version)
    },
    beginUninstall: (hubId) => beginUninstall(deps, hubId, { by: 'cli', reason: 'asked' }),
    sweepGrants: () => sweepGrants(deps),
    sweep: async () => {
      let next: number | undefined
      for (const kind of kinds) {
        const moment = await sweep(sweeping as unknown as JobDeps, kind)
        next = Math.min(next ?? Number.POSITIVE_INFINITY, moment ?? Number.POSITIVE_INFINITY)
      }
      return next
    },
    storeSealed: (from) => storeSealed(deps, join(scene.folder, from)),
    stop: async () => {
      process.isStopping = true
      stopping.abort()
      deps.endpoint.close()
      await pending.close(2_000)
      process.endedWell = true
      world.kill(process)
    },
  }
}

const importOptions = { replace: true, stop: never, onBad: () => {}, onProgress: () => {} }

async function* rowOf(hubId: number, refreshToken: string) {
  const token = { is: 'clear' as const, value: new Secret(refreshToken) }
  yield { line: 1, row: { hubId, token, hubDomain: '', user: '', connectedAt: null } }
}
