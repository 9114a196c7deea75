import type { Alert } from '../alert.ts'
import { byCommit, type TransitionRef } from '../ledger/transition-ref.ts'
import type { HeldBecause } from './held.ts'

/** An alert that waits in a group, or is held back: its newest transition and all that it stands for. */
export interface WaitingAlert {
  alert: Alert
  /** All of its transitions that wait here, the newest last. */
  of: [ref: TransitionRef, id: string][]
  /** Why it was held back before it came here, or would have been when it was committed. */
  held?: HeldBecause
}

/** What is held back from a receiver. */
export interface HeldAlert extends WaitingAlert {
  group: string
  held: HeldBecause
}

export function waitingAlert(ref: TransitionRef, alert: Alert, held?: HeldBecause): WaitingAlert {
  return { alert, of: [[ref, alert.id]], ...(held === undefined ? {} : { held }) }
}

/** Its place in the group. */
export function placeOf({ of }: WaitingAlert): TransitionRef {
  return of.at(-1)?.[0] ?? ''
}

/** Transitions of one alert lie in one partition. */
export function byPlace(a: WaitingAlert, b: WaitingAlert): number {
  return byCommit(placeOf(a), placeOf(b))
}

/** What waits is written by us alone. */
export function decodeWaiting(stored: string): WaitingAlert {
  return JSON.parse(stored) as WaitingAlert
}

export function decodeHeld(stored: string): HeldAlert {
  return JSON.parse(stored) as HeldAlert
}
