import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Config } from '../../config/schema/schema.ts'
import { pollLimits } from '../../jobs/poll-limits.ts'
import { refreshTokens } from '../../jobs/refresh-tokens.ts'
import { sweep } from '../../jobs/sweep.ts'
import { openResources, type Resources } from '../../src/app/resources.ts'
import { buildServices, type Services } from '../../src/app/services.ts'
import { Lifecycle } from '../../src/runtime/lifecycle.ts'
import { Secret } from '../../src/runtime/secret.ts'
import { type PendingFile, PendingTokens } from '../../src/tokens/pending-tokens.ts'
import { refreshTokensOf } from '../../src/tokens/refresh-account.ts'
import { configOf } from '../config/load-text.ts'
import {
  claimRefresh,
  outboxOf,
  refreshUnderWay,
  type SeededAccount,
  seedAccount,
  storedTokens,
  vaultKey,
} from './accounts.ts'
import { pollClaimed } from './committed-poll.ts'
import { type FakeAnswers, fakeProvider } from './fake-provider.ts'
import { goByHand } from './go-by-hand.ts'
import { HandClock } from './hand-clock.ts'
import { logLines } from './log-lines.ts'
import { memoryFile } from './memory-file.ts'
import { redisOfFile } from './of-file.ts'
import type { TestRedis } from './redis-server.ts'

/** The account that tests have when one is enough. */
export const HUB = 123

/** Groups of the config file, written as there. */
type Groups = Record<string, object>

export interface WorldOptions {
  settings?: Groups
  /** What the provider answers; what is not said here is not to be called. */
  provider?: FakeAnswers
  clock?: HandClock
  /** Of another world: this one is another daemon on the same data. */
  prefix?: string
  /** In place of the one of the data folder; no timer writes it. */
  file?: PendingFile
  /** Parts of its own that a test watches or holds back. */
  change?: (services: Services) => Partial<Services>
}

export type World = Awaited<ReturnType<typeof openWorld>>

/** For the tests of a file; to be called at its top. What it returns opens the world of one test. */
export function worldOfFile() {
  const redis = redisOfFile()
  return (options: WorldOptions = {}) => openWorld(redis, options)
}

/**
 * What a daemon works with, made as it makes it, on a real Redis: only the clock, which a test moves, the provider and the
 * wake-ups are stand-ins. It is closed with the test.
 */
export async function openWorld(redis: TestRedis, options: WorldOptions = {}) {
  const world = await openLastingWorld(redis, options)
  onTestFinished(() => world.close())
  return world
}

/** The same for several tests: who opens it closes it. */
export async function openLastingWorld(redis: TestRedis, options: WorldOptions = {}) {
  const { settings = {}, clock = new HandClock(), prefix = `test-${randomBytes(6).toString('hex')}` } = options
  const logged = logLines()
  const says: FakeAnswers = { ...options.provider }
  const provider = fakeProvider(says)
  const woken: string[] = []
  // Made by whoever writes there first: most tests don't.
  const dataDir = join(tmpdir(), `plimsoll-world-${prefix}`)
  const config = { ...configWith(settings), dataDir, redis: { url: new Secret(redis.url), prefix, tls: false } }
  const lifecycle = new Lifecycle()
  const opened = await openResources({ config, clock, random: () => 0.5, log: logged.log }, lifecycle, 'steps')
  goByHand(opened.store, clock)
  lifecycle.onClose('the data folder', () => rmSync(dataDir, { recursive: true, force: true }))
  const resources: Resources = {
    ...opened,
    provider: { ...provider, app: opened.provider.app, follow: () => {} },
    queues: { ...opened.queues, wake: async (kind) => void woken.push(kind) },
    pending: new PendingTokens({ ...opened, file: options.file ?? memoryFile() }),
  }
  const built = buildServices(resources, config)
  lifecycle.onClose('the receivers', () => built.close())
  const services: Services = { ...built, ...options.change?.(built) }
  const { store, keys } = services
  return {
    services,
    store,
    keys,
    config,
    clock,
    provider,
    says,
    logged,
    woken,
    /** Connected just now, where nothing else is said. */
    account: async (account: Partial<SeededAccount> = {}) => {
      await seedAccount(store, keys, { obtainedAt: clock.now(), ...account })
      return accountIn(services, account.hubId ?? HUB)
    },
    of: (hubId: number = HUB) => accountIn(services, hubId),
    poll: (...hubIds: number[]) => pollClaimed(services, hubIds.length === 0 ? [HUB] : hubIds),
    /** When the next sweep is due, and whom a worker takes up after this one. */
    sweep: async (kind: Swept): Promise<{ next: number | undefined; hubIds: number[] }> => {
      const { next, jobs } = await sweepOnce(services, kind)
      const { tokens, due } = services
      const claim = () => (kind === 'refresh-tokens' ? tokens.claim(1_000, 60_000) : due.claim('poll', 1_000, 60_000))
      const claimed = jobs === 0 ? [] : await claim()
      return { next, hubIds: claimed.map(({ hubId }) => hubId) }
    },
    /** A sweep, and the work that it brings about; when the next one is due. */
    work: async (kind: Swept): Promise<number | undefined> => {
      const { next, jobs } = await sweepOnce(services, kind)
      if (jobs > 0) await (kind === 'refresh-tokens' ? refreshTokens : pollLimits)(services, never)
      return next
    },
    /** Names of the calls to the provider. */
    calls: () => provider.calls.map(([name = '']) => name),
    /** Codes of what was logged. */
    codes: () => logged.lines().map(({ code }) => code),
    close: () => lifecycle.close(),
    /** Another daemon. */
    beside: (more: WorldOptions = {}) => openWorld(redis, { ...options, clock, prefix, ...more }),
  }
}

/** What is kept of an account, and what a daemon does to it. */
export function accountIn(services: Services, hubId = HUB) {
  const { store, keys, registry, due, polls, clock } = services
  return {
    hubId,
    refresh: (refused?: string) => refreshTokensOf(services, hubId, { refused }),
    record: () => store.hgetall(keys.own(hubId)),
    tokens: () => storedTokens(store, keys, hubId),
    outbox: () => outboxOf(store, keys, hubId),
    underWay: () => refreshUnderWay(store, keys, hubId),
    /** As another worker claims it for its refresh. */
    claim: () => claimRefresh(store, keys, hubId),
    dueAt: (kind: 'refresh' | 'poll' | 'uninstall') => due.when(kind, hubId),
    /** Until its next poll, ms. */
    waits: async () => Number(await due.when('poll', hubId)) - clock.now(),
    pollState: async () => (await polls.loadOne(hubId))?.state,
    read: async () => {
      const account = await registry.get(hubId)
      if (account === undefined) throw new Error(`account ${hubId} is not there`)
      return account
    },
  }
}

const never = new AbortController().signal
const QUEUE_OF = { 'refresh-tokens': 'refreshTokens', 'poll-limits': 'pollLimits' } as const
type Swept = keyof typeof QUEUE_OF

async function sweepOnce(services: Services, kind: Swept) {
  const next = await sweep(services, kind)
  const queue = services.queues[QUEUE_OF[kind]]
  const jobs = await queue.getWaitingCount()
  await queue.drain()
  return { next, jobs }
}

const known = new Map<string, Config>()

/** Loaded once for all tests that have the same settings. */
function configWith(settings: Groups): Config {
  const text = JSON.stringify({ ...SETTINGS, ...settings, provider: { ...SETTINGS.provider, ...settings.provider } })
  const config = known.get(text) ?? configOf(text)
  known.set(text, config)
  return config
}

const SETTINGS: Groups = {
  provider: { clientId: 'my-app', clientSecret: 'hush-hush', scopes: ['oauth', 'crm.objects.contacts.read'] },
  http: { publicUrl: 'https://plimsoll.example.com' },
  encryption: { keys: [{ id: vaultKey.id, key: Buffer.from(vaultKey.key).toString('base64') }] },
  receivers: { ops: { type: 'email', smtp: 'smtps://mail.example.com', from: 'a@example.com', to: ['b@example.com'] } },
  routes: [{ to: ['ops'] }],
}
