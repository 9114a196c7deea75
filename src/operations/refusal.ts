/** Why an operation was not done; the API has a status for each, the command line an exit code. */
export type RefusalKind =
  /** A field has a value that it can't have. */
  'wrong' | 'unknown' | 'conflict' | 'ambiguous' | 'reauthorize' | 'gone' | 'provider-failed' | 'unavailable'

interface More {
  /** Advice for the command line. */
  wayOut?: string
  /** The field that is wrong. */
  field?: string
  /** Not before that, ms. */
  until?: number | undefined
}

/** Thrown where it is found; `why` begins in lower case and has no dot at the end. */
export class Refusal extends Error {
  readonly kind: RefusalKind
  readonly wayOut: string | undefined
  readonly field: string | undefined
  readonly until: number | undefined

  constructor(kind: RefusalKind, why: string, { wayOut, field, until }: More = {}) {
    super(why)
    this.kind = kind
    this.wayOut = wayOut
    this.field = field
    this.until = until
  }
}

/** A field that has another value than it may have. */
export function wrongField(field: string, why: string): Refusal {
  return new Refusal('wrong', why, { field })
}

export function noAccount(hubId: number): Refusal {
  return new Refusal('unknown', `there is no account ${hubId}`, { wayOut: 'plimsoll accounts list shows all' })
}
