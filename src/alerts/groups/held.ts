/** Why an alert is not told for now. Times are ms. */
export type HeldBecause =
  | { is: 'silence'; id: string; until: number }
  | { is: 'quiet-hours'; until: number }
  | { is: 'fleet'; trouble: string }

/** Receiver and alert, as one name: of what is held back, and of what was heard. */
export function heldField(receiver: string, alert: string): string {
  return `${receiver}|${alert}`
}

export function receiverOfHeld(field: string): string {
  return field.slice(0, field.indexOf('|'))
}

export function alertOfHeld(field: string): string {
  return field.slice(field.indexOf('|') + 1)
}

/**
 * How long an end may go unnoticed that came before its time: the fleet's trouble has none that is known before, a silence may
 * be ended while somebody who has just read it holds an alert back, and quiet hours may be gone from the config.
 */
const LATEST_MS = 30_000
/** Whatever is judged to go on is not looked at again at once. */
const SOONEST_MS = 1_000

/** When to look again at what is held back, ms. */
export function lookAgainAt(because: HeldBecause, now: number): number {
  const until = because.is === 'fleet' ? Number.POSITIVE_INFINITY : because.until
  return Math.max(now + SOONEST_MS, Math.min(now + LATEST_MS, until))
}

/** Why nobody was told, as the ledger keeps it. */
export function withheldBecause(because: HeldBecause): string {
  switch (because.is) {
    case 'silence':
      return `over before silence ${because.id} was`
    case 'quiet-hours':
      return 'over before the quiet hours were'
    case 'fleet':
      return `over before the trouble of the whole fleet was (${because.trouble})`
  }
}
