import { type Alert, subjectKey } from '../alert.ts'
import type { GroupBy, GroupSettings } from '../deps.ts'
import { numberOf, type OutboxEntry } from '../outbox.ts'
import { type Circumstances, endedBefore, type HoldReason, holdReason } from './hold.ts'
import type { SendState, SentLast } from './send-state.ts'

/** The newest transition of an alert that some receiver may not have been sent. */
export interface AlertNews {
  /** The alert's own id. */
  alert: string
  /** In the log. */
  place: string
  /** The number of the transition up to which it was decided what each receiver is sent. */
  decided: number
  beganWithFirstReading: boolean
  entry: OutboxEntry
}

/** An alert, and what its receiver was sent of it. */
export interface Item {
  news: AlertNews
  /** By the routes; `beginning`: only because of a level that it had left before it was first checked. */
  isFor: boolean | 'beginning'
  sendState: SendState
}

/** One receiver at one moment, with all that it may not know. */
export interface SendingInput {
  receiver: string
  items: readonly Item[]
  /** Names of what it was sent within the interval, and when (ms): see `RECENT`. */
  recent: ReadonlyMap<string, number>
  circumstances: Circumstances
  group: GroupSettings
  /** Moment at which an account was connected last, ms; `now` while accounts of a new fleet are still to be read. */
  connectedAt: number
  now: number
}

export type SendVerdict =
  /** The receiver was sent it already, or the alert is not for it. */
  | { is: 'knows' }
  /** The receiver is never sent this. */
  | { is: 'skips'; why: string; lastSent: SentLast }
  | { is: 'held'; held: HoldReason }
  | { is: 'waits'; group: string; since: number; until: number }
  | { is: 'sent'; group: string }

/** Names of what a receiver was sent within the interval. */
export const RECENT = {
  /** The group had a message. */
  group: (name: string) => `group ${name}`,
  /** The group had so many urgent alerts that later ones need not hurry. */
  burst: (name: string) => `burst ${name}`,
  /** So many accounts' alerts began that they were one message, or ended. */
  mass: (name: string) => `mass ${name}`,
  ended: (name: string) => `ended ${name}`,
  /** The same series was sent at that level. */
  level: (alert: Alert) => `level ${subjectKey(alert)}/${alert.level}`,
}

/** The group of what new accounts' first readings show. */
export const DIGEST = 'digest'

/** So many accounts in one trouble are one event: one message. */
export const MASS = 5
/** So much of one group is sent at once; the rest comes with its next message. */
const MOST_AT_ONCE = 20_000

/** The verdict on each alert for the receiver. */
export function decideSending(look: SendingInput): SendVerdict[] {
  const verdicts = look.items.map((item) => judge(item, look))
  const ready = look.items.flatMap((item, n) => {
    if (verdicts[n] !== undefined) return []
    const { waits } = item.sendState
    const since = waits?.is === 'group' ? Math.min(waits.since, look.now) : look.now
    return { item, n, since }
  })
  for (const [group, members] of intoGroups(ready, look)) {
    const closesAt = closingOf(group, members, look)
    const isClosing = closesAt <= look.now
    const nextAt = isClosing ? look.now + look.group.waitMs : closesAt
    for (const [place, { item, n, since }] of members.toSorted((a, b) => a.since - b.since).entries()) {
      if (isClosing && place < MOST_AT_ONCE) verdicts[n] = repeated(item, look) ?? { is: 'sent', group }
      else verdicts[n] = { is: 'waits', group, since, until: checkOf(item, group, nextAt, look.now) }
    }
  }
  return verdicts.map((verdict) => verdict ?? { is: 'knows' })
}

/**
 * Verdict on one alert by itself; undefined: it is sent with its group. A firing alert waits for the end of what holds
 * it back. An end goes to a receiver that was sent the beginning, and shows both where the alert was over before it was
 * first checked; never to a receiver that was spared the beginning.
 */
function judge(item: Item, look: SendingInput): SendVerdict | undefined {
  const { lastSent, waits } = item.sendState
  const { place, entry } = item.news
  const { alert } = entry
  if (lastSent?.place === place) return { is: 'knows' }
  const wasSent = lastSent !== undefined && lastSent.isOver !== true
  const over = (why: string): SendVerdict => ({
    is: 'skips',
    why,
    lastSent: { place, number: numberOf(alert), at: look.now, isOver: true, why },
  })
  if (alert.status === 'resolved') {
    // To a customer it would say that the trouble is over.
    if (wasSent && alert.reason === 'lost' && look.group.contacts?.includes(look.receiver) === true) return over(LOST)
    if (wasSent) return undefined
    if (lastSent !== undefined || (item.isFor === false && waits === undefined)) return { is: 'knows' }
    // A silence or quiet hours that began while it waited in its group come too late.
    const held = waits === undefined ? holdReason(alert, look.receiver, look.circumstances, look.now) : waits.held
    if (held !== undefined) return over(endedBefore(held))
    return waits === undefined && missedBeginning(item.news, look) ? over(NEVER_BEGAN) : undefined
  }
  const isFor = item.isFor === true || (item.isFor === 'beginning' && lastSent === undefined)
  if (!isFor && waits === undefined) return { is: 'knows' }
  const held = holdReason(alert, look.receiver, look.circumstances, look.now)
  return held === undefined ? undefined : { is: 'held', held }
}

const LOST = 'the state of the alert was lost'
const NEVER_BEGAN = 'this receiver was never sent its beginning'
const SENT_RECENTLY = 'sent a short while ago'

/** A repeat that comes due just after the alert was sent: that had been held back for long. */
function repeated({ news, sendState: { lastSent } }: Item, { now, group }: SendingInput): SendVerdict | undefined {
  const { alert } = news.entry
  const number = numberOf(alert)
  if (lastSent === undefined || lastSent.isOver === true || alert.reason !== 'repeat' || number !== lastSent.number + 1)
    return
  if (now - lastSent.at >= group.intervalMs) return
  return { is: 'skips', why: SENT_RECENTLY, lastSent: { ...lastSent, place: news.place, number, why: SENT_RECENTLY } }
}

/** All that went before was decided without this receiver, or was for the operators' digest. */
function missedBeginning(
  { decided, beganWithFirstReading, entry }: AlertNews,
  { receiver, group }: SendingInput,
): boolean {
  return decided >= numberOf(entry.alert) - 1 || (beganWithFirstReading && group.contacts?.includes(receiver) === true)
}

/** An alert that goes out with its group. */
interface Ready {
  item: Item
  /** Place among the items. */
  n: number
  /** Moment at which it joined its group. */
  since: number
}

/** The part of an alert in a mass; `goes on`: it belongs to one only if it did before. */
type Counts = 'begins' | 'ends' | 'follows' | 'goes on'

/**
 * Alerts that begin or get worse at many accounts at once make a mass, and so do ends; alerts that follow within the
 * interval join it. An alert that was sent with a mass goes on and ends with it; one that was sent by itself goes on by
 * itself.
 */
function intoGroups(ready: readonly Ready[], look: SendingInput): Map<string, Ready[]> {
  const by = groupingFor(look.group, look.receiver)
  const placed = ready.map((one) => {
    const [own, mass] = homesOf(one.item.news.entry, by)
    return { one, own, mass, counts: countsAs(one.item, own, mass) }
  })
  const counted = new Map<string, Set<string>>()
  const isFresh = ({ since }: Ready) => since > look.now - Math.max(look.group.waitMs, 1)
  for (const { one, own, mass, counts } of placed) {
    if (mass === '' || !isFresh(one) || (counts !== 'begins' && counts !== 'ends')) continue
    const key = `${counts} ${mass}`
    counted.set(key, (counted.get(key) ?? new Set()).add(own))
  }
  const isMany = (counts: Counts, mass: string) => (counted.get(`${counts} ${mass}`)?.size ?? 0) >= MASS
  const isMass = ({ one, mass, counts }: (typeof placed)[number]) => {
    if (mass === '') return false
    const { lastSent, waits } = one.item.sendState
    if ((waits?.is === 'group' && waits.group === mass) || (lastSent?.group === mass && counts === 'goes on'))
      return true
    if (counts === 'goes on') return false
    if (isMany('begins', mass) || isRecent(look, RECENT.mass(mass))) return true
    return counts === 'ends' && (isMany('ends', mass) || isRecent(look, RECENT.ended(mass)))
  }
  const groups = Map.groupBy(placed, (one) => (isMass(one) ? one.mass : one.own))
  return new Map([...groups].map(([name, some]) => [name, some.map(({ one }) => one)]))
}

/** Everything of one group is one message for a receiver. */
function ownGroup({ alert, firstReading }: OutboxEntry, by: readonly GroupBy[]): string {
  return firstReading === true ? DIGEST : by.map((field) => `${field}=${fieldOf(alert, field)}`).join('|')
}

/** A message to an account's contact is about that account alone: it is in no mass, however others are grouped. */
function groupingFor({ by, contacts = [] }: GroupSettings, receiver: string): readonly GroupBy[] {
  return contacts.includes(receiver) ? ['kind', 'account'] : by
}

/**
 * Grouping by account makes one message for each account: a trouble that many share would be a storm. Other groupings
 * are kept as configured.
 */
function gathersMasses(by: readonly GroupBy[]): boolean {
  return by.length === 1 && by[0] === 'account'
}

/** The group of an alert, and the one of all of its rule where many accounts have the same trouble at once ('': never). */
function homesOf(entry: OutboxEntry, by: readonly GroupBy[]): [own: string, mass: string] {
  const { alert, firstReading } = entry
  const hasMass = gathersMasses(by) && alert.account !== undefined && firstReading !== true
  return [ownGroup(entry, by), hasMass ? `rule=${alert.rule}` : '']
}

function fieldOf(alert: Alert, field: GroupBy): string {
  switch (field) {
    case 'rule':
      return alert.rule
    case 'account':
      return String(alert.account?.hubId ?? '')
    case 'level':
      return alert.level
    case 'kind':
      return alert.kind
  }
}

function countsAs({ news, sendState: { lastSent, waits } }: Item, own: string, mass: string): Counts {
  const { status, reason } = news.entry.alert
  // A held alert begins for this receiver now, whatever happened to it meanwhile.
  const wasHeld = waits !== undefined && (waits.is === 'held' || waits.held !== undefined)
  if (status === 'firing' && (wasHeld || !['repeat', 'worse', 'eased'].includes(reason))) return 'begins'
  const group = lastSent?.isOver === true ? undefined : lastSent?.group
  if (group === mass) return 'goes on'
  if (status === 'resolved') return 'ends'
  if (group === undefined) return 'follows'
  return group === own ? 'goes on' : 'begins'
}

function isRecent({ recent, group, now }: SendingInput, what: string): boolean {
  const at = recent.get(what)
  return at !== undefined && now - at <= group.intervalMs
}

/**
 * Moment at which a group is sent: it waits for more, and keeps its distance from its last message, unless something
 * just got worse.
 */
function closingOf(name: string, members: readonly Ready[], look: SendingInput): number {
  const { waitMs, intervalMs } = look.group
  const first = least(members.map(({ since }) => since))
  if (name === DIGEST) {
    const newest = members.reduce((latest, { since }) => Math.max(latest, since), look.connectedAt)
    return Math.min(newest + waitMs, first + intervalMs)
  }
  const closedAt = look.recent.get(RECENT.group(name)) ?? Number.NEGATIVE_INFINITY
  const planned = Math.max(first + waitMs, Math.min(closedAt, look.now) + intervalMs)
  const urgent = members.filter(({ item }) => isUrgent(item.news.entry.alert, name, look))
  return Math.min(planned, least(urgent.map(({ since }) => since)) + waitMs)
}

/** A check that is planned sooner stays: while a fleet is new each look moves the end of its digest, and would write all of it. */
function checkOf({ sendState: { waits } }: Item, group: string, closesAt: number, now: number): number {
  const planned = waits?.group === group ? (waits.until ?? now) : now
  return now < planned && planned < closesAt ? planned : closesAt
}

/** A loop: a group may have more members than a call takes arguments. */
function least(moments: readonly number[]): number {
  return moments.reduce((least, at) => Math.min(least, at), Number.POSITIVE_INFINITY)
}

/**
 * An alert that got worse is urgent, unless the same was sent just now: then it is flapping. One that begins right after a message
 * with many urgent ones belongs to the same event and waits; an escalation is never delayed for that.
 */
function isUrgent(alert: Alert, group: string, look: SendingInput): boolean {
  if (!hurries(alert)) return false
  const at = look.recent.get(RECENT.level(alert))
  if (at !== undefined && at <= look.now && look.now - at < look.group.intervalMs) return false
  return !(alert.reason === 'entered' && isRecent(look, RECENT.burst(group)))
}

/** An alert that just got worse does not wait for the interval since the group's last message. */
export function hurries({ status, reason, level }: Alert): boolean {
  return status === 'firing' && (reason === 'escalated' || (reason === 'entered' && level === 'critical'))
}
