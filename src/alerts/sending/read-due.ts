import { randomInt } from 'node:crypto'
import { readNewFleet } from '../../limits/coverage.ts'
import { readContacts } from '../../redis/read-contacts.ts'
import { NO_ACCOUNT } from '../../redis/steps.ts'
import { chunksOf } from '../../runtime/chunks-of.ts'
import type { AlertLevel } from '../alert.ts'
import type { AlertsDeps } from '../deps.ts'
import { numberOf, readableEntry } from '../outbox.ts'
import { isForOperatorsOnly, receiversOf } from '../route.ts'
import type { AlertNews, SendingInput } from './decide-sending.ts'
import { readCircumstances } from './hold.ts'

type Sources = Pick<AlertsDeps, 'store' | 'keys'>

/** Read at a time. */
const MOST = 10_000
/** Fields of one command. */
const FIELDS = 1_000

/** All that one run checks, and decides by. */
export interface Due extends Pick<SendingInput, 'circumstances' | 'connectedAt'> {
  news: ReadonlyMap<string, AlertNews>
  /** Alerts with a transition for which nothing is decided yet. */
  unsent: readonly string[]
  /** Unsent ones that Plimsoll did not write, with the first word of what is stored. */
  unreadable: readonly { alert: string; place: string }[]
  /**
   * Alerts that each receiver waits for, with the moment of their check: held ones that are due, and all that wait in a
   * group, because what is new may go with them.
   */
  checks: ReadonlyMap<string, ReadonlyMap<string, number>>
  /** Receivers of each alert by the routes. */
  routed: ReadonlyMap<string, ReadonlyMap<string, true | 'beginning'>>
  /** How often what holds alerts back had changed. */
  holdChanges: string
}

/** Since when there is a transition for which nothing is decided yet, and the first check of these receivers, ms; null: there is none. */
export async function readFirstDue({ store, keys }: Sources, receivers: readonly string[]) {
  const { held, grouped } = keys.delivery
  const first = async (key: string) => {
    const [, at] = await store.zrange(key, 0, '0', 'WITHSCORES')
    return at === undefined ? [] : [Number(at)]
  }
  const [unsent, ...checks] = await Promise.all([
    first(keys.unsent),
    ...receivers.flatMap((name) => [first(held(name)), first(grouped(name))]),
  ])
  const moments = checks.flat()
  return { unsentSince: unsent[0] ?? null, checkAt: moments.length === 0 ? null : Math.min(...moments) }
}

export async function readDue(deps: AlertsDeps, receivers: readonly string[], now: number): Promise<Due> {
  const { store, keys } = deps
  // Before all that it is compared with.
  const holdChanges = (await store.get(keys.holdChanges)) ?? ''
  // A part by chance where there are more: what stays unsent, as while a receiver can't be written, keeps back nothing else.
  const parts = Math.max(1, Math.ceil((await store.zcard(keys.unsent)) / MOST))
  const from = randomInt(parts) * MOST
  const unsent = await store.zrange(keys.unsent, from, String(from + MOST - 1))
  const readOf = async (name: string) => [name, await readChecks(deps, name, unsent.length > 0, now)] as const
  const checks = new Map(await Promise.all(receivers.map(readOf)))
  const waiting = new Set([...checks.values()].flatMap((some) => [...some.keys()]))
  const alerts = [...new Set([...unsent, ...waiting])]
  const stored = await readFields(deps, keys.news, alerts)
  const read = alerts.flatMap((alert, n) => decodeNews(alert, stored[n] ?? '') ?? [])
  const news = new Map(read.map((one) => [one.alert, one]))
  const readable = unsent.filter((alert) => news.has(alert))
  const unreadable = unsent.flatMap((alert, n) =>
    news.has(alert) ? [] : { alert, place: stored[n]?.split(' ', 1)[0] ?? '' },
  )
  const [circumstances, contacts, connectedAt] = await Promise.all([
    readCircumstances(deps, now),
    readContactsOf(deps, read),
    readConnectedAt(deps, read, now),
  ])
  const routed = new Map(read.map((one) => [one.alert, routedTo(deps, one, contacts)]))
  return { news, unsent: readable, unreadable, checks, routed, holdChanges, circumstances, connectedAt }
}

async function readChecks({ store, keys }: Sources, receiver: string, hasNews: boolean, now: number) {
  const { held, grouped } = keys.delivery
  const [dueHeld, firstGrouped] = await Promise.all([
    store.zrangebyscore(held(receiver), '-inf', now, 'WITHSCORES', 'LIMIT', 0, MOST),
    store.zrange(grouped(receiver), 0, '0', 'WITHSCORES'),
  ])
  const isDue = hasNews || dueHeld.length > 0 || Number(firstGrouped[1] ?? Number.POSITIVE_INFINITY) <= now
  const found = isDue ? [...dueHeld, ...(await store.zrange(grouped(receiver), 0, '-1', 'WITHSCORES'))] : []
  return new Map(chunksOf(found, 2).map(([alert = '', at]) => [alert, Number(at)]))
}

/** Fields of a hash, however many. */
export async function readFields({ store }: Sources, key: string, fields: readonly string[]) {
  const found: (string | null)[] = []
  for (const some of chunksOf(fields, FIELDS)) found.push(...(await store.hmget(key, ...some)))
  return found
}

/** News as `lua/include/append-transitions.lua` writes it. */
export function decodeNews(alert: string, stored: string): AlertNews | undefined {
  const [, place, decided, first, text = ''] = /^(\d+-\d+) (\d+) \S+ ([01]) (.*)$/s.exec(stored) ?? []
  const entry = readableEntry(text)
  if (place === undefined || entry === undefined) return undefined
  return { alert, place, decided: Number(decided), beganWithFirstReading: first === '1', entry }
}

/** All that waits is due now: what holds it back may be gone, as when a silence ends early or the config changed. */
export async function recheckWaiting({ store, keys }: Sources): Promise<void> {
  await store.recheckWaiting(keys.unsent)
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
