import { type Alert, alertOf, subjectKey } from '../alert.ts'
import type { AlertsDeps, GroupBy } from '../deps.ts'
import type { OutboxEntry } from '../outbox.ts'
import { heldField, homesOf, isDigest } from './group.ts'

/** How soon a group closes once an alert has joined it. */
export type GroupPace = 'digest' | 'urgent' | 'normal'

/** What the group sent lately. */
export interface SentLately {
  /** The same series was sent at this level within the group's interval. */
  sameLevel: boolean
  /** How many alerts of the group's last message had made it hurry. */
  hurried: number
}

/** So many at once are one event: what follows them is sent together, when the interval is over. */
const BURST = 20

/** Whether a message had so many urgent alerts that what follows it need not hurry. */
export function isBurst(hurried: number): boolean {
  return hurried >= BURST
}

/** What just got worse is not held back by a message that the same group sent a minute ago. */
export function hurries({ status, reason, level }: Alert): boolean {
  return status === 'firing' && (reason === 'escalated' || (reason === 'entered' && level === 'critical'))
}

/**
 * An alert that got worse is urgent, unless the same was sent just now: then it is flapping. An alert that begins right after a
 * message with many urgent ones belongs to the same event and waits; an escalation is never delayed for that.
 */
export function paceOf(alert: Alert, isDigest: boolean, { sameLevel, hurried }: SentLately): GroupPace {
  if (isDigest) return 'digest'
  const isSameEvent = alert.reason === 'entered' && isBurst(hurried)
  return hurries(alert) && !sameLevel && !isSameEvent ? 'urgent' : 'normal'
}

/** How soon each group closes once an alert has joined it, by what it sent lately. */
export async function readPaces(
  { store, keys, group }: Pick<AlertsDeps, 'store' | 'keys' | 'group'>,
  wanted: readonly { key: string; alert: Alert }[],
  now: number,
): Promise<(key: string, alert: Alert) => GroupPace> {
  const found = new Map<string, SentLately>()
  const worse = wanted.filter(({ alert }) => hurries(alert))
  await Promise.all(
    [...Map.groupBy(worse, ({ key }) => key)].map(async ([key, some]) => {
      const as = some.map(({ alert }) => sentKey(alert))
      const [times, hurried] = await Promise.all([
        store.zmscore(keys.delivery.groupTold(key), ...as),
        store.hget(keys.delivery.groupState(key), 'hurried'),
      ])
      for (const [n, what] of as.entries()) {
        const at = times[n]
        // One that is ahead is by a clock that was ahead.
        const sameLevel = at != null && Number(at) <= now && now - Number(at) < group.intervalMs
        found.set(`${key}|${what}`, { sameLevel, hurried: Number(hurried ?? 0) })
      }
    }),
  )
  const nothing: SentLately = { sameLevel: false, hurried: 0 }
  return (key, alert) => paceOf(alert, isDigest(key), found.get(`${key}|${sentKey(alert)}`) ?? nothing)
}

/**
 * What a receiver was sent of an alert: sent as firing at `at` (ms), the newest of it by its order (0 = not known) in that group
 * ('' = not known); or its end was sent, or dropped with all that it did.
 */
export type Heard = { is: 'nothing' } | { is: 'told'; at: number; order: number; group: string } | { is: 'over' }

/** Whether the alert is resolved one day: a changed limit and a test are events without an end. */
export function hasEnd({ kind }: Pick<Alert, 'kind'>): boolean {
  return kind !== 'limit-changed' && kind !== 'test'
}

/** Read at a time. */
const CHUNK = 1_000

/** What the receiver was sent of each of the alerts. */
export async function readHeard(
  { store, keys }: Pick<AlertsDeps, 'store' | 'keys'>,
  receiver: string,
  alerts: readonly Alert[],
): Promise<(alert: Alert) => Heard> {
  const fields = [...new Set(alerts.filter(hasEnd).map((alert) => heldField(receiver, alertOf(alert))))]
  const heard = new Map<string, Heard>()
  for (let from = 0; from < fields.length; from += CHUNK) {
    const some = fields.slice(from, from + CHUNK)
    const [told, over, last] = await Promise.all([
      store.zmscore(keys.delivery.told, ...some),
      store.zmscore(keys.delivery.over, ...some),
      store.hmget(keys.delivery.lastSent, ...some),
    ])
    for (const [n, field] of some.entries()) {
      if (over[n] != null) heard.set(field, { is: 'over' })
      else if (told[n] != null) {
        const [, order = 0, group = ''] = /^(\d+) \S+ ?(.*)$/.exec(last[n] ?? '') ?? []
        heard.set(field, { is: 'told', at: Number(told[n]), order: Number(order), group })
      }
    }
  }
  return (alert) => heard.get(heldField(receiver, alertOf(alert))) ?? { is: 'nothing' }
}

/** The group where a transition waits, and what it counts as among the alerts of one rule that become one message (a mass). */
export interface Way {
  homes: [own: string, mass: string]
  counts: 'firing' | 'resolved' | ''
}

/**
 * What begins or gets worse at many accounts makes a mass, and so does what ends. What was sent with a mass goes on and ends with
 * it; what was sent by itself goes on by itself. A digest is no mass, but what it showed may be one later.
 */
export function wayOf(receiver: string, entry: OutboxEntry, by: readonly GroupBy[], heard: Heard): Way {
  const { alert } = entry
  const [own, mass] = homesOf(receiver, entry, by)
  if (alert.status === 'firing' && !['repeat', 'worse', 'eased'].includes(alert.reason)) {
    return { homes: [own, mass], counts: 'firing' }
  }
  if (heard.is === 'told' && mass !== '' && heard.group === mass) return { homes: [mass, ''], counts: '' }
  if (alert.status === 'resolved') return { homes: [own, mass], counts: 'resolved' }
  if (heard.is !== 'told') return { homes: [own, mass], counts: '' }
  return heard.group === own ? { homes: [own, ''], counts: '' } : { homes: [own, mass], counts: 'firing' }
}

/** How it is remembered that an alert was sent at its level. */
export function sentKey(alert: Alert): string {
  return `${subjectKey(alert)}/${alert.level}`
}
