export type TurnLevel = 'warning' | 'critical'

/** A series is near the moment in which a level is entered or left. */
export interface NearThreshold {
  is: 'near'
  series: string
  usage: number
  limit: number | null
  level: TurnLevel
  move: 'enter' | 'leave'
  /** Quantity that the condition compares, and its value where the level is entered or left. */
  asks: 'percent' | 'count' | 'remaining'
  of: number
}

/**
 * Why an account is polled next when it is. Times are ms since 1970, series by their id.
 *
 * - `new`: its first polls: it gets a phase of its own.
 * - `still`: its regular turn.
 * - `failed`: the last poll failed.
 * - `told`: the provider's answer named how long to wait.
 */
export type TurnBecause = NearThreshold | { is: 'new' | 'still' | 'failed' | 'told' }

/** The next poll of an account beside its moment, which is in the due set. */
export interface PollTurn {
  /** Regular turn, ms; a poll before it is an early one. */
  regularAt: number
  because: TurnBecause
}
