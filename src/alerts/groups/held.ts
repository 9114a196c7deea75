/** Why an alert is not told for now. Times are ms. */
export type HeldBecause =
  | { is: 'silence'; id: string; until: number }
  | { is: 'quiet-hours'; until: number }
  | { is: 'fleet'; trouble: string }

/** How long the end of the fleet's trouble may go unnoticed: it has no time that is known before. */
const FLEET_LOOK_MS = 30_000
/** Whatever is judged to go on is not looked at again at once. */
const SOONEST_MS = 1_000

/** When to look again at what is held back, ms. */
export function lookAgainAt(because: HeldBecause, now: number): number {
  return Math.max(now + SOONEST_MS, because.is === 'fleet' ? now + FLEET_LOOK_MS : because.until)
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
