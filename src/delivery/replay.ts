/** Which of the deliveries that were given up are sent again: these, or all since a moment (ms), of one receiver or of all. */
export type Replay = { ids: readonly string[] } | { since: number; receiver: string | undefined }

/** What came of it. */
export type Replayed =
  /** `disabled`: receivers that are switched off, and get nothing. */
  { is: 'replayed'; replayed: number; disabled: string[] } | { is: 'unknown-receiver'; why: string }
