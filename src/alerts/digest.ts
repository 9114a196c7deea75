import { defined } from '../runtime/defined.ts'
import { isMoment } from '../runtime/moment.ts'
import { isoOf } from '../text/format-time.ts'
import { type Alert, alertOf, byConsequence, compareLevels, type FleetChanges, type Message } from './alert.ts'

/** A receiver's digest, as far as the next one is compared with it. */
export interface LastDigest {
  /** Moment of the digest, ms. */
  at: number
  /** Alerts that were open, by the alert's own id. */
  alerts: ReadonlyMap<string, Reported>
}

type Reported = Pick<Alert, 'level' | 'usage' | 'limit'>

export interface DigestFrame {
  period: 'day' | 'week'
  /** The most alerts that it shows. */
  max: number
  now: number
  last: LastDigest | undefined
  /** Changes since the last digest. */
  changed?: FleetChanges | undefined
}

/** All that is open for a receiver, the most urgent shown; `isMine`: the routes send it there. */
export function composeDigest(
  open: readonly Alert[],
  isMine: (alert: Alert) => boolean,
  { period, max, now, last, changed }: DigestFrame,
): { message: Message; made: LastDigest } {
  const mine = open.filter(isMine).sort(byConsequence)
  const count = (wanted: Alert['level']) => mine.filter(({ level }) => level === wanted).length
  const alerts = mine.slice(0, max).map((alert) => {
    const was = last?.alerts.get(alertOf(alert))
    return last === undefined || was === undefined
      ? alert
      : { ...alert, previous: { ...was, measuredAt: isoOf(last.at) } }
  })
  const data = {
    groupKey: `digest/${period}`,
    truncated: mine.length - alerts.length,
    alerts,
    period,
    totals: {
      accounts: new Set(mine.flatMap(({ account }) => account?.hubId ?? [])).size,
      critical: count('critical'),
      warning: count('warning'),
    },
    ...defined({ changes: last && changesSince(last, open, mine), changed }),
  }
  const reported = mine.map(
    ({ id, level, usage, limit }) => [alertOf({ id }), { level, ...defined({ usage, limit }) }] as const,
  )
  return {
    message: { type: 'alert.digest', timestamp: isoOf(now), data },
    made: { at: now, alerts: new Map(reported) },
  }
}

/** An alert that is open still, though at a level that is for others, is not resolved. */
function changesSince({ alerts }: LastDigest, open: readonly Alert[], mine: readonly Alert[]) {
  const moves = open.flatMap((alert) => {
    const was = alerts.get(alertOf(alert))
    return was === undefined ? [] : compareLevels(was, alert)
  })
  return {
    new: mine.filter((alert) => !alerts.has(alertOf(alert))).length,
    worse: moves.filter((move) => move === 'worse').length,
    better: moves.filter((move) => move === 'better').length,
    resolved: alerts.size - moves.length,
  }
}

export function encodeDigest({ at, alerts }: LastDigest): string {
  return JSON.stringify([at, [...alerts]])
}

/** Undefined for what is none: then there is nothing to compare with. */
export function decodeDigest(stored: string | null): LastDigest | undefined {
  try {
    const list: unknown = JSON.parse(stored ?? '')
    const [at, alerts]: unknown[] = Array.isArray(list) ? list : []
    const isDigest = isMoment(at) && Array.isArray(alerts) && alerts.every(isReported)
    return isDigest ? { at, alerts: new Map(alerts) } : undefined
  } catch {
    return undefined
  }
}

function isReported(entry: unknown): entry is [alert: string, reported: Reported] {
  const [alert, reported]: unknown[] = Array.isArray(entry) ? entry : []
  if (typeof alert !== 'string' || typeof reported !== 'object' || reported === null) return false
  const { level, usage, limit } = reported as { [Name in keyof Reported]?: unknown }
  const areNumbers = [usage, limit].every((number) => number === undefined || Number.isFinite(number))
  return areNumbers && (level === 'warning' || level === 'critical')
}
