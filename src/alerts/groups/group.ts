import type { Alert, AlertLevel, Message } from '../alert.ts'
import type { OutboxEntry } from '../outbox/outbox-entry.ts'

export type GroupBy = 'rule' | 'account' | 'level' | 'kind'

export interface GroupSettings {
  by: readonly GroupBy[]
  waitMs: number
  intervalMs: number
  /** The most alerts that one message shows. */
  max: number
}

/** Everything of one group for one receiver waits together. */
export function groupKey(receiver: string, entry: OutboxEntry, by: readonly GroupBy[]): string {
  if (entry.firstReading === true) return `${receiver}|digest`
  return `${receiver}|${by.map((field) => `${field}=${fieldOf(entry.alert, field)}`).join('|')}`
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

/**
 * What goes out when a group closes: what fires, then what is resolved, each message ranked by urgency and cut at `max`
 * with the rest counted.
 */
export function composeMessages(key: string, alerts: readonly Alert[], max: number, now: number): Message[] {
  const firing = alerts.filter((alert) => alert.status === 'firing')
  const resolved = alerts.filter((alert) => alert.status === 'resolved')
  const parts: [Message['type'], Alert[]][] = isDigest(key)
    ? [
        ['alert.digest', firing],
        ['alert.resolved', resolved],
      ]
    : [
        ['alert.firing', firing],
        ['alert.resolved', resolved],
      ]
  return parts
    .filter(([, part]) => part.length > 0)
    .map(([type, part]) => ({
      type,
      timestamp: new Date(now).toISOString(),
      data: {
        groupKey: groupName(key),
        truncated: Math.max(0, part.length - max),
        alerts: part.sort(byUrgency).slice(0, max),
      },
    }))
}

const LEVEL_RANK: Record<AlertLevel, number> = { critical: 0, warning: 1 }

function byUrgency(a: Alert, b: Alert): number {
  return LEVEL_RANK[a.level] - LEVEL_RANK[b.level] || (b.percent ?? 0) - (a.percent ?? 0)
}
