import type { Alert } from '../alerts/alert.ts'
import type { Deliveries, DeliveryHead } from '../delivery/deliveries.ts'
import type { AttemptOutcome } from '../delivery/receiver.ts'
import { listRefused, type ReceiverHealth } from '../delivery/receiver-health.ts'
import type { ShownMessage } from '../delivery/receivers/receiver-kind.ts'
import type { Store } from '../redis/connect.ts'
import type { Keys } from '../redis/keys.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatTime, iso } from '../text/format-time.ts'
import { readTransitions } from './alert-log.ts'
import type { ReceiverShape, ReceiverTestShape } from './shapes/delivery.ts'

/** The subject of a delivery: the first of its alerts, while that is kept, and the number of all. */
export interface Carried {
  first: Alert | undefined
  count: number
}

/** Subjects of deliveries by their ids. A delivery without transitions is a test. */
export async function carriedBy(
  deps: { store: Store; keys: Keys; deliveries: Deliveries },
  ids: readonly string[],
): Promise<Map<string, Carried>> {
  const heads = await Promise.all([...new Set(ids)].map((id) => deps.deliveries.head(id)))
  const known = heads.filter((head): head is DeliveryHead => head !== undefined)
  const alerts = await readTransitions(
    deps,
    known.flatMap(({ shown }) => shown.slice(0, 1)),
  )
  return new Map(
    known.map(({ id, shown: [first, ...others] }) => [
      id,
      { first: first === undefined ? undefined : alerts.get(first), count: others.length + 1 },
    ]),
  )
}

export function receiverStatus(health: ReceiverHealth): ReceiverShape {
  const { receiver, lastDeliveredAt, failingSince, failures, lastReason, disabled, refused = [] } = health
  return {
    receiver,
    state: stateOf(health),
    lastDeliveredAt: iso(lastDeliveredAt ?? null),
    failingSince: iso(failingSince ?? null),
    failedAttempts: failures,
    reason: disabled ?? lastReason ?? (refused.length > 0 ? `refused: ${listRefused(refused)}` : null),
  }
}

function stateOf({ disabled, failingSince, lastDeliveredAt }: ReceiverHealth): ReceiverShape['state'] {
  if (disabled !== undefined) return 'disabled'
  if (failingSince !== undefined) return 'failing'
  return lastDeliveredAt === undefined ? 'new' : 'delivers'
}

export function isBroken({ state }: ReceiverShape): boolean {
  return state === 'failing' || state === 'disabled'
}

/** `has been failing since 2026-11-21 10:00 UTC, 7 attempts: connection refused`. */
export function receiverText({ state, failingSince, failedAttempts, lastDeliveredAt, reason }: ReceiverShape): string {
  const why = cleanText(reason ?? 'not known', 200)
  switch (state) {
    case 'disabled':
      return `switched off: ${why}`
    case 'failing':
      return `has been failing since ${formatTime(failingSince ?? '')}, ${countOf(failedAttempts, 'attempt')}: ${why}`
    case 'delivers':
      return `delivered last ${formatTime(lastDeliveredAt ?? '')}${reason === null ? '' : `, not to all: ${why}`}`
    case 'new':
      return 'nothing sent yet'
  }
}

interface Tested {
  outcome: AttemptOutcome
  ms: number
  noted: 'recorded' | 'enabled' | 'away'
  /** The remedy, where it failed. */
  fix: string | undefined
}

/** A message as it would be sent; the reason is why its template was left out. */
export function shownMessageJson(receiver: string, { text, fault }: ShownMessage): ReceiverTestShape {
  return {
    receiver,
    outcome: 'shown',
    shown: text,
    reason: fault ?? null,
    answer: null,
    ms: 0,
    fix: null,
    noted: false,
    enabled: false,
  }
}

export function receiverTestJson(receiver: string, { outcome, ms, noted, fix }: Tested): ReceiverTestShape {
  const isDelivered = outcome.outcome === 'delivered'
  return {
    receiver,
    outcome: isDelivered ? 'delivered' : 'failed',
    reason: isDelivered ? (outcome.detail ?? null) : outcome.reason,
    answer: outcome.answer ?? null,
    ms,
    fix: fix ?? null,
    shown: null,
    noted: noted !== 'away',
    enabled: noted === 'enabled',
  }
}
