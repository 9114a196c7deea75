import { cleanText } from '../text/clean-text.ts'
import { countOf } from '../text/format-number.ts'
import { formatTime } from '../text/format-time.ts'

/** The state of a receiver, by its attempts. Times in ms. */
export interface ReceiverHealth {
  receiver: string
  /** When it was first seen in a config. */
  seenAt?: number
  lastDeliveredAt?: number
  /** Since when every attempt has failed, and how many have. */
  failingSince?: number
  failures: number
  lastReason?: string
  /** It wants no more messages: why. */
  disabled?: string
}

export interface HealthSettings {
  /** A receiver that has not been proven for so long is an alert; never where there is no drill. */
  unprovenAfterMs: number | 'never'
}

export interface ReceiverTrouble {
  is: 'disabled' | 'failing' | 'unproven'
  level: 'warning' | 'critical'
  /** What happened and what to do. */
  message: string
}

/** Long enough for a receiver that restarts or is redeployed: it has been tried half a dozen times by then. */
export const RECEIVER_FAILING_MS = 3_600_000
const DAY_MS = 86_400_000

/** What is wrong with a receiver: an alert to the others. */
export function judgeReceiver(
  health: ReceiverHealth,
  { unprovenAfterMs }: HealthSettings,
  now: number,
): ReceiverTrouble | undefined {
  const { receiver, disabled, failingSince } = health
  if (disabled !== undefined)
    return { is: 'disabled', level: 'critical', message: describeDisabled(receiver, disabled) }
  if (failingSince !== undefined && now - failingSince >= RECEIVER_FAILING_MS)
    return { is: 'failing', level: 'warning', message: describeFailing(health, failingSince) }
  const provenAt = provenOrSeenAt(health)
  if (unprovenAfterMs === 'never' || provenAt === undefined || now - provenAt < unprovenAfterMs) return undefined
  return { is: 'unproven', level: 'warning', message: describeUnproven(health, provenAt, now) }
}

/** Told when nothing is wrong any more. */
export function describeOver({ receiver, lastDeliveredAt, failingSince }: ReceiverHealth): string {
  return failingSince === undefined && lastDeliveredAt !== undefined
    ? `The receiver ${receiver} delivers again.`
    : `The receiver ${receiver} gets messages again.`
}

export function describeGone(receiver: string): string {
  return `The receiver ${receiver} is no longer in the config.`
}

function provenOrSeenAt({ seenAt, lastDeliveredAt }: ReceiverHealth): number | undefined {
  return lastDeliveredAt === undefined ? seenAt : Math.max(seenAt ?? 0, lastDeliveredAt)
}

function describeDisabled(receiver: string, reason: string): string {
  return (
    `The receiver ${receiver} is disabled: it wants no more messages (${cleanText(reason, 200)}). It gets none until it ` +
    `is enabled again: give it an address that takes them (the daemon takes it over on SIGHUP), or, where it takes them again, ` +
    `plimsoll alerts test ${receiver}`
  )
}

function describeFailing({ receiver, failures, lastReason, lastDeliveredAt }: ReceiverHealth, since: number): string {
  const never = lastDeliveredAt === undefined ? 'It has never delivered anything' : 'It delivers nothing'
  return (
    `The receiver ${receiver} fails. ${never} since ${timeOf(lastDeliveredAt ?? since)}; ` +
    `${countOf(failures, 'attempt')} failed since ${timeOf(since)}, the last one: ${cleanText(lastReason ?? 'not known', 200)}. ` +
    `Each message is tried again for three days. To see whether it works: plimsoll alerts test ${receiver}`
  )
}

function describeUnproven({ receiver, lastDeliveredAt }: ReceiverHealth, provenAt: number, now: number): string {
  const days = countOf(Math.floor((now - provenAt) / DAY_MS), 'day')
  const what =
    lastDeliveredAt === undefined
      ? `has delivered nothing yet, ${days} after it was first seen`
      : `has delivered nothing for ${days}, no drill either`
  return `The receiver ${receiver} ${what}: it may not work. To test it: plimsoll alerts test ${receiver}`
}

function timeOf(at: number): string {
  return formatTime(new Date(at).toISOString())
}
