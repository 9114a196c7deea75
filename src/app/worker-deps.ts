import { unprovenAfter } from '../../config/drill.ts'
import { Turns } from '../../jobs/deliver.ts'
import type { SweepKind } from '../../jobs/queues.ts'
import { CLAIM_MS } from '../accounts/due-sets.ts'
import { withTags } from '../accounts/match-account.ts'
import { DigestStore } from '../alerts/digest/digest-store.ts'
import { closeAlerts } from '../alerts/kinds/close-alerts.ts'
import { deliveryAnnouncer } from '../alerts/kinds/delivery-alert.ts'
import { fleetAnnouncer } from '../alerts/kinds/fleet-alert.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat-store.ts'
import { TendingRounds } from '../limits/history/tending-rounds.ts'
import { PollStore } from '../limits/poll-store.ts'
import { CallShare } from '../limits/polling/call-share.ts'
import { ClockWatch } from '../runtime/clock-watch.ts'
import { InFlight } from '../runtime/in-flight.ts'
import type { TokenEndpoint } from '../tokens/endpoint/token-endpoint.ts'
import { TokenStore } from '../tokens/token-store.ts'
import { announcer, pageOf, pollsAnnouncer, scopesAnnouncer } from './announcers.ts'
import { callBudget } from './call-budget.ts'
import { digestSettings } from './digest-settings.ts'
import { groupSettings } from './group-settings.ts'
import { openHeartbeat } from './heartbeat.ts'
import { historyKeep } from './history-keep.ts'
import { CONNECTIONS, type Parts } from './parts.ts'

/** Of the connections to the provider, those that polls may not take. */
const KEPT_FOR_TOKENS = 16

/** What the workers' jobs need, each setting by the name under which its job knows it. */
export function workerDeps(parts: Parts, receivers: ReadonlyMap<string, Receiver>, endpoint: TokenEndpoint) {
  const { config, store, keys, clock, random, log } = parts
  const deliveriesPage = `${config.http.publicUrl}/deliveries`
  const { requests, per } = config.provider.accountRate
  return {
    ...parts,
    endpoint,
    tokens: new TokenStore(store, keys),
    polls: new PollStore(store, keys),
    historyKeep: historyKeep(config),
    rounds: new TendingRounds(store, keys),
    stillPolling: (hubId: number) => parts.due.plan('poll', [hubId], clock.now() + CLAIM_MS.poll),
    share: new CallShare(store, keys, { requests, perMs: per }, clock),
    inFlight: new InFlight(CONNECTIONS, KEPT_FOR_TOKENS),
    announce: announcer(config),
    announceScopes: scopesAnnouncer(config),
    announcePoll: pollsAnnouncer(config),
    alertAfter: config.limits.alertAfter,
    announceFleet: fleetAnnouncer({ repeatEveryMs: config.alerts.repeatEvery, page: `${config.http.publicUrl}/` }),
    settings: config.tokens,
    unstored: new Set<number>(),
    clockWatch: new ClockWatch(clock, () => performance.now()),
    callBudget: callBudget(parts),
    polling: { ...config.limits, accounts: withTags(config.limits.accounts, config.tags) },
    uninstallKeepMs: config.uninstall.keep,
    uninstallAfterRefusedMs: config.uninstall.afterRefused,
    alerts: {
      rules: withTags(config.thresholds, config.tags),
      recoverBelow: config.alerts.recoverBelow,
      for: config.alerts.for,
      repeatEveryMs: config.alerts.repeatEvery,
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
    heartbeat: openHeartbeat(parts),
    closeAlerts: closeAlerts.bind(undefined, pageOf(config)),
    progress: async (kind: SweepKind, at: number) => {
      await store.hset(keys.progress, kind, at)
    },
    receivers,
    turns: new Turns(),
    drill: { everyMs: config.alerts.drill.every, unprovenAfterMs: unprovenAfter(config.alerts) },
    announceDelivery: deliveryAnnouncer({ repeatEveryMs: config.alerts.repeatEvery, page: deliveriesPage }),
    deliveriesPage,
    clock,
    random,
    log,
  }
}
