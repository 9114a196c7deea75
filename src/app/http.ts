import { longestPauses } from '../../jobs/clock.ts'
import type { Movement } from '../../jobs/movement.ts'
import { readQueueDepths } from '../../jobs/queue-depths.ts'
import { DueSets } from '../accounts/due-sets.ts'
import { withTags } from '../accounts/match-account.ts'
import { Registry } from '../accounts/registry.ts'
import { SilenceStore } from '../alerts/silences/silence-store.ts'
import { Deliveries } from '../delivery/deliveries.ts'
import { judgeReceiver } from '../delivery/receiver-health.ts'
import { ReceiverStore } from '../delivery/receiver-store.ts'
import { type HealthReport, judgeHealth } from '../http/health.ts'
import { type HttpServer, startHttpServer } from '../http/server.ts'
import { CoverageStore } from '../limits/coverage-store.ts'
import { History } from '../limits/history/history.ts'
import { KeptSamples } from '../limits/history/kept-samples.ts'
import type { Store } from '../redis/connect.ts'
import type { AccessTokens } from '../tokens/access-token.ts'
import { connectDeps, connected, uninstall } from './account-actions.ts'
import type { AccountJobs } from './account-jobs.ts'
import { pollNow, refreshNow } from './account-now.ts'
import { ackLinks } from './ack-links.ts'
import { acknowledge, silenceAlerts, unsilence } from './alert-actions.ts'
import { historyKeep } from './history-keep.ts'
import { type Parts, sampleSettings } from './parts.ts'
import { replayDeliveries } from './replay-deliveries.ts'
import { ruleSetOf } from './rule-set.ts'
import { testReceiver } from './test-receiver.ts'

export function startHttp(
  parts: Parts,
  pages: Store,
  accessTokens: AccessTokens,
  jobs: AccountJobs,
  stop: AbortSignal,
  health: () => Promise<HealthReport>,
): Promise<HttpServer> {
  const { config, keys, provider, metrics, clock, log } = parts
  const silences = new SilenceStore(pages, keys, config.tags)
  const deliveries = new Deliveries(pages, keys)
  const receiverStore = new ReceiverStore(pages, keys)
  const asked = { ...parts, store: pages, silences, deliveries }
  return startHttpServer({
    listen: { ...config.http.listen },
    publicUrl: config.http.publicUrl,
    adminToken: config.http.adminToken,
    // Read anew for each install: the app may be another one after a reload.
    install: {
      ...config.provider,
      get clientId() {
        return provider.app.clientId
      },
    },
    connect: connectDeps(parts),
    store: pages,
    keys,
    registry: new Registry(pages, keys),
    history: new History(pages, keys),
    historyKeep: historyKeep(config),
    coverage: new CoverageStore(pages, keys, parts.coverage.settings),
    samples: new KeptSamples(pages, keys, sampleSettings(config)),
    due: new DueSets(pages, keys),
    deliveries,
    silences,
    ackLinks: ackLinks(parts.vault, config),
    judging: {
      rules: withTags(config.thresholds, config.tags),
      ...{ recoverBelow: config.alerts.recoverBelow, for: config.alerts.for, repeatEveryMs: config.alerts.repeatEvery },
    },
    receiverStore,
    explain: { ...ruleSetOf(config), alertAfter: config.limits.alertAfter },
    receivers: Object.keys(config.receivers),
    queueDepths: () => readQueueDepths(parts.queues, pages),
    metrics,
    actions: {
      uninstall: (hubId, reason) => uninstall(asked, hubId, { by: 'api', reason }),
      accessToken: (hubId, to) => accessTokens.serve(hubId, to),
      connected: () => connected(parts),
      silence: (silence) => silenceAlerts(asked, silence),
      unsilence: (id) => unsilence(asked, id),
      acknowledge: (seen, by) => acknowledge(asked, seen, by),
      poll: (hubId) => pollNow(jobs, parts.registry, hubId),
      refresh: (hubId) => refreshNow(jobs, parts.registry, hubId),
      replay: (since, receiver) => replayDeliveries(asked, since, receiver),
      testReceiver: async (name) => {
        const settings = Object.hasOwn(config.receivers, name) ? config.receivers[name] : undefined
        return settings && testReceiver(config, name, settings, clock, stop, (note) => note(receiverStore))
      },
    },
    health,
    clock,
    log,
  })
}

export async function readHealth(
  parts: Parts,
  pages: Store,
  startedAt: number | undefined,
  movement: Movement,
): Promise<HealthReport> {
  // A write, because a Redis that only reads is of no use: no lease could be taken.
  const [, sweeps, receivers] = await Promise.all([
    pages.hset(parts.keys.progress, 'probe', parts.clock.now()),
    pages.hgetall(parts.keys.progress),
    new ReceiverStore(pages, parts.keys).read(),
  ]).catch(() => [])
  return judgeHealth({
    now: parts.clock.now(),
    startedAt,
    redisOk: sweeps !== undefined,
    lastSweeps: Object.fromEntries(Object.entries(sweeps ?? {}).map(([kind, at]) => [kind, Number(at)])),
    failingReceivers: (receivers ?? [])
      .filter((health) => judgeReceiver(health, { unprovenAfterMs: 'never' }, parts.clock.now()) !== undefined)
      .map(({ receiver }) => receiver),
    standstills: movement.standstills(),
    expected: longestPauses(parts.config.schedule),
  })
}
