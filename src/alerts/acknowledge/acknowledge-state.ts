import type { Series } from '../../limits/series.ts'
import type { Acknowledged, SeriesState } from '../alert-state.ts'
import { asReading, stoodIn } from '../evaluation/worse.ts'

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
  const seen = reading ?? (state.said === null ? undefined : asReading(state.said))
  const acknowledged: Acknowledged = {
    ...{ at, by, until },
    ...(comment === undefined ? {} : { comment }),
    ...(seen === undefined ? {} : stoodIn(seen)),
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
