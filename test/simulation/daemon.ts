import type { RefreshWork, UninstallWork } from '../../jobs/job-deps.ts'
import { refreshOne, refreshTokens } from '../../jobs/refresh-tokens.ts'
import { sweepGrants } from '../../jobs/sweep.ts'
import { uninstall } from '../../jobs/uninstall.ts'
import { connectWithCode } from '../../src/accounts/connect-account.ts'
import { DueSets } from '../../src/accounts/due-sets.ts'
import { importRows } from '../../src/accounts/import-accounts.ts'
import { beginUninstall } from '../../src/accounts/uninstall.ts'
import { closeAlerts } from '../../src/alerts/kinds/notified-alert.ts'
import { grantAnnouncer } from '../../src/alerts/kinds/poll-alert.ts'
import { tokenAnnouncer } from '../../src/alerts/kinds/token-alert.ts'
import { Movement } from '../../src/heartbeat/movement.ts'
import { onReady, type Store } from '../../src/redis/connect.ts'
import type { Keys } from '../../src/redis/keys.ts'
import { InFlight } from '../../src/runtime/concurrency.ts'
import { createLogger } from '../../src/runtime/logger.ts'
import { createMetrics } from '../../src/runtime/metrics.ts'
import { Secret } from '../../src/runtime/secret.ts'
import type { TokenEndpoint } from '../../src/tokens/endpoint/token-endpoint.ts'
import { storeGrantsInHand, storeYoungAgain } from '../../src/tokens/store-tokens.ts'
import { TokenStore } from '../../src/tokens/token-store.ts'
import { Unstored } from '../../src/tokens/unstored.ts'
import { createVault, type VaultKey } from '../../src/tokens/vault.ts'
import { type AlertConfig, type AlertParts, alertParts } from './alert-parts.ts'
import type { StandInProvider } from './provider.ts'
import type { StandInReceiver } from './receiver.ts'
import { type RekeyParts, rekeyParts } from './rekey-parts.ts'
import { type StepWatcher, simulatedStore } from './simulated-store.ts'
import type { Stored } from './stored.ts'
import type { Process, World } from './world.ts'

/** How long an uninstalled account is kept. */
export const KEEP_MS = 2_400_000

/** What all daemons of a run share. */
export interface Scene {
  world: World
  real: Store
  keys: Keys
  stored: Stored
  /** What a daemon that starts, or takes the config over, finds in it. */
  config: { keys: readonly VaultKey[]; rekeys: boolean; alerts: AlertConfig }
  provider: StandInProvider
  receivers: ReadonlyMap<string, StandInReceiver>
  /** Deliveries that were handed on, for whichever daemon takes them. */
  jobs: string[]
  watch: StepWatcher
}

/** A process with parts of its own, and what it may be told to do. */
export interface Daemon extends AlertParts, RekeyParts {
  process: Process
  /** `only`: by a link for that account. */
  connect(code: string, only?: number): Promise<unknown>
  import(hubId: number, refreshToken: string): Promise<unknown>
  refresh(hubIds: number[]): Promise<void>
  /** The provider refused its access token: whoever was refused wants another one, due or not. */
  refreshNow(hubId: number): Promise<unknown>
  beginUninstall(hubId: number): Promise<unknown>
  runUninstall(hubIds: number[]): Promise<void>
  /** Does what is due, and says when something is due next. */
  sweep(): Promise<number | undefined>
  /** Finishes installs whose account was not known. */
  sweepGrants(): Promise<void>
}

const metrics = createMetrics()
const pageOf = (hubId: number) => `https://plimsoll.example.com/accounts/${hubId}`
const pages = { pageOf }
const never = new AbortController().signal

/** The door is no part of the simulation: it is always open. */
const openDoor = {
  rotates: true,
  enter: async () => ({ is: 'admitted' }),
  leave: () => {},
  nextTurn: () => 0,
  mayRetry: () => true,
  succeeded: () => {},
  failed: async () => ({ fleetTrouble: false, lastSuccessAt: 0, fleet: 0, until: 0 }),
  noteOthers: () => {},
  sendCode: async (send: () => Promise<object>) => ({ is: 'sent', ...(await send()) }),
} as unknown as TokenEndpoint

export function startDaemon(scene: Scene, name: string, vaultKeys = scene.config.keys): Daemon {
  const { world, real, keys, provider, watch } = scene
  const process = world.addProcess(name)
  const log = createLogger({ level: 'error', pretty: false }, { write: (line) => world.noteLine(line) })
  const store = simulatedStore(world, process, real, watch)
  // Real time is no part of a run.
  const clock = world.clockOf(process)
  const vault = createVault(vaultKeys)
  const due = new DueSets(store, keys, () => world.dice.next())
  const deps: RefreshWork & UninstallWork = {
    store,
    keys,
    vault,
    clock,
    due,
    log,
    metrics,
    provider: provider.clientFor(world, process),
    endpoint: openDoor,
    tokens: new TokenStore(store, keys),
    unstored: new Unstored(() => {}),
    movement: new Movement(clock),
    repair: async () => {},
    inFlight: new InFlight(8),
    settings: { refreshFrom: 0.5, refreshBy: 0.8 },
    announce: tokenAnnouncer(pages),
    announceScopes: grantAnnouncer({ ...pages, scopes: ['oauth'] }),
    closeAlerts: closeAlerts.bind(undefined, pageOf),
    uninstallKeepMs: KEEP_MS,
    dataDir: '/dev/null',
    uninstallAfterRefusedMs: 'never',
    queues: { wake: async () => {} } as never,
    random: () => 0.5,
  }
  onReady(store, () => void storeYoungAgain(deps))
  clock.every(1_000, () => storeGrantsInHand(deps))
  const refresh = (hubIds: number[]) => refreshTokens(deps, { hubIds }, never)
  const runUninstall = (hubIds: number[]) => uninstall(deps, { hubIds }, never)
  return {
    ...alertParts(scene, process, deps, pages),
    ...rekeyParts(scene, name, vault, store, clock),
    process,
    refresh,
    runUninstall,
    connect: (code, only) => connectWithCode(deps, new Secret(code), { only }),
    import: (hubId, refreshToken) => importRows(deps, rowOf(hubId, refreshToken), importOptions),
    refreshNow: async (hubId) => {
      const generation = await store.hget(keys.account(hubId).account, 'generation')
      if (generation !== null) await refreshOne(deps, hubId, generation)
    },
    beginUninstall: (hubId) => beginUninstall(deps, hubId, { by: 'cli', reason: 'asked' }),
    sweepGrants: () => sweepGrants(deps),
    sweep: async () => {
      const now = clock.now()
      const tokens = await due.dueTokens(now)
      await refresh(await due.claimTokens(tokens.due, now))
      const uninstalls = await due.claim('uninstall', now, 1_000)
      await runUninstall(uninstalls.hubIds)
      const moments = [tokens.next, uninstalls.next].filter((moment) => moment !== undefined)
      return moments.length === 0 ? undefined : Math.min(...moments)
    },
  }
}

const importOptions = { replace: true, stop: never, onBad: () => {}, onProgress: () => {} }

async function* rowOf(hubId: number, refreshToken: string) {
  const token = { is: 'clear' as const, value: new Secret(refreshToken) }
  yield { line: 1, row: { hubId, token, hubDomain: '', user: '', connectedAt: null } }
}
