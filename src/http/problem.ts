import { STATUS_CODES } from 'node:http'

/** What is wrong with one parameter or field of a request. */
export interface Fault {
  parameter: string
  detail: string
}

/**
 * An answer that is no success, thrown where it is found. The API tells it as problem details (RFC 9457), the pages as
 * a page. `detail` is for whoever asked: nothing of the inside stands in it.
 */
export class Problem extends Error {
  readonly status: number
  readonly detail: string
  readonly headers: Readonly<Record<string, string>>
  readonly faults: readonly Fault[]

  constructor(status: number, detail: string, headers: Record<string, string> = {}, faults: readonly Fault[] = []) {
    super(detail)
    this.status = status
    this.detail = detail
    this.headers = headers
    this.faults = faults
  }

  get title(): string {
    return STATUS_CODES[this.status] ?? 'Error'
  }

  toJSON(): object {
    return {
      type: 'about:blank',
      title: this.title,
      status: this.status,
      detail: this.detail,
      ...(this.faults.length === 0 ? {} : { errors: this.faults }),
    }
  }
}

export function unknownAccount(hubId: string | number): Problem {
  return new Problem(404, `There is no account ${hubId}.`)
}
