import type { ProviderFailure } from '../../provider/failure.ts'

/** Refusals in polls one after the other, too few so far to be believed. */
interface Unconfirmed {
  polls: number
  /** Moment of the last one that counted, ms. */
  at: number
}

/** By report, or `COMPANION_CALLS`. */
export type UnconfirmedRefusals = Readonly<Record<string, Unconfirmed>>

/** Name of the companion endpoints among the reports. */
export const COMPANION_CALLS = 'companions'

/** Time until what the provider does not have, or not for an account, is asked for again. */
export const ASK_AGAIN_MS = 24 * 3_600_000

/** One odd answer takes nothing away: so many polls must have the same. */
const POLLS_NEEDED = 3
/** Each poll must be this part of the shortest period after the one before: regular polls come a little earlier than the period. */
const APART = 0.9

/** The refusals of one poll beside those of the polls before. */
export class Refusals {
  readonly #before: UnconfirmedRefusals
  readonly #at: number
  readonly #soonestMs: number
  readonly #answered = new Set<string>()
  readonly #after: Record<string, Unconfirmed> = {}

  constructor(before: UnconfirmedRefusals, at: number, soonestMs: number) {
    this.#before = before
    this.#at = at
    this.#soonestMs = soonestMs
  }

  /** Notes a refusal: true once enough polls agree. */
  counts(name: string): boolean {
    const { polls, at } = this.#before[name] ?? { polls: 0, at: Number.NEGATIVE_INFINITY }
    const isApart = this.#at - at >= APART * this.#soonestMs
    const counted = isApart ? { polls: polls + 1, at: this.#at } : { polls, at }
    this.isAnswered(name)
    if (isApart && counted.polls >= POLLS_NEEDED) return true
    this.#after[name] = counted
    return false
  }

  /** Notes that it had an answer, also where it was refused before. */
  isAnswered(name: string): void {
    this.#answered.add(name)
  }

  /** Refusals that later polls have to confirm: also earlier ones of what had no answer this time. */
  unconfirmed(): UnconfirmedRefusals {
    const earlier = Object.entries(this.#before).filter(([name]) => !this.#answered.has(name))
    return { ...Object.fromEntries(earlier), ...this.#after }
  }
}

/** The refusal as a failure that may pass: the last readings count, and alerts stay open. */
export function asPassing(refusal: ProviderFailure): ProviderFailure {
  const { code, message, status } = refusal
  return { class: 'transient', code, message: `${message}; ${POLLS_NEEDED} polls must agree before it counts`, status }
}

/** The provider's own word with one of these statuses: the page of a proxy has another class. */
export function isRefusal({ class: kind, status }: ProviderFailure, ...statuses: number[]): boolean {
  return (kind === 'client' || kind === 'forbidden') && statuses.includes(status)
}
