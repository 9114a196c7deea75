import type { SampleRecord } from '../limits/samples.ts'
import type { AlertLevel, PollCause } from './alert.ts'

/** What is remembered of a series between polls; nothing is remembered of one that is plainly well. */
export interface SeriesState {
  level: AlertLevel | 'ok'
  /** Name of the rule that decided last. */
  rule: string
  /** When the alert opened, ms; the level may have changed since. */
  since: number
  /** Transitions of this alert so far: part of their ids. */
  transitions: number
  /** When the last of them was committed, ms. */
  toldAt: number
  /** What the last message said. */
  said: Said | null
  /** Polls in a row that found a higher level than the one in force. */
  pending: { warning: number; critical: number; sinceFirstReading: boolean } | null
  /** The level is in force by the forecast alone: nothing else would hold it. */
  foreseen?: true
  /** Of a poll alert: what it was told with. */
  cause?: PollCause
  /** It was at both levels since it opened: whoever gets alerts of either knows of it. */
  wasAtBoth?: true
  /** Somebody knows: it is not told again before it gets worse. */
  acknowledged?: Acknowledged
}

export interface Said {
  level: AlertLevel
  usage: number
  limit?: number
  /** ms */
  at: number
  /** The records that it named; absent where it named none. */
  records?: readonly NamedRecord[]
  /** How many more there were than it named; absent where it named all. */
  unnamed?: number
}

type ObjectId = SampleRecord['objectId']

/** A record by its id, with its label where labels are kept. */
export type NamedRecord = ObjectId | readonly [id: ObjectId, label: string]

export interface Acknowledged {
  /** ms */
  at: number
  by: string
  comment?: string
  /** Its end even if nothing gets worse, ms. */
  until: number
  /** How it stood then. Absent for alerts that are not about a number. */
  usage?: number
  percent?: number
  remaining?: number
}
