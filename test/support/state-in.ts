import { decodeState, type SeriesState } from '../../src/alerts/alert-state.ts'

/** The state of an alert that a test knows to be there. */
export function stateIn(stored: string | null | undefined): SeriesState {
  const state = decodeState(stored)
  if (state === undefined) throw new Error(`no state of an alert: ${stored}`)
  return state
}
