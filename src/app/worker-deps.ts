import { unprovenAfter } from '../../config/alerts.ts'
import type { Config } from '../../config/schema.ts'
import { longestPauses } from '../../jobs/clock.ts'
import type { DigestSettings, HeartbeatSettings } from '../../jobs/job-deps.ts'
import type { Movement } from '../../jobs/movement.ts'
import { ACCOUNT_CLAIM_MS } from '../accounts/due-sets.ts'
import { withTags } from '../accounts/match-account.ts'
import { DigestStore } from '../alerts/digest-store.ts'
import { deliveryAnnouncer } from '../alerts/kinds/delivery-alert.ts'
import { closeAlerts } from '../alerts/kinds/told-alert.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat-store.ts'
import { createPinger } from '../heartbeat/ping.ts'
import { TendingRounds } from '../limits/history/tending-rounds.ts'
import { PollStore } from '../limits/poll-store.ts'
import { CallBudget } from '../limits/polling/call-budget.ts'
import { CallShare } from '../limits/polling/call-share.ts'
import { pollBudgetText } from '../redis/shared-text.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { TokenStore } from '../tokens/token-store.ts'
import { announcer, pageOf, pollsAnnouncer, scopesAnnouncer } from './announcers.ts'
import { groupSettings } from './group-settings.ts'
import { historyKeep } from './history-keep.ts'
import type { Parts } from './parts.ts'
import type { SharedServices } from './services.ts'
import { fleetAnnouncements } from './token-endpoint.ts'

/** What the daemon has for its jobs beside the config. */
export interface Services extends SharedServices {
  endpoint: TokenEndpoint
  movement: Movement
}

/** What the workers' jobs need, each setting by the name under which its job knows it. */
export function workerDeps(parts: Parts, services: Services, receivers: ReadonlyMap<string, Receiver>) {
  const { config, store, keys, clock, random, log } = parts
  const deliveriesPage = `${config.http.publicUrl}/deliveries`
  const { requests, per } = config.provider.accountRate
  const polls = new PollStore(store, keys)
  return {
    ...parts,
    ...services,
    tokens: new TokenStore(store, keys),
    polls,
    historyKeep: historyKeep(config),
    rounds: new TendingRounds(store, keys),
    stillPolling: (hubId: number, read: string) => {
      services.movement.goesOn('poll', hubId)
      return polls.hold(hubId, read, clock.now() + ACCOUNT_CLAIM_MS.poll)
    },
    share: new CallShare(store, keys, { requests, perMs: per }, clock),
    announce: announcer(config),
    announceScopes: scopesAnnouncer(config),
    announcePoll: pollsAnnouncer(config),
    alertAfter: config.limits.alertAfter,
    announceFleet: fleetAnnouncements(config),
    settings: config.tokens,
    callBudget: callBudget(parts),
    polling: { ...config.limits, accounts: withTags(config.limits.accounts, config.tags) },
    uninstallKeepMs: config.uninstall.keep,
    uninstallAfterRefusedMs: config.uninstall.afterRefused,
    alerts: {
      rules: withTags(config.thresholds, config.tags),
      recoverBelow: config.alerts.recoverBelow,
      for: config.alerts.for,
      repeatEveryMs: config.alerts.repeatEvery,
      worseAfterMs: config.alerts.worse === 'on' ? config.alerts.group.interval : undefined,
      firstRun: config.alerts.firstRun,
      pageOf: pageOf(config),
    },
    relay: {
      store,
      keys,
      routes: withTags(config.routes, config.tags),
      receivers: [...receivers.keys()],
      silences: parts.silences,
      group: groupSettings(config),
      log,
    },
    digests: new DigestStore(store, keys),
    digest: digestSettings(config),
    heartbeats: new HeartbeatStore(store, keys),
    heartbeat: openHeartbeat(parts, services.startedAt),
    closeAlerts: closeAlerts.bind(undefined, pageOf(config)),
    receivers,
    drill: { everyMs: config.alerts.drill.every, unprovenAfterMs: unprovenAfter(config.alerts) },
    announceDelivery: deliveryAnnouncer({ repeatEveryMs: config.alerts.repeatEvery, page: deliveriesPage }),
    deliveriesPage,
    clock,
    random,
    log,
  }
}

/** Undefined where the config sets none: then nothing of it touches Redis. */
function callBudget({ config, store, keys, clock, log }: Parts): CallBudget | undefined {
  const { callsPerHour } = config.limits
  if (callsPerHour === undefined) return undefined
  return new CallBudget({ text: pollBudgetText(store, keys), callsPerHour, clock, log })
}

/** Who gets a digest when, and of what. */
function digestSettings(config: Config): DigestSettings {
  const schedules = Object.entries(config.receivers).flatMap(([name, { digest }]) =>
    digest === undefined ? [] : [[name, { ...digest, on: digest.on ?? 'mon' }] as const],
  )
  return {
    schedules: new Map(schedules),
    routes: withTags(config.routes, config.tags),
    rules: withTags(config.thresholds, config.tags),
    max: config.alerts.group.max,
    pageOf: pageOf(config),
    page: `${config.http.publicUrl}/`,
  }
}

/** Undefined where no heartbeat is configured. The caller closes its pinger. */
function openHeartbeat({ config, coverage }: Parts, startedAt: number): HeartbeatSettings | undefined {
  if (config.heartbeat === undefined) return undefined
  const { url, every, tokens, overdueRefresh, outboxAge } = config.heartbeat
  const { heartbeat: _, ...sweeps } = longestPauses(config.schedule)
  return {
    everyMs: every,
    bounds: { coverage: coverage.settings, tokens, overdueRefreshMs: overdueRefresh, outboxAgeMs: outboxAge, sweeps },
    pinger: createPinger(url),
    daemon: { startedAt, receivers: new Set(Object.keys(config.receivers)) },
  }
}
