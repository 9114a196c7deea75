import type { AlertLevel } from '../alert.ts'
import type { HoldReason } from './hold.ts'

/** State of one alert for one receiver, stored as JSON: the transition that it was sent last, and what it waits for. Times are ms. */
export interface SendState {
  /** The transition that it was sent last, or is never sent. */
  lastSent?: SentLast
  waits?: Waits
}

export interface SentLast {
  /** Place of the transition in the log, and its number among those of the alert. */
  place: string
  number: number
  at: number
  /** The alert's end, sent or skipped. */
  isOver?: true
  /** Why it was not sent. */
  why?: string
  /** The group that brought it; absent where nothing was sent yet. */
  group?: string
}

export interface Waits {
  /** `held`: something holds it back; else it waits in its group for more. */
  is: 'held' | 'group'
  /** Moment at which it joined the group. */
  since: number
  /** Number of the transition with which the wait began. */
  first?: number
  /** Number of the transition up to which the receiver had, or needed, nothing of the alert when the wait began. */
  after?: number
  /** Moment at which the group is sent, unless more comes. */
  until?: number
  group?: string
  /** Level of an urgent transition that waits, or did before: it counts as sent with the one in its place. */
  hurried?: AlertLevel
  /** The reason that holds it back, or did before. */
  held?: HoldReason
}

export function encodeSendState({ lastSent, waits }: SendState): string {
  return lastSent === undefined && waits === undefined ? '' : JSON.stringify({ lastSent, waits })
}

/** Unreadable text counts as nothing sent: only Plimsoll writes it. */
export function decodeSendState(stored: string | null | undefined): SendState {
  try {
    return (JSON.parse(stored || '{}') as SendState | null) ?? {}
  } catch {
    return {}
  }
}
