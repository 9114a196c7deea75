import { validateHeaderName, validateHeaderValue } from 'node:http'
import { REPORT_TABLE, type ReportName } from './report-table.ts'

const OTHER_ENDPOINTS = ['token', 'metadata', 'delete', 'companion', 'hooks', 'smtp'] as const

export type FaultyEndpoint = (typeof OTHER_ENDPOINTS)[number] | ReportName

const FAULTY_ENDPOINTS: readonly FaultyEndpoint[] = [...OTHER_ENDPOINTS, ...REPORT_TABLE.map(({ name }) => name)]

/**
 * A fault on purpose. Applied before the call changes anything, unless with `after` the work is
 * done and only the answer is lost.
 */
export interface Fault {
  readonly endpoint: FaultyEndpoint
  /** Only for calls of this account; on the token endpoint, of the account that the code or refresh token belongs to. */
  readonly hubId?: number
  /** HTTP status; for `smtp` the reply code, 400 to 599. Without a body: the provider's usual error JSON. */
  readonly status?: number
  /** Text is sent as it is (as HTML where it begins with `<`), anything else as JSON. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
  /** Milliseconds before the answer; alone it delays and then answers as usual. */
  readonly delayMs?: number
  /** The connection ends without an answer. */
  readonly drop?: boolean
  /** How many calls it meets. Without it: every one until the faults are cleared. */
  readonly times?: number
  readonly after?: boolean
}

/** Standing faults. The first that matches and has times left wins. */
export class Faults {
  #standing: { fault: Fault; timesLeft: number }[] = []

  add(fault: Fault): void {
    this.#standing.push({ fault, timesLeft: fault.times ?? Number.POSITIVE_INFINITY })
  }

  /** The fault that meets this call, one of its times used up. */
  take(endpoint: FaultyEndpoint, hubId: number | null): Fault | undefined {
    if (this.#standing.length === 0) return undefined
    const met = this.#standing.find(({ fault }) => matches(fault, endpoint, hubId))
    if (met === undefined) return undefined
    met.timesLeft--
    if (met.timesLeft <= 0) this.#standing = this.#standing.filter((other) => other !== met)
    return met.fault
  }

  /** Faults with times left, in the order they are tried. */
  list(): (Fault & { timesLeft?: number })[] {
    return this.#standing.map(({ fault, timesLeft }) => (Number.isFinite(timesLeft) ? { ...fault, timesLeft } : fault))
  }

  clear(): void {
    this.#standing = []
  }
}

function matches(fault: Fault, endpoint: FaultyEndpoint, hubId: number | null): boolean {
  return fault.endpoint === endpoint && (fault.hubId === undefined || fault.hubId === hubId)
}

export interface FieldProblem {
  readonly field: string
  readonly problem: string
}

/** Reads a fault as it came in; a problem names the first field that is wrong. */
export function parseFault(value: Record<string, unknown>): Fault | FieldProblem {
  for (const [field, given] of Object.entries(value)) {
    const problem = Object.hasOwn(FIELD_PROBLEM, field)
      ? FIELD_PROBLEM[field as keyof Fault](given)
      : `unknown, allowed are ${Object.keys(FIELD_PROBLEM).join(', ')}`
    if (problem !== undefined) return { field, problem }
  }
  const fault = value as Partial<Fault>
  if (fault.endpoint === undefined) return { field: 'endpoint', problem: ONE_OF_ENDPOINTS }
  const { endpoint, hubId, status, body, headers, delayMs, drop } = fault
  const isSmtp = endpoint === 'smtp'
  if (isSmtp && status !== undefined && status < 400) {
    return { field: 'status', problem: 'must be an SMTP reply code of 400 to 599' }
  }
  if ((isSmtp || endpoint === 'hooks') && hubId !== undefined) {
    return { field: 'hubId', problem: 'mails and webhooks belong to no account' }
  }
  if ([status, body, headers, delayMs].every((effect) => effect === undefined) && (drop ?? false) === false) {
    return { field: 'status', problem: 'missing: a fault needs a status, body, headers, delayMs or drop' }
  }
  return { ...(fault as Fault), ...(headers !== undefined && { headers: asTexts(headers) }) }
}

/** `{ "Retry-After": 5 }` is how most people write it. */
function asTexts(headers: Readonly<Record<string, unknown>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]))
}

const ONE_OF_ENDPOINTS = `must be one of ${FAULTY_ENDPOINTS.join(', ')}`
const LONGEST_DELAY_MS = 24 * 3_600_000

const FIELD_PROBLEM: Record<keyof Fault, (given: unknown) => string | undefined> = {
  endpoint: (given) => (FAULTY_ENDPOINTS.some((name) => name === given) ? undefined : ONE_OF_ENDPOINTS),
  hubId: (given) => wholeNumberProblem(given, 1, Number.MAX_SAFE_INTEGER),
  status: (given) => wholeNumberProblem(given, 200, 599),
  body: () => undefined,
  headers: headersProblem,
  delayMs: (given) => wholeNumberProblem(given, 0, LONGEST_DELAY_MS),
  drop: (given) => (typeof given === 'boolean' ? undefined : 'must be true or false'),
  times: (given) => wholeNumberProblem(given, 1, Number.MAX_SAFE_INTEGER),
  after: (given) => (typeof given === 'boolean' ? undefined : 'must be true or false'),
}

export function wholeNumberProblem(given: unknown, from: number, to: number): string | undefined {
  const fits = typeof given === 'number' && Number.isInteger(given) && given >= from && given <= to
  return fits ? undefined : `must be a whole number from ${from} to ${to}`
}

function headersProblem(given: unknown): string | undefined {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return 'must be an object of texts'
  for (const [name, value] of Object.entries(given)) {
    if (typeof value !== 'string' && typeof value !== 'number') return `${name} must be a text`
    try {
      validateHeaderName(name)
      validateHeaderValue(name, String(value))
    } catch {
      return `${name} can't be sent as an HTTP header`
    }
  }
  return undefined
}
