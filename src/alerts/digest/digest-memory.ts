import type { Alert, AlertLevel } from '../alert.ts'

/** What a receiver's last digest was made of, as far as the next one compares itself with it. */
export interface DigestMemory {
  /** When it was made, ms. */
  at: number
  /** Every alert that was open is remembered. */
  isWhole: boolean
  /** By the alert's own id, which it keeps from opening to closing. */
  alerts: ReadonlyMap<string, Standing>
}

/** How an alert stood. */
export interface Standing {
  level: AlertLevel
  usage?: number
  limit?: number
}

/** Half a megabyte in Redis for each receiver; of what is beyond, only what is new can be told, by when it opened. */
export const MOST_REMEMBERED = 20_000

export function standingOf({ level, usage, limit }: Alert): Standing {
  return { level, ...(usage === undefined ? {} : { usage }), ...(limit === undefined ? {} : { limit }) }
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
    const alerts = list.map(([id, isCritical, usage, limit]): [string, Standing] => [
      id,
      {
        level: isCritical === 1 ? 'critical' : 'warning',
        ...(usage == null ? {} : { usage }),
        ...(limit == null ? {} : { limit }),
      },
    ])
    return { at, isWhole: isWhole === 1, alerts: new Map(alerts) }
  } catch {
    return undefined
  }
}
