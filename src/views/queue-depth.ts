/** How much stands in a queue. */
export interface QueueDepth {
  queue: string
  waiting: number
  active: number
  delayed: number
  failed: number
  /** Since when the job that is next to be taken up could have been, ms; null where none waits. */
  oldestWaitingAt: number | null
}
