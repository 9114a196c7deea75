import type { Alert, AlertLevel } from '../alert.ts'
import type { OutboxEntry } from '../outbox/outbox.ts'

export type GroupBy = 'rule' | 'account' | 'level' | 'kind'

export interface GroupSettings {
  by: readonly GroupBy[]
  waitMs: number
  intervalMs: number
  /** The most alerts that one message shows. */
  max: number
}

const LEVELS: readonly AlertLevel[] = ['warning', 'critical']

/** Everything of one group for one receiver waits together. */
export function groupKey(receiver: string, entry: OutboxEntry, by: readonly GroupBy[]): string {
  if (entry.firstReading === true) return `${receiver}|digest`
  return `${receiver}|${by.map((field) => `${field}=${fieldOf(entry.alert, field)}`).join('|')}`
}

/** Other groups of the receiver where an alert may wait: first readings have one of their own, and so may levels. */
export function earlierGroups(key: string, alert: Alert, by: readonly GroupBy[]): string[] {
  const receiver = receiverOf(key)
  const keys = [
    groupKey(receiver, { alert, firstReading: true }, by),
    ...LEVELS.map((level) => groupKey(receiver, { alert: { ...alert, level } }, by)),
  ]
  return [...new Set(keys)].filter((other) => other !== key)
}

/** Whose group it is. */
export function receiverOf(key: string): string {
  return key.slice(0, key.indexOf('|'))
}

/** What a receiver is told the group is: the key without the receiver. */
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
