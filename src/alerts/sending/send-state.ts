import { defined } from '../../runtime/defined.ts'
import type { AlertLevel } from '../alert.ts'
import type { HoldReason } from './hold.ts'

/** What a receiver knows of one alert, and what it waits for. Times are ms. */
export interface SendState {
  /** What it was sent last, or is not sent any more. */
  lastSent?: SentLast
  waits?: Waits
}

export interface SentLast {
  /** Of the transition: its place in the log, and its number among those of the alert. */
  place: string
  number: number
  at: number
  /** Its end: it was sent, or is not. */
  isOver?: true
  /** What was not sent, and why. */
  why?: string
  /** The group and the delivery that brought it; absent where nothing was sent yet. */
  group?: string
  delivery?: string
}

export interface Waits {
  /** `held`: something holds it back; else it waits in its group for more. */
  is: 'held' | 'group'
  /** Since when it is in the group. */
  since: number
  /** The number of the transition that it began to wait with. */
  first?: number
  /** When that is sent, unless more comes; of a group. */
  until?: number
  group?: string
  /** The level of something urgent that waits, or did before: it counts as sent with what is sent in its place. */
  hurried?: AlertLevel
  /** What holds it back, or did before. */
  held?: HoldReason
}

export function encodeSendState({ lastSent, waits }: SendState): string {
  return lastSent === undefined && waits === undefined ? '' : JSON.stringify({ told: lastSent, waits })
}

/** What is known is written by us alone; what can't be read all the same is not known. */
export function decodeSendState(stored: string | null | undefined): SendState {
  if (stored == null || stored === '') return {}
  try {
    const { told, waits } = JSON.parse(stored) as { told?: SentLast; waits?: Waits }
    return defined({ lastSent: told, waits })
  } catch {
    return {}
  }
}
