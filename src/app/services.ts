import { configFingerprint } from '../../config/schema/reload.ts'
import type { Config } from '../../config/schema/schema.ts'
import { putAside } from '../../jobs/put-aside.ts'
import { addresseeFor } from '../accounts/contact.ts'
import { DueSets } from '../accounts/due-sets.ts'
import { withTags } from '../accounts/match-account.ts'
import { Registry } from '../accounts/registry.ts'
import { SilenceStore } from '../alerts/silence-store.ts'
import { AuditLog } from '../audit/audit-log.ts'
import { readFleetFacts } from '../checks/facts.ts'
import { outsideReport } from '../checks/outside.ts'
import { Deliveries } from '../delivery/deliveries.ts'
import { ReceiverStore } from '../delivery/receiver-health.ts'
import { DaemonStore } from '../heartbeat/daemons.ts'
import { FailedCalls } from '../heartbeat/failed-calls.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import { createPinger } from '../heartbeat/ping.ts'
import { CoverageStore } from '../limits/coverage.ts'
import { History } from '../limits/history/history.ts'
import { PollStore } from '../limits/poll-store.ts'
import type { PollSettings } from '../limits/polling/poll-settings.ts'
import { SampleStore } from '../limits/samples.ts'
import type { Store } from '../redis/connect.ts'
import { announcers } from './announcers.ts'
import { createReceivers, mailLinks, receiversThatTake } from './receivers.ts'
import type { Resources } from './resources.ts'
import {
  alertSettings,
  checkBounds,
  coverageSettings,
  digestSchedules,
  historyKeep,
  noAddressee,
  pageOf,
  reconnectReceiver,
  routingSettings,
  sampleSettings,
} from './settings.ts'

/**
 * All that works, by one config, each setting by the name under which its job knows it. Another config makes others, and
 * these are closed once nothing works by them any more.
 */
export type Services = ReturnType<typeof buildServices>

/** Throws, with nothing begun, if a part of the config can't be used. */
export function buildServices(resources: Resources, config: Config) {
  const stores = storesBy(resources, config)
  const { store, keys, clock, vault, log, proxyFor, movement } = resources
  const { registry, silences } = stores
  const { requests, per } = config.provider.accountRate
  const receivers = createReceivers(config, {
    links: mailLinks(config, vault, clock),
    addresseeOf: async (hubId, asksFor) => noAddressee(config) ?? addresseeFor(await registry.get(hubId), asksFor),
    proxyFor,
  })
  const heartbeat = openHeartbeat(resources, config, stores)
  const reconnect = reconnectReceiver(config)
  const announce = announcers(config)
  const polls = new PollStore(store, keys)
  const daemons = new DaemonStore(store, keys)
  const configs = () => daemons.configs(configFingerprint(config, vault.derive('config')), clock.now())
  const ofAlerts = receiversThatTake(config, 'alerts')
  const polling: PollSettings = { ...config.limits, accounts: withTags(config.limits.accounts, config.tags) }
  return {
    ...resources,
    ...stores,
    ...announce,
    config,
    putAside: (hubId: number) => putAside({ ...resources, ...stores, ...announce }, hubId),
    polls,
    polling,
    pauseCalls: (hubId: number, until: number) => polls.pauseCalls(hubId, clock.now(), until),
    stillPolling: (hubId: number) => movement.goesOn('poll', hubId),
    settings: config.tokens,
    dataDir: config.dataDir,
    share: { requests, perMs: per },
    // A call is made again with the next secret where one is refused.
    callMs: config.provider.timeout * config.provider.clientSecret.length,
    historyKeep: historyKeep(config),
    alertAfter: config.limits.alertAfter,
    uninstallKeepMs: config.uninstall.keep,
    uninstallAfterRefusedMs: config.uninstall.afterRefused,
    alerts: { ...alertSettings(config), pageOf: pageOf(config), page: `${config.http.publicUrl}/` },
    sending: { store, keys, ...routingSettings(config), receivers: ofAlerts, silences, configs, log },
    eventReceivers: {
      accounts: receiversThatTake(config, 'accounts'),
      acknowledgements: receiversThatTake(config, 'acknowledgements'),
    },
    digests: digestSchedules(config),
    heartbeats: new HeartbeatStore(store, keys),
    heartbeat,
    receivers,
    installerMails: config.tokens.mailInstaller && 'receiver' in reconnect ? reconnect.receiver : undefined,
    close: async () => {
      await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
      await heartbeat?.pinger.close()
    },
  }
}

/** The same services, except that those which keep data in Redis do so on a connection that gives up soon. */
export function failFast(services: Services, store: Store): Services {
  return { ...services, store, ...storesBy({ ...services, store }, services.config) }
}

/** All that is kept in Redis, by one config. */
export function storesBy(resources: Pick<Resources, 'store' | 'keys' | 'clock' | 'log'>, config: Config) {
  const { store, keys } = resources
  return {
    audit: new AuditLog(resources),
    registry: new Registry(store, keys),
    due: new DueSets(store, keys),
    deliveries: new Deliveries(store, keys),
    receiverStore: new ReceiverStore(store, keys),
    history: new History(store, keys),
    silences: new SilenceStore(store, keys, config.tags),
    coverage: new CoverageStore(store, keys, coverageSettings(config)),
    failedCalls: new FailedCalls(store, keys, config.provider.failedCalls),
    samples: new SampleStore(store, keys, sampleSettings(config)),
    bounds: checkBounds(config),
  }
}

/** Undefined where no heartbeat is configured. */
function openHeartbeat(resources: Resources, { heartbeat }: Config, stores: ReturnType<typeof storesBy>) {
  if (heartbeat === undefined) return undefined
  const { proxyFor } = resources
  return {
    everyMs: heartbeat.every,
    pinger: createPinger(heartbeat.url, { proxyFor }),
    check: async () => outsideReport(await readFleetFacts({ ...resources, ...stores, isDaemon: true })),
  }
}
