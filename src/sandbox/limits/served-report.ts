import type { AccountMoment } from '../scenario.ts'
import type { ScopeRule } from '../scopes.ts'

/** A requested report: object types in its path, and its query as it came. */
export interface AskedReport {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly query?: Readonly<Record<string, unknown>>
}

/** A number of something in an account, with its limit where it has one of its own. */
export interface ServedCount {
  /** An object type's id, `from/to` for a pair of them, or a word for a sum. */
  readonly key: string
  readonly usage: number
  readonly limit?: number
}

/** Counts with those that were set by hand in their place. */
export type ChangedCounts = (counts: readonly ServedCount[]) => readonly ServedCount[]

/** One limits report of the provider: a GET below each base of the limits endpoints. */
export interface ServedReport<Name extends string = string> {
  /** In the journal and for faults. */
  readonly name: Name
  /** Below the base; may have `:from` and `:to`. */
  readonly path: string
  /** Below an account in the control paths; without it, as `path`. */
  readonly controlPath?: string
  /** Without it: any of the scopes that the limits endpoints of this version want. */
  readonly scopes?: ScopeRule
  /** False where the request is one of many, so that the text isn't worth keeping. */
  readonly isKept?: (asked: AskedReport) => boolean
  /** Counts in the account that can be set; without it, only the whole report can be replaced. */
  readonly counts?: (moment: AccountMoment) => readonly ServedCount[]
  /** Time in which the provider goes on counting deleted objects. */
  readonly deletedForMs?: number
  readonly body: (moment: AccountMoment, asked: AskedReport, changed: ChangedCounts) => object
}

interface CountedReport<Name extends string> extends Omit<ServedReport<Name>, 'body' | 'counts'> {
  readonly counts: (moment: AccountMoment) => readonly ServedCount[]
  readonly written: (counts: readonly ServedCount[], moment: AccountMoment, asked: AskedReport) => object
}

/** A report that is nothing but counts, written in its own way. */
export function servedCounts<const Name extends string>(report: CountedReport<Name>): ServedReport<Name> {
  const { counts, written, ...rest } = report
  return {
    ...rest,
    counts,
    body: (moment, asked, changed) => written(changed(counts(moment)), moment, asked),
  }
}
