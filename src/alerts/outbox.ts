import { stepJson } from '../redis/steps.ts'
import { type Alert, alertOf } from './alert.ts'
import type { SeriesState } from './alert-state.ts'

/** A transition as it is committed, with what its way to receivers depends on. */
export interface OutboxEntry {
  alert: Alert
  /** The alert belongs to an account's very first reading. */
  firstReading?: true
  /** The alert was at both levels since it opened: what gets better is sent to the receivers of either. */
  toBothLevels?: true
  /** The receiver that the alert is about: it would not get it. */
  notTo?: string
}

/** The entry of an alert, by its state: a receiver that got the beginning gets the end. */
export function entryOf(alert: Alert, { wasAtBoth }: Pick<SeriesState, 'wasAtBoth'>): OutboxEntry {
  const getsBetter = alert.reason === 'eased' || alert.status === 'resolved'
  return wasAtBoth === true && getsBetter ? { alert, toBothLevels: true } : { alert }
}

/**
 * The entry as `lua/include/append-transitions.lua` takes it: the transition's id, then all of it as JSON. Only the
 * JSON is stored.
 */
export function encodeEntry(entry: OutboxEntry): string {
  return `${entry.alert.id} ${stepJson(entry)}`
}

export function decodeEntry(stored: string): OutboxEntry {
  return JSON.parse(stored.slice(stored.indexOf('{'))) as OutboxEntry
}

/** The number of the transition among those of its alert. */
export function numberOf({ id }: Pick<Alert, 'id'>): number {
  return Number(/-(\d+)$/.exec(id)?.[1] ?? 1)
}

/** Ids of an alert's transitions after one and before another, the oldest first. */
export function idsBetween(alert: Alert, after: number): string[] {
  const [own, last] = [alertOf(alert), numberOf(alert)]
  return Array.from({ length: Math.max(0, last - 1 - after) }, (_, n) => `${own}-${after + 1 + n}`)
}

/** Undefined for what is none. */
export function readableEntry(stored: string): OutboxEntry | undefined {
  try {
    const entry = decodeEntry(stored)
    const { id, kind, status, level, rule, measuredAt } = entry.alert
    const areTexts = [id, kind, status, level, rule, measuredAt].every((text) => typeof text === 'string')
    return areTexts && !Number.isNaN(Date.parse(measuredAt)) ? entry : undefined
  } catch {
    return undefined
  }
}
