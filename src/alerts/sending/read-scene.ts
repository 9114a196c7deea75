import { readNewFleet } from '../../limits/coverage.ts'
import { readContacts } from '../../redis/read-contacts.ts'
import { NO_ACCOUNT } from '../../redis/steps.ts'
import type { AlertLevel } from '../alert.ts'
import type { AlertsDeps } from '../deps.ts'
import { numberOf } from '../outbox.ts'
import { isForOperatorsOnly, receiversOf } from '../route.ts'
import type { AlertNews, SendingInput } from './decide-sending.ts'
import { readCircumstances } from './hold.ts'
import type { Due } from './read-due.ts'

/** All that one run decides by. */
export interface Scene extends Pick<SendingInput, 'circumstances' | 'connectedAt'> {
  /** Receivers of each alert by the routes. */
  routed: ReadonlyMap<string, ReadonlyMap<string, true | 'beginning'>>
}

export async function readScene(deps: AlertsDeps, due: Due, now: number): Promise<Scene> {
  const news = [...due.news.values()]
  const [circumstances, contacts, connectedAt] = await Promise.all([
    readCircumstances(deps, now),
    readContactsOf(deps, news),
    readConnectedAt(deps, news, now),
  ])
  const routed = new Map(news.map((one) => [one.alert, routedTo(deps, one, contacts)]))
  return { routed, circumstances, connectedAt }
}

/** Contacts of the accounts in question, where any receiver sends to contacts. */
async function readContactsOf(deps: AlertsDeps, news: readonly AlertNews[]): Promise<ReadonlyMap<number, string>> {
  if (deps.group.contacts === undefined || deps.group.contacts.length === 0) return new Map()
  return readContacts(deps, [...new Set(news.flatMap(({ entry }) => entry.alert.account?.hubId ?? []))])
}

/** Moment of the last connect of a fleet: its digest waits until that settles. */
async function readConnectedAt({ store, keys }: AlertsDeps, news: readonly AlertNews[], now: number): Promise<number> {
  if (!news.some(({ entry }) => entry.firstReading === true)) return 0
  const [connectedAt, fleet] = await Promise.all([store.hget(keys.fleet, 'connectedAt'), readNewFleet(store, keys)])
  return fleet === undefined ? Number(connectedAt) : now
}

/**
 * By the routes; an alert about a receiver goes to others, any others if need be. A receiver of one level learns that it began, also
 * where the alert was at the other by its first check.
 */
function routedTo(
  deps: AlertsDeps,
  news: AlertNews,
  contacts: ReadonlyMap<number, string>,
): ReadonlyMap<string, true | 'beginning'> {
  const { alert, notTo, firstReading, toBothLevels } = news.entry
  const isUnseen = alert.reason === 'escalated' && news.decided < numberOf(alert) - 1
  const levels = toBothLevels === true ? (['critical', 'warning'] as const) : [alert.level]
  // First readings of new accounts go into the operators' digest, not into a message to each customer.
  const hasContact =
    firstReading !== true && !isForOperatorsOnly(alert) && contacts.has(alert.account?.hubId ?? NO_ACCOUNT)
  const at = (level: AlertLevel) => receiversOf(deps.routes, { ...alert, level }, hasContact)
  const routed = new Map<string, true | 'beginning'>(isUnseen ? at('warning').map((name) => [name, 'beginning']) : [])
  for (const level of levels) for (const name of at(level)) routed.set(name, true)
  if (notTo === undefined) return routed
  routed.delete(notTo)
  if (routed.size > 0) return routed
  const others = deps.receivers.filter((receiver) => receiver !== notTo && !deps.group.contacts?.includes(receiver))
  return new Map(others.map((name) => [name, true]))
}
