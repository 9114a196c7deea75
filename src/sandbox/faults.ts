import { z } from 'zod'
import { fields, wholeFrom } from './fields.ts'
import { REPORT_TABLE } from './report-table.ts'

const ENDPOINTS = ['token', 'metadata', 'delete', 'companion', 'hooks', 'smtp'] as const
const LONGEST_DELAY_MS = 24 * 3_600_000

const headerName = z.string().regex(/^[\w!#$%&'*+.^`|~-]+$/)
const headerValue = z.coerce.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, "can't be sent in an HTTP header")

/**
 * A fault on purpose. Applied before the call changes anything, unless with `after` the work is
 * done and only the answer is lost.
 */
export const faultShape = fields({
  endpoint: z.enum([...ENDPOINTS, ...REPORT_TABLE.map(({ name }) => name)]),
  /** Only for calls of this account; on the token endpoint, of the account that the code or refresh token belongs to. */
  hubId: wholeFrom(1).exactOptional(),
  /** HTTP status; for `smtp` the reply code. Without a body: the provider's usual error JSON. */
  status: wholeFrom(200, 599).exactOptional(),
  /** Text is sent as it is (as HTML where it begins with `<`), anything else as JSON. */
  body: z.unknown().exactOptional(),
  headers: z.record(headerName, headerValue).exactOptional(),
  /** Milliseconds before the answer; alone it delays and then answers as usual. */
  delayMs: wholeFrom(0, LONGEST_DELAY_MS).exactOptional(),
  /** The connection ends without an answer. */
  drop: z.boolean().exactOptional(),
  /** How many calls it meets. Without it: every one until the faults are cleared. */
  times: wholeFrom(1).exactOptional(),
  after: z.boolean().exactOptional(),
})

export type Fault = z.output<typeof faultShape>
export type FaultyEndpoint = Fault['endpoint']

/** Standing faults. The first that matches wins. */
export class Faults {
  #standing: Fault[] = []

  add(fault: Fault): void {
    this.#standing.push(fault)
  }

  /** The fault that meets this call, one of its times used up. */
  take(endpoint: FaultyEndpoint, hubId: number | null): Fault | undefined {
    const met = this.#standing.find(
      (fault) => fault.endpoint === endpoint && (fault.hubId === undefined || fault.hubId === hubId),
    )
    if (met?.times === undefined) return met
    met.times--
    if (met.times === 0) this.#standing = this.#standing.filter((other) => other !== met)
    return met
  }

  /** In the order they are tried, with the times that are left. */
  list(): readonly Fault[] {
    return this.#standing
  }

  clear(): void {
    this.#standing = []
  }
}
