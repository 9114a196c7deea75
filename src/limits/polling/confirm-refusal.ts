import type { ProviderFailure } from '../../provider/failure.ts'

/** Refusals in polls one after the other, too few so far to be believed. */
export interface Unconfirmed {
  polls: number
  /** Moment of the last one that counted, ms. */
  at: number
}

/** By report, or `COMPANION_CALLS`. */
export type UnconfirmedRefusals = Readonly<Record<string, Unconfirmed>>

/** Name of the companion endpoints among the reports. */
export const COMPANION_CALLS = 'companions'

/** One odd answer takes nothing away: so many polls must have the same. */
const POLLS_NEEDED = 3
/** Each poll must be this part of the shortest period after the one before: regular polls come a little earlier than the period. */
const APART = 0.9

export function confirmRefusal(
  before: Unconfirmed | undefined,
  at: number,
  soonestMs: number,
): Unconfirmed | 'confirmed' {
  if (before === undefined) return { polls: 1, at }
  if (at - before.at < APART * soonestMs) return before
  return before.polls + 1 >= POLLS_NEEDED ? 'confirmed' : { polls: before.polls + 1, at }
}

/** The refusal as a failure that may pass: the last readings count, and alerts stay open. */
export function asPassing(refusal: ProviderFailure): ProviderFailure {
  const { code, message, status } = refusal
  return { class: 'transient', code, message: `${message}; ${POLLS_NEEDED} polls must agree before it counts`, status }
}
