import type { Config } from '../../config/schema/schema.ts'
import { repairAccount } from '../../jobs/repair-account.ts'
import { addresseeFor } from '../accounts/contact.ts'
import { withTags } from '../accounts/match-account.ts'
import { readFleetFacts } from '../checks/facts.ts'
import { outsideReport } from '../checks/outside.ts'
import { EventStore } from '../delivery/event-store.ts'
import type { AddresseeOf, Receiver } from '../delivery/receiver.ts'
import { HeartbeatStore } from '../heartbeat/heartbeat.ts'
import { createPinger } from '../heartbeat/ping.ts'
import { TendingRounds } from '../limits/history/tending-rounds.ts'
import { PollStore } from '../limits/poll-store.ts'
import type { PollSettings } from '../limits/polling/poll-settings.ts'
import type { Purpose } from '../redis/connect.ts'
import type { Lifecycle } from '../runtime/lifecycle.ts'
import { TokenStore } from '../tokens/token-store.ts'
import { announcers } from './announcers.ts'
import { createReceivers, mailLinks, receiversThatTake } from './receivers.ts'
import { openResources, type Resources } from './resources.ts'
import { alertSettings, digestSchedules, historyKeep, installerMails, pageOf, routingSettings } from './settings.ts'
import { type AppInput, buildStores, type Stores } from './stores.ts'

/**
 * All that works, by one config, each setting by the name under which its job knows it. Another config makes others, and
 * these are closed once nothing works by them any more.
 */
export type Services = ReturnType<typeof buildServices>

/**
 * Throws, with nothing begun, if a part of the config can't be used. What `sends` messages and heartbeats loads libraries for
 * that, at once.
 */
export function buildServices(resources: Resources, config: Config, { sends } = { sends: true }) {
  const stores = buildStores(resources, config)
  const { store, keys, clock, vault, log, silences, proxyFor } = stores
  const { requests, per } = config.provider.accountRate
  const addresseeOf: AddresseeOf = async (hubId, type) =>
    addresseeFor(await stores.registry.get(hubId), type === 'account.reconnect')
  const receivers = sends
    ? createReceivers(config, { links: mailLinks(config, vault, clock), addresseeOf, proxyFor })
    : new Map<string, Receiver>()
  const heartbeat = sends ? openHeartbeat(resources, stores) : undefined
  const announce = announcers(config)
  return {
    ...resources,
    ...stores,
    ...announce,
    repair: (hubId: number) => repairAccount({ ...resources, ...stores, ...announce }, hubId),
    ...polling(resources, stores),
    tokens: new TokenStore(store, keys),
    settings: config.tokens,
    dataDir: config.dataDir,
    share: { requests, perMs: per },
    historyKeep: historyKeep(config),
    rounds: new TendingRounds(store, keys),
    alertAfter: config.limits.alertAfter,
    uninstallKeepMs: config.uninstall.keep,
    uninstallAfterRefusedMs: config.uninstall.afterRefused,
    alerts: { ...alertSettings(config), pageOf: pageOf(config), page: `${config.http.publicUrl}/` },
    sending: { store, keys, ...routingSettings(config), receivers: receiversThatTake(config, 'alerts'), silences, log },
    events: new EventStore(store, keys),
    eventReceivers: {
      accounts: receiversThatTake(config, 'accounts'),
      acknowledgements: receiversThatTake(config, 'acknowledgements'),
    },
    digests: digestSchedules(config),
    heartbeats: new HeartbeatStore(store, keys),
    heartbeat,
    receivers,
    installerMails: installerMails(config),
    close: async () => {
      await Promise.all([...receivers.values()].map((receiver) => receiver.close()))
      await heartbeat?.pinger.close()
    },
  }
}

/** For a command: the same resources and services, but it sends nothing, and has no workers, clock and HTTP. */
export async function openServices(input: AppInput, lifecycle: Lifecycle, purpose: Purpose): Promise<Services> {
  const services = buildServices(await openResources(input, lifecycle, purpose), input.config, { sends: false })
  lifecycle.onClose('the door to the token endpoint', async () => services.endpoint.close())
  return services
}

/** How accounts are polled. */
function polling({ movement }: Resources, { config, store, keys, clock }: Stores) {
  const polls = new PollStore(store, keys)
  const settings: PollSettings = { ...config.limits, accounts: withTags(config.limits.accounts, config.tags) }
  return {
    polls,
    polling: settings,
    pauseCalls: (hubId: number, until: number) => polls.pauseCalls(hubId, clock.now(), until),
    stillPolling: (hubId: number) => movement.goesOn('poll', hubId),
  }
}

/** Undefined where no heartbeat is configured. */
function openHeartbeat({ clockWatch, proxyFor }: Resources, stores: Stores) {
  const { heartbeat } = stores.config
  if (heartbeat === undefined) return undefined
  return {
    everyMs: heartbeat.every,
    pinger: createPinger(heartbeat.url, { proxyFor }),
    check: async () => outsideReport(await readFleetFacts({ ...stores, daemon: clockWatch })),
  }
}
