import { defined } from '../runtime/defined.ts'
import {
  type Alert,
  type AlertLevel,
  alertOf,
  compareLevels,
  criticalFirst,
  type FleetChanges,
  type Message,
} from './alert.ts'

export interface DigestFrame {
  period: 'day' | 'week'
  /** The most alerts that it shows. */
  max: number
  now: number
}

/**
 * A digest in the making: open alerts go in, chunk by chunk, and of all of them no more is kept than it will show and what
 * the next one is compared with.
 */
export class DigestDraft {
  readonly #frame: DigestFrame
  readonly #before: DigestMemory | undefined
  /** Of the last digest: those that were not seen again so far. */
  readonly #unseen: Map<string, ReportedLevel>
  readonly #remembered = new Map<string, ReportedLevel>()
  readonly #accounts = new Set<number>()
  readonly #levels: Record<AlertLevel, number> = { critical: 0, warning: 0 }
  readonly #changes = { new: 0, worse: 0, better: 0, resolved: 0 }
  #shown: Alert[] = []

  constructor(frame: DigestFrame, before: DigestMemory | undefined) {
    this.#frame = frame
    this.#before = before
    this.#unseen = new Map(before?.alerts)
  }

  /** Open alerts, each of them once; `isMine`: the routes send it to this receiver. */
  add(alerts: readonly Alert[], isMine: (alert: Alert) => boolean): void {
    const mine: Alert[] = []
    for (const alert of alerts) {
      const id = alertOf(alert)
      const was = this.#unseen.get(id)
      this.#unseen.delete(id)
      if (isMine(alert)) mine.push(this.#compared(alert, id, was))
      // Open still, though its level may be one that is for others: not resolved.
      else if (was !== undefined) this.#count(was, standingOf(alert))
    }
    this.#shown = [...this.#shown, ...mine].sort(criticalFirst).slice(0, this.#frame.max)
  }

  #compared(alert: Alert, id: string, was: ReportedLevel | undefined): Alert {
    const stands = standingOf(alert)
    this.#levels[alert.level]++
    if (alert.account !== undefined) this.#accounts.add(alert.account.hubId)
    if (this.#remembered.size < MOST_REMEMBERED) this.#remembered.set(id, stands)
    if (this.#before === undefined) return alert
    if (was === undefined) {
      if (this.#before.isWhole || Date.parse(alert.since) >= this.#before.at) this.#changes.new++
      return alert
    }
    this.#count(was, stands)
    return { ...alert, previous: { ...was, measuredAt: iso(this.#before.at) } }
  }

  #count(was: ReportedLevel, stands: ReportedLevel): void {
    const is = compareLevels(was, stands)
    if (is !== 'same') this.#changes[is]++
  }

  /** `changes` only where there was a digest before; `changed`: what happened since that. */
  message(changed?: FleetChanges): Message {
    const { period, now } = this.#frame
    const { critical, warning } = this.#levels
    return {
      type: 'alert.digest',
      timestamp: iso(now),
      data: {
        groupKey: `digest/${period}`,
        truncated: critical + warning - this.#shown.length,
        alerts: this.#shown,
        period,
        totals: { accounts: this.#accounts.size, critical, warning },
        ...(this.#before === undefined ? {} : { changes: { ...this.#changes, resolved: this.#unseen.size } }),
        ...defined({ changed }),
      },
    }
  }

  memory(): DigestMemory {
    const { critical, warning } = this.#levels
    const isWhole = this.#remembered.size === critical + warning
    // Those that it shows are always compared the next time.
    for (const alert of this.#shown) this.#remembered.set(alertOf(alert), standingOf(alert))
    return { at: this.#frame.now, isWhole, alerts: this.#remembered }
  }
}

function iso(at: number): string {
  return new Date(at).toISOString()
}

/** What a receiver's last digest was made of, as far as the next one compares itself with it. */
export interface DigestMemory {
  /** When it was made, ms. */
  at: number
  /** Every alert that was open is remembered. */
  isWhole: boolean
  /** By the alert's own id, which it keeps from opening to closing. */
  alerts: ReadonlyMap<string, ReportedLevel>
}

/** The level and numbers of an alert. */
export interface ReportedLevel {
  level: AlertLevel
  usage?: number
  limit?: number
}

/** Half a megabyte in Redis for each receiver; beyond that, only new alerts are recognized, by when they opened. */
export const MOST_REMEMBERED = 20_000

export function standingOf({ level, usage, limit }: Alert): ReportedLevel {
  return { level, ...defined({ usage, limit }) }
}

export function encodeMemory({ at, isWhole, alerts }: DigestMemory): string {
  const list = [...alerts].map(([id, { level, usage, limit }]) => {
    const numbers = limit !== undefined ? [usage, limit] : usage !== undefined ? [usage] : []
    return [id, level === 'critical' ? 1 : 0, ...numbers]
  })
  return JSON.stringify([at, isWhole ? 1 : 0, list])
}

/** Undefined for what is none: then there is nothing to compare with. */
export function decodeMemory(stored: string | null): DigestMemory | undefined {
  if (stored === null || stored === '') return undefined
  try {
    const [at, isWhole, list] = JSON.parse(stored) as [number, number, [string, number, number?, number?][]]
    if (!Number.isFinite(at)) return undefined
    const alerts = list.map(([id, isCritical, usage, limit]): [string, ReportedLevel] => [
      id,
      { level: isCritical === 1 ? 'critical' : 'warning', ...defined({ usage, limit }) },
    ])
    return { at, isWhole: isWhole === 1, alerts: new Map(alerts) }
  } catch {
    return undefined
  }
}
