import type { Series } from '../../limits/series.ts'
import type { Acknowledged, SeriesState } from '../series-state.ts'

/** Who acknowledges, and until when at most. Times in ms. */
export interface Acknowledgement {
  by: string
  comment?: string | undefined
  at: number
  until: number
}

type Reading = Pick<Series, 'usage' | 'limit' | 'percent'>

/**
 * An open alert that somebody knows of. What it must get worse than is the reading that they could see; without one what
 * the last message said. A level that is not entered yet can't be acknowledged: its state stays as it is.
 */
export function acknowledgeState(
  state: SeriesState,
  { by, comment, at, until }: Acknowledgement,
  reading?: Reading,
): SeriesState {
  if (state.level === 'ok') return state
  const acknowledged: Acknowledged = {
    ...{ at, by, until },
    ...(comment === undefined ? {} : { comment }),
    ...numbersOf(reading ?? saidReading(state)),
  }
  return { ...state, acknowledged }
}

/** The acknowledgement as long as it lasts. */
export function lastingAcknowledgement(state: SeriesState | undefined, now: number): Acknowledged | undefined {
  return state?.acknowledged !== undefined && now < state.acknowledged.until ? state.acknowledged : undefined
}

export function withoutAcknowledgement(state: SeriesState): SeriesState {
  if (state.acknowledged === undefined) return state
  const { acknowledged: _, ...rest } = state
  return rest
}

/** Percentage points that are no longer what was acknowledged. */
const WORSE_POINTS = 5
/** Shares of a limit are not quite exact. */
const HAIR = 1e-9

/**
 * Whether a reading at the same level is worse than what was acknowledged: by points of the limit, or of what has no limit
 * by any rise; where its level asks what remains, also by half of that.
 */
export function isWorse(
  acknowledged: Acknowledged,
  { usage, limit, percent }: Reading,
  asksRemaining: boolean,
): boolean {
  if (percent === null || acknowledged.percent === undefined) {
    return acknowledged.usage !== undefined && usage > acknowledged.usage
  }
  if (percent - acknowledged.percent >= WORSE_POINTS - HAIR) return true
  const was = acknowledged.remaining
  return asksRemaining && limit !== null && was !== undefined && was > 0 && limit - usage <= was / 2
}

function saidReading({ said }: SeriesState): Reading | undefined {
  if (said === null) return undefined
  const { usage, limit = null } = said
  return { usage, limit, percent: limit === null ? null : (usage * 100) / limit }
}

function numbersOf(reading: Reading | undefined): Pick<Acknowledged, 'usage' | 'percent' | 'remaining'> {
  if (reading === undefined) return {}
  const { usage, limit, percent } = reading
  return {
    usage,
    ...(percent === null ? {} : { percent }),
    ...(limit === null ? {} : { remaining: limit - usage }),
  }
}
