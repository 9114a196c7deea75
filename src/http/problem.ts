import { STATUS_CODES } from '../runtime/node-http.ts'
import type { ProblemShape } from './problem-shape.ts'

/** The fault of one parameter or field of a request. */
export interface ParameterFault {
  parameter: string
  detail: string
}

/** The default of a status. Programs decide by these, so none is ever renamed. */
const KIND_OF_STATUS = {
  400: 'invalid-request',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not-found',
  405: 'method-not-allowed',
  408: 'request-timeout',
  409: 'conflict',
  410: 'gone',
  413: 'body-too-large',
  414: 'address-too-long',
  415: 'unsupported-media-type',
  429: 'too-many-requests',
  431: 'headers-too-large',
  500: 'internal-error',
  502: 'provider-error',
  503: 'unavailable',
} as const

/** And where one status has several causes that a program must distinguish. */
const MORE_KINDS = ['reauthorize', 'ambiguous', 'redis-away'] as const

export type ProblemKind = (typeof KIND_OF_STATUS)[keyof typeof KIND_OF_STATUS] | (typeof MORE_KINDS)[number]
export const PROBLEM_KINDS: readonly ProblemKind[] = [...Object.values(KIND_OF_STATUS), ...MORE_KINDS]

const KINDS: Readonly<Record<number, ProblemKind | undefined>> = KIND_OF_STATUS

/**
 * An answer that is no success, thrown where it is found. The API answers it as problem details (RFC 9457), the pages as
 * a page. `detail` is for the caller: it has nothing of the inside.
 */
export class Problem extends Error {
  readonly status: number
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
  readonly faults: readonly ParameterFault[]
  readonly kind: ProblemKind
  /** The way out at a command line. */
  readonly hint: string | undefined

  constructor(
    status: number,
    detail: string,
    headers: Record<string, string> = {},
    faults: readonly ParameterFault[] = [],
    kind: ProblemKind = KINDS[status] ?? (status < 500 ? 'invalid-request' : 'internal-error'),
    hint?: string,
  ) {
    super(detail)
    this.status = status
    this.detail = detail
    this.headers = headers
    this.faults = faults
    this.kind = kind
    this.hint = hint
  }

  get title(): string {
    return STATUS_CODES[this.status] ?? 'Error'
  }

  toJSON(): ProblemShape {
    return {
      type: `urn:plimsoll:problem:${this.kind}`,
      title: this.title,
      status: this.status,
      detail: this.detail,
      ...(this.faults.length === 0 ? {} : { errors: [...this.faults] }),
      ...(this.hint === undefined ? {} : { hint: this.hint }),
    }
  }
}

export function unknownAccount(hubId: string | number): Problem {
  return new Problem(404, `There is no account ${hubId}.`)
}

/** A fault of one parameter or field that no schema finds. */
export function wrongParameter(parameter: string, detail: string): Problem {
  return new Problem(400, `${parameter}: ${detail}`, {}, [{ parameter, detail }])
}
