import type { ObjectId } from '../../provider/read.ts'
import type { Pair } from '../pair.ts'

/** The name of a series, without its numbers. */
export interface SeriesName {
  /** A metric of the table in `all-reports.ts`. */
  metric: string
  objectTypeId?: string
  from?: string
  to?: string
}

/** One number of a report, as it was read. */
export interface ReportedValue extends SeriesName {
  /** Plural name of the object type, or of both of a pair: text from outside. */
  label?: string
  usage: number
  /** 0: none, or it could not be read. */
  limit: number
}

/** Samples of the records behind a report's numbers, as the provider shows them. */
export interface RecordSamples {
  atLimit: SampleRecord[]
  nearLimit: SampleRecord[]
}

export interface SampleRecord {
  objectId: ObjectId
  /** Text from outside: clean and escape it wherever it is shown. Absent where labels are not kept. */
  label?: string
  /** Absent for a record that is at its limit: the provider then gives no number. */
  usage?: number
}

/** The contents of an answer. */
export interface ReadReport {
  values: readonly ReportedValue[]
  records?: RecordSamples
  /** The first parts that could not be read, each with what is wrong with it; absent: all of it was. */
  gaps?: string[]
  /** Some object types could not be read: one that it doesn't name may still be there. */
  isPartial?: true
  /** Object types that it names beyond what is kept of one account; absent: none. */
  leftOut?: number
}

/** A number of a report, as rules, pages and mails use it. */
export interface MetricKind {
  /** First part of the ids of its series: `type` of `type/2-77`. Stored: never to be changed. */
  word: string
  about: 'account' | 'objectType' | 'pair'
  /** For people: `custom properties`; of one object type `of Contacts` follows. */
  noun: string
  /** The unit of usage: `associations`. */
  unit: string
  /** The noun is one thing: `the fullest record is`, not `are`. */
  isOne?: true
  /** Usage is a number of records that are full, or near it: it has no limit, so no percentage and nothing that remains. */
  counts?: 'full' | 'near'
  /**
   * A sample of what moves all the time: it has no history and no forecast, and is judged only by a rule that names it,
   * which `*` doesn't.
   */
  isSample?: true
  /** The provider shows a value only from this share of the limit on, in percent: 0 stands for anything below. */
  shownFrom?: number
}

/** Metrics that come together, and the words for them. */
export interface ReportWords {
  /** In the config, and the first part of its metrics. */
  name: string
  /** For people. */
  words: string
  /** The limit's name: `association limit`. */
  limitWords: string
  /** The customer's remedy for a full one. */
  wayOut: string
  /** In the order in which values are kept: a new one comes last. */
  metrics: Readonly<Record<string, MetricKind>>
  /** Set where the report is asked for once a pair. `none`: its values for a pair in which nothing is at its limit. */
  perPair?: { none: (pair: Pair, limit: number) => ReadReport }
}

/**
 * One of the provider's limits reports. All are alike: a file here, and its line in `all-reports.ts`. Everything behind them
 * knows series and the table of metrics alone.
 */
export interface Report extends ReportWords {
  /** Below the base of the limits endpoints; with `perPair` of one pair. */
  path: (pair: Pair) => string
  /** @throws UnreadableError */
  read: (json: unknown, pair: Pair) => ReadReport
  /** The report's object types are those that an account has. */
  namesTypes?: true
  /** An account's plan, or its scopes, may lack it: that is a state, and no failure. */
  mayLack?: true
}
