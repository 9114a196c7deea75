/** The two steps of a stop. */
export interface StopSignals {
  /** Begin nothing new. */
  stopping: AbortSignal
  /** Time is up: let go of what is under way. */
  abandon: AbortSignal
}
