import type { Config } from '../../config/schema/schema.ts'
import { lineOf } from '../../config/schema/thresholds.ts'
import { reconnectLink } from '../accounts/install.ts'
import { AckLinks } from '../alerts/acknowledge.ts'
import { type Alert, alertOf } from '../alerts/alert.ts'
import { type MailLinks, recordPages, sitePages } from '../delivery/describe/mail-links.ts'
import type { Receiver } from '../delivery/receiver.ts'
import { openReceiver, receiverKind } from '../delivery/receivers/all-receivers.ts'
import type { BodyContext, MessageKind, ShownReceiver } from '../delivery/receivers/receiver-kind.ts'
import { alertPath, matchersFor, newSilencePath } from '../http/pages/parts/alert-links.ts'
import { NO_ACCOUNT } from '../redis/steps.ts'
import type { Clock } from '../runtime/clock.ts'
import { defined } from '../runtime/defined.ts'
import type { Vault } from '../tokens/vault.ts'

/** The caller closes them. */
export function createReceivers(config: Config, shown: Shown): Map<string, Receiver> {
  return new Map(
    Object.entries(config.receivers).map(([name, settings]) => [name, createReceiver(config, name, settings, shown)]),
  )
}

/** Links of messages, the addressees of those to customers, and the proxies on the way. */
type Shown = Pick<BodyContext, 'links' | 'addresseeOf' | 'proxyFor'>

/** Names of the receivers that are sent such messages. */
export function receiversThatTake({ receivers }: Pick<Config, 'receivers'>, what: MessageKind): string[] {
  return Object.entries(receivers).flatMap(([name, settings]) =>
    (receiverKind(settings).takes?.(settings) ?? ['alerts']).includes(what) ? [name] : [],
  )
}

/** One receiver; the caller closes it. */
export function createReceiver(
  config: Config,
  name: string,
  settings: Config['receivers'][string],
  shown: Shown = {},
): ShownReceiver {
  const { http, alerts } = config
  const context = { receiver: name, home: `${http.publicUrl}/`, groupBy: alerts.group.by, ...shown }
  return openReceiver(settings, context)
}

export function ackLinks(vault: Vault, { alerts }: Pick<Config, 'alerts'>): AckLinks {
  return new AckLinks(
    () => vault.deriveEach('acknowledge'),
    () => alerts.acknowledgeFor,
  )
}

/** Addresses in messages and pages: a link with a permission is signed, and lasts from now on. */
export function mailLinks(
  config: Pick<Config, 'http' | 'provider' | 'thresholds' | 'alerts'>,
  vault: Vault,
  clock: Pick<Clock, 'now'>,
): MailLinks {
  const { http, provider, thresholds } = config
  const { publicUrl } = http
  const acknowledge = ackLinks(vault, config)
  const linkedTo = (alert: Alert) => ({ ...alert, id: alertOf(alert), hubId: alert.account?.hubId ?? null })
  return {
    open: (alert) => publicUrl + alertPath(linkedTo(alert)),
    silence: (alert) => publicUrl + newSilencePath(matchersFor(linkedTo(alert))),
    acknowledge: (alert) => {
      const linked = { hubId: alert.account?.hubId ?? NO_ACCOUNT, alertId: alertOf(alert) }
      return publicUrl + acknowledge.pathTo(linked, clock.now())
    },
    reconnect: ({ account }) =>
      account === undefined ? undefined : reconnectLink(vault, publicUrl, account.hubId, clock.now()).url,
    record: recordPages(provider.installUrl),
    site: sitePages(provider.installUrl),
    rule: (name) => placeOf(name, thresholds),
    changes: `${publicUrl}/changes`,
    ...defined({ appName: http.brand.name }),
  }
}

/** Several rules may have the same name: it could be any of them. */
function placeOf(name: string, rules: Config['thresholds']): string | undefined {
  const lines = rules.filter((rule) => rule.name === name).map(lineOf)
  return lines.length === 1 && lines[0] !== undefined ? `thresholds line ${lines[0]}` : undefined
}
