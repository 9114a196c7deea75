/** Why an operation was not done; the API has a status for each, the command line an exit code. */
export type RefusalKind =
  /** A field has a value that it can't have. */
  'wrong' | 'unknown' | 'conflict' | 'ambiguous' | 'reauthorize' | 'gone' | 'provider-failed' | 'unavailable'

/** One of several things that are wrong. */
export interface FieldFault {
  field: string
  why: string
}

interface More {
  /** The way out, for people at a command line. */
  hint?: string
  /** The field that is wrong. */
  field?: string
  /** Each thing that is wrong, where there may be several. */
  faults?: readonly FieldFault[]
  /** Not before that, ms. */
  until?: number | undefined
}

/** Thrown where it is found; `why` begins in lower case and has no dot at the end. */
export class Refusal extends Error {
  readonly kind: RefusalKind
  readonly hint: string | undefined
  readonly field: string | undefined
  readonly faults: readonly FieldFault[] | undefined
  readonly until: number | undefined

  constructor(kind: RefusalKind, why: string, { hint, field, faults, until }: More = {}) {
    super(why)
    this.kind = kind
    this.hint = hint
    this.field = field
    this.faults = faults
    this.until = until
  }
}

/** A field that has another value than it may have. */
export function wrongField(field: string, why: string): Refusal {
  return new Refusal('wrong', why, { field })
}

export function noAccount(hubId: number): Refusal {
  return new Refusal('unknown', `there is no account ${hubId}`, { hint: 'plimsoll accounts list shows all' })
}
