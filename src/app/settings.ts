import type { Config } from '../../config/schema/schema.ts'
import { lineOf } from '../../config/schema/thresholds.ts'
import { withTags } from '../accounts/match-account.ts'
import type { GroupSettings } from '../alerts/deps.ts'
import type { DigestSchedule } from '../alerts/digest.ts'
import type { CheckBounds } from '../checks/facts.ts'
import { receiverKind } from '../delivery/receivers/all-receivers.ts'
import { type CoverageSettings, staleAfter } from '../limits/coverage.ts'
import type { Retention } from '../limits/history/resolutions.ts'
import type { SampleSettings } from '../limits/samples.ts'
import type { ProviderOptions } from '../provider/client.ts'

/** Settings of each part, by the config. Nothing else reads the config and decides. */

/** Address of an account's page. */
export function pageOf({ http }: Pick<Config, 'http'>): (hubId: number) => string {
  return (hubId) => `${http.publicUrl}/accounts/${hubId}`
}

export function coverageSettings({ limits }: Config): CoverageSettings {
  return { objective: limits.coverage, freshnessMs: staleAfter({ freshnessMs: limits.freshness }, limits.every) }
}

/** Bounds of the checks: out of bounds for the heartbeat is a trouble everywhere, also where none is sent. */
export function checkBounds(config: Config): CheckBounds {
  return {
    freshnessMs: coverageSettings(config).freshnessMs,
    receivers: new Set(Object.keys(config.receivers)),
    api: config.provider.api,
  }
}

/** How long readings are kept, for thinning them out and for reading the past. */
export function historyKeep({ limits: { history } }: Pick<Config, 'limits'>): Retention {
  return { rawMs: history.raw, hourlyMs: history.hourly, dailyMs: history.daily }
}

export function sampleSettings({ limits }: Config): SampleSettings {
  return { records: limits.records, keepMs: limits.history.samples }
}

export function providerOptions({ provider }: Config): Omit<ProviderOptions, 'clock' | 'observe' | 'proxyFor'> {
  const {
    api: dialect,
    baseUrl,
    clientId,
    clientSecret: clientSecrets,
    redirectUri,
    timeout: timeoutMs,
    connections,
  } = provider
  return { dialect, baseUrl, clientId, clientSecrets, redirectUri, timeoutMs, connections }
}

/** Which levels a series has, and when a message goes out. */
export function alertSettings({ thresholds, alerts, tags }: Config) {
  return {
    rules: withTags(thresholds, tags),
    recoverBelow: alerts.recoverBelow,
    for: alerts.for,
    repeatEveryMs: alerts.repeatEvery,
    worseAfterMs: alerts.worse === 'on' ? alerts.group.interval : undefined,
    firstRun: alerts.firstRun,
  }
}

/** Groups of alerts, and their receivers. */
export function routingSettings({ alerts, routes, receivers, tags, http }: Config) {
  const { by, wait: waitMs, interval: intervalMs, max } = alerts.group
  const contacts = Object.keys(receivers).filter((name) => sendsToContacts(receivers[name]))
  const perAlert = Object.keys(receivers).filter((name) => isPerAlert(receivers[name]))
  const group: GroupSettings = { by, waitMs, intervalMs, max, contacts, perAlert }
  const isContact = (name: string) => contacts.includes(name)
  const isUsed = (name: string) => !isContact(name) || noAddressee({ http }) === undefined
  const marked = routes.map((route) => ({
    ...route,
    to: route.to.filter(isUsed),
    contacts: route.to.filter(isContact),
  }))
  return { routes: withTags(marked, tags), group }
}

/** In place of every customer's address where the app has no name; undefined: customers get mail. */
export function noAddressee({ http }: Pick<Config, 'http'>) {
  if (http.brand.name !== undefined) return undefined
  return { is: 'none', why: 'http.brand.name is not set: customers must know who writes to them' } as const
}

/** The receiver that asks customers to connect again, by itself or for an operator; else why there is none. */
export function reconnectReceiver({ http, receivers }: Config): { receiver: string } | { why: string } {
  const mails = Object.keys(receivers).filter((name) => receivers[name]?.type === 'email')
  const receiver = mails.find((name) => sendsToContacts(receivers[name])) ?? mails[0]
  if (receiver === undefined) return { why: 'the config has no receiver of type email' }
  return noAddressee({ http }) ?? { receiver }
}

/** True where a receiver sends to the contact of each account. */
function sendsToContacts(settings: Config['receivers'][string] | undefined): boolean {
  return settings?.type === 'email' && settings.to === 'account'
}

function isPerAlert(settings: Config['receivers'][string] | undefined): boolean {
  return settings !== undefined && receiverKind(settings).perAlert === true
}

/** The part of a config that decides alerts, receivers and messages: a rule set, as views take one. */
export function ruleSetOf(config: Config) {
  const { thresholds } = config
  const settings = alertSettings(config)
  const rules = settings.rules.map((rule, n) => ({ ...rule, line: thresholds[n] && lineOf(thresholds[n]) }))
  return { ...settings, rules, ...routingSettings(config) }
}

/** Schedules of digests, by receiver. */
export function digestSchedules({ receivers }: Config): Map<string, DigestSchedule> {
  const digests = Object.entries(receivers).flatMap(([name, settings]) =>
    'digest' in settings && settings.digest !== undefined ? [[name, settings.digest] as const] : [],
  )
  return new Map(digests)
}
