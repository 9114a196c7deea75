import { defined } from '../../runtime/defined.ts'
import type { Alert, AlertLevel } from '../alert.ts'
import type { GroupBy, GroupSettings } from '../deps.ts'
import { byCommit, type TransitionRef } from '../ledger.ts'
import type { OutboxEntry } from '../outbox.ts'

const LEVELS: readonly AlertLevel[] = ['warning', 'critical']

/** Everything of one group for one receiver waits together. */
export function groupKey(receiver: string, entry: OutboxEntry, by: readonly GroupBy[]): string {
  if (entry.firstReading === true) return `${receiver}|digest`
  return `${receiver}|${by.map((field) => `${field}=${fieldOf(entry.alert, field)}`).join('|')}`
}

/** A message to an account's contact is about that account alone: it is in no mass, however others are grouped. */
export function groupingFor({ by, contacts = [] }: GroupSettings, receiver: string): readonly GroupBy[] {
  return contacts.includes(receiver) ? ['kind', 'account'] : by
}

/** Where each account has one message of all its alerts, a trouble that many share would be a storm. Other groupings are kept as wanted. */
function gathersMasses(by: readonly GroupBy[]): boolean {
  return by.length === 1 && by[0] === 'account'
}

/** Where an alert waits for a receiver: in its group, or with all of its rule where many accounts have the same trouble at once ('': never). */
export function homesOf(receiver: string, entry: OutboxEntry, by: readonly GroupBy[]): [own: string, mass: string] {
  const { alert, firstReading } = entry
  const hasMass = gathersMasses(by) && alert.account !== undefined && firstReading !== true
  return [groupKey(receiver, entry, by), hasMass ? `${receiver}|rule=${alert.rule}` : '']
}

/** Other groups of the receiver where an alert may wait: first readings and masses have their own, and so may levels. */
export function earlierGroups(key: string, alert: Alert, by: readonly GroupBy[]): string[] {
  const receiver = receiverOf(key)
  const keys = [
    groupKey(receiver, { alert, firstReading: true }, by),
    ...LEVELS.flatMap((level) => homesOf(receiver, { alert: { ...alert, level } }, by)),
  ]
  return [...new Set(keys)].filter((other) => other !== key && other !== '')
}

/** Whose group it is. */
export function receiverOf(key: string): string {
  return key.slice(0, key.indexOf('|'))
}

/** The name of the group in messages: the key without the receiver. */
export function groupName(key: string): string {
  return key.slice(key.indexOf('|') + 1)
}

export function isDigest(key: string): boolean {
  return groupName(key) === 'digest'
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

/** An alert that waits in a group, or is held back: its newest transition with all that it supersedes. */
export interface WaitingAlert {
  /** Its place among all that were collected: the step that collects it gives it out. */
  order?: number
  alert: Alert
  /** All of its transitions that wait here, the newest last. */
  of: [ref: TransitionRef, id: string][]
  /** Why it was held back before it came here, or would have been when it was committed. */
  held?: HeldBecause
}

/** What is held back from a receiver. */
export interface HeldAlert extends WaitingAlert {
  group: string
  held: HeldBecause
}

export function waitingAlert(ref: TransitionRef, alert: Alert, held?: HeldBecause): WaitingAlert {
  return { alert, of: [[ref, alert.id]], ...defined({ held }) }
}

/** Its place in the group. */
export function placeInGroup({ of }: WaitingAlert): TransitionRef {
  return of.at(-1)?.[0] ?? ''
}

/**
 * In the order in which they were collected, each partition's as committed. Places in the log would not do: a node that took
 * over may have a clock that is behind.
 */
export function byOrder(a: WaitingAlert, b: WaitingAlert): number {
  return (a.order ?? 0) - (b.order ?? 0) || byCommit(placeInGroup(a), placeInGroup(b))
}

/** What waits is written by us alone. */
export function decodeWaiting(stored: string): WaitingAlert {
  return JSON.parse(stored) as WaitingAlert
}

export function decodeHeld(stored: string): HeldAlert {
  return JSON.parse(stored) as HeldAlert
}

/** Why an alert is not sent for now. Times are ms. */
export type HeldBecause =
  | { is: 'silence'; id: string; until: number }
  | { is: 'quiet-hours'; until: number }
  | { is: 'fleet'; trouble: string }

/** Receiver and alert, as one name: of what is held back, and of what was sent. */
export function heldField(receiver: string, alert: string): string {
  return `${receiver}|${alert}`
}

export function receiverOfHeld(field: string): string {
  return field.slice(0, field.indexOf('|'))
}

export function alertOfHeld(field: string): string {
  return field.slice(field.indexOf('|') + 1)
}

/**
 * How long an end may go unnoticed that came before its time: the fleet's trouble has none that is known before, a silence may
 * be ended while a sweep that has just read it holds an alert back, and quiet hours may be gone from the config.
 */
export const LATEST_MS = 30_000
/** What goes on is not checked again at once. */
const SOONEST_MS = 1_000

/** When to check what is held back again, ms. */
export function checkAgainAt(because: HeldBecause, now: number): number {
  const until = because.is === 'fleet' ? Number.POSITIVE_INFINITY : because.until
  return Math.max(now + SOONEST_MS, Math.min(now + LATEST_MS, until))
}

/** Why an alert was not sent, as the ledger keeps it. */
export function withheldBecause(because: HeldBecause): string {
  switch (because.is) {
    case 'silence':
      return `ended before silence ${because.id} did`
    case 'quiet-hours':
      return 'ended before the quiet hours did'
    case 'fleet':
      return `ended before the alert about all accounts did (${because.trouble})`
  }
}
