import type { Config } from '../../config/schema.ts'
import { longestPauses } from '../../jobs/clock.ts'
import type { Movement } from '../../jobs/movement.ts'
import { openQueueBoard } from '../../jobs/queue-board.ts'
import { readQueueDepths } from '../../jobs/queue-depths.ts'
import { DueSets } from '../accounts/due-sets.ts'
import { Registry } from '../accounts/registry.ts'
import { SilenceStore } from '../alerts/silence-store.ts'
import { Deliveries } from '../delivery/deliveries.ts'
import { judgeReceiver, ReceiverStore } from '../delivery/receiver-health.ts'
import type { Role } from '../heartbeat/roles.ts'
import { type AdminToken, mainToken, OF_CONFIG, OF_FILE, openTokenFile } from '../http/access/admin-tokens.ts'
import { type HealthReport, judgeHealth } from '../http/health.ts'
import { type HttpServer, startHttpServer } from '../http/server.ts'
import { CoverageStore } from '../limits/coverage.ts'
import { History } from '../limits/history/history.ts'
import { KeptSamples } from '../limits/samples.ts'
import type { Store } from '../redis/connect.ts'
import type { DataTrouble } from '../redis/data-trouble.ts'
import type { Logger } from '../runtime/logger.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { connectDeps, connected, uninstall } from './account-actions.ts'
import type { AccountJobs } from './account-jobs.ts'
import { pollNow, refreshNow } from './account-now.ts'
import { acknowledge, silenceAlerts, unacknowledge, unsilence } from './alert-actions.ts'
import { coverageSettings } from './coverage-settings.ts'
import { historyKeep } from './history-keep.ts'
import { live } from './live.ts'
import { type Parts, sampleSettings } from './parts.ts'
import { ackLinks } from './receivers.ts'
import { replayDeliveries } from './replay-deliveries.ts'
import { ruleSetOf } from './rule-set.ts'
import { testReceiver } from './test-receiver.ts'

/** How long a request for a test waits for a slow receiver. */
const TEST_WAIT_MS = 10_000

/** What may change with the config is read anew for each request, or each part of one. */
export function startHttp(
  inForce: { readonly parts: Parts },
  pages: Store,
  accessTokens: AccessTokens,
  endpoint: TokenEndpoint,
  jobs: AccountJobs,
  stop: AbortSignal,
  health: () => Promise<HealthReport>,
  pagesToo: boolean,
): Promise<HttpServer> {
  const { config, keys, vault, metrics, clock, log } = inForce.parts
  const silences = new SilenceStore(
    pages,
    keys,
    live(() => inForce.parts.config.tags),
  )
  const deliveries = new Deliveries(pages, keys)
  const receiverStore = new ReceiverStore(pages, keys)
  const asked = (): Parts => ({ ...inForce.parts, store: pages, silences, deliveries, receiverStore })
  return startHttpServer({
    listen: { ...config.http.listen },
    probesOnly: !pagesToo,
    publicUrl: config.http.publicUrl,
    adminToken: adminToken(config, pagesToo, log),
    openMetrics: config.http.metrics === 'open',
    install: live(() => inForce.parts.config.provider),
    connect: live(() => ({ ...connectDeps(inForce.parts), endpoint })),
    store: pages,
    keys,
    registry: new Registry(pages, keys),
    history: new History(pages, keys),
    historyKeep: live(() => historyKeep(inForce.parts.config)),
    coverage: new CoverageStore(
      pages,
      keys,
      live(() => coverageSettings(inForce.parts.config)),
    ),
    samples: new KeptSamples(
      pages,
      keys,
      live(() => sampleSettings(inForce.parts.config)),
    ),
    due: new DueSets(pages, keys),
    deliveries,
    silences,
    tags: live(() => inForce.parts.config.tags),
    ackLinks: ackLinks(vault, () => inForce.parts.config),
    explain: live(() => ({
      ...ruleSetOf(inForce.parts.config),
      alertAfter: inForce.parts.config.limits.alertAfter,
    })),
    receiverStore,
    receivers: live(() => Object.keys(inForce.parts.config.receivers)),
    queueBoard: openQueueBoard(inForce.parts.queues),
    queueDepths: () => readQueueDepths(inForce.parts.queues, pages),
    metrics,
    actions: {
      uninstall: (hubId, reason) => uninstall(asked(), hubId, { by: 'api', reason }),
      accessToken: (hubId, to) => accessTokens.serve(hubId, to),
      connected: () => connected(inForce.parts),
      silence: (silence) => silenceAlerts(asked(), silence),
      unsilence: (id) => unsilence(asked(), id),
      acknowledge: (seen, by) => acknowledge(asked(), seen, by),
      unacknowledge: (seen) => unacknowledge(asked(), seen),
      poll: (hubId) => pollNow(jobs, asked().registry, hubId),
      refresh: (hubId) => refreshNow(jobs, asked().registry, hubId),
      replay: (wanted) => replayDeliveries(asked(), wanted),
      testReceiver: async (name) => {
        const { config } = inForce.parts
        const settings = Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined
        // The request waits no longer for a slow one.
        const ended = AbortSignal.any([stop, AbortSignal.timeout(TEST_WAIT_MS)])
        return settings && testReceiver(config, name, settings, clock, ended, (note) => note(receiverStore))
      },
    },
    health,
    clock,
    log,
  })
}

/** What this daemon does, and how far it got with that. */
export interface OwnProgress {
  roles: ReadonlySet<Role>
  movement: Movement
  /** When it handed on a tick of each kind, ms. */
  ticks: Partial<Record<string, number>>
  /** What is wrong with the data in Redis, by the last check. */
  dataTrouble: DataTrouble | undefined
  /** Since when Redis has been as it was found last. */
  redisSeen: RedisSeen
}

export interface RedisSeen {
  ok: boolean
  /** ms; undefined: since the start. */
  since: number | undefined
}

/** A clock that was set back must not extend the wait by an hour. */
function noteRedis(seen: RedisSeen, ok: boolean, now: number): void {
  seen.since = ok === seen.ok ? seen.since && Math.min(seen.since, now) : now
  seen.ok = ok
}

export async function readHealth(
  parts: Parts,
  pages: Store,
  startedAt: number | undefined,
  { roles, movement, ticks, dataTrouble, redisSeen }: OwnProgress,
): Promise<HealthReport> {
  let redisRefuses: string | undefined
  // A write, because a Redis that only reads is of no use: no lease could be taken. Before the start it isn't ours to write to.
  const [, sweeps, receivers, waiting] = await Promise.all([
    startedAt === undefined ? pages.ping() : pages.hset(parts.keys.progress, 'probe', parts.clock.now()),
    pages.hgetall(parts.keys.progress),
    new ReceiverStore(pages, parts.keys).read(),
    roles.has('worker') ? readQueueDepths(parts.queues, pages) : [],
  ]).catch((error: unknown) => {
    if (error instanceof Error && error.name === 'ReplyError') redisRefuses = error.message
    return []
  })
  const pauses = longestPauses(parts.config.schedule)
  // A parked grant takes up to three calls, and three pauses may go by.
  const expected = { ...pauses, grants: pauses.grants + parts.config.provider.timeout }
  // Where others work, or tick, that they don't would not change with a restart of this daemon.
  const [doesTick, doesBoth] = [roles.has('clock'), roles.has('clock') && roles.has('worker')]
  const now = parts.clock.now()
  noteRedis(redisSeen, sweeps !== undefined, now)
  return judgeHealth({
    now,
    startedAt,
    redisOk: redisSeen.ok,
    redisSince: redisSeen.since,
    redisRefuses,
    dataTrouble,
    lastSweeps: Object.fromEntries(Object.entries(sweeps ?? {}).map(([kind, at]) => [kind, Number(at)])),
    failingReceivers: (receivers ?? [])
      .filter((health) => judgeReceiver(health, { unprovenAfterMs: 'never' }, now) !== undefined)
      .map(({ receiver }) => receiver),
    standstills: movement.standstills(),
    oldest: movement.oldest(),
    untaken: movement.untaken(waiting ?? [], startedAt ?? now),
    expected: doesBoth ? expected : {},
    ticks: doesTick && !doesBoth ? { last: ticks, expected } : undefined,
  })
}

/** The config's, or else, for a daemon that serves pages, one of its own: then the log has its path, never the token. */
function adminToken({ http, dataDir }: Config, servesPages: boolean, log: Logger): AdminToken | undefined {
  if (http.adminToken !== undefined) return mainToken(OF_CONFIG, http.adminToken)
  if (!servesPages) return undefined
  const { token, path, made, wasOpen } = openTokenFile(dataDir)
  if (wasOpen) {
    const fix = 'remove it and start again for a new one'
    log.warn({ code: 'http.token-open', file: path }, `others could read ${path}, from now on they can't: ${fix}`)
  }
  const url = `${http.publicUrl}/sign-in`
  log.info({ code: 'http.admin-token', url, file: path, made }, `sign in at ${url} with the token in ${path}`)
  return mainToken(OF_FILE, token)
}
