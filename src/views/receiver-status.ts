import type { ReceiverHealth } from '../delivery/receiver-health.ts'
import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatTime, iso } from '../text/format-time.ts'
import type { ReceiverShape } from './shapes/delivery.ts'

/** How a receiver fares, as the pages, the API and the command line show it. */
export type ReceiverStatus = ReceiverShape

export function receiverStatus(health: ReceiverHealth): ReceiverStatus {
  const { receiver, lastDeliveredAt, failingSince, failures, lastReason, disabled } = health
  return {
    receiver,
    state: stateOf(health),
    lastDeliveredAt: iso(lastDeliveredAt ?? null),
    failingSince: iso(failingSince ?? null),
    failedAttempts: failures,
    reason: disabled ?? lastReason ?? null,
  }
}

function stateOf({ disabled, failingSince, lastDeliveredAt }: ReceiverHealth): ReceiverStatus['state'] {
  if (disabled !== undefined) return 'disabled'
  if (failingSince !== undefined) return 'failing'
  return lastDeliveredAt === undefined ? 'new' : 'delivers'
}

export function isBroken({ state }: ReceiverStatus): boolean {
  return state === 'failing' || state === 'disabled'
}

/** `fails since 2026-11-21 10:00 UTC, 7 attempts: connection refused`. */
export function receiverText({ state, failingSince, failedAttempts, lastDeliveredAt, reason }: ReceiverStatus): string {
  const why = cleanText(reason ?? 'not known', 200)
  switch (state) {
    case 'disabled':
      return `switched off: ${why}`
    case 'failing':
      return `fails since ${formatTime(failingSince ?? '')}, ${countOf(failedAttempts, 'attempt')}: ${why}`
    case 'delivers':
      return `delivered last ${formatTime(lastDeliveredAt ?? '')}`
    case 'new':
      return 'nothing sent yet'
  }
}
