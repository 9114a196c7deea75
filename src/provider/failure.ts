import type { Secret } from '../runtime/secret.ts'
import type { HttpResponse } from './http.ts'

/**
 * A failed call, as a value that decides what to do next. All but `transient` are the provider's own word:
 * - `transient`: it may work later. Overload, outage, a broken connection, an answer that can't be read, the page of a firewall
 *   or proxy (code `intermediary`).
 * - `parked`: the provider asks for a pause of `retryAfterMs` (an account that moves to another data center).
 * - `unauthorized`: the access token was not accepted. Refresh once, try once more.
 * - `forbidden`: the grant lacks a scope. Nothing to retry until the customer grants it.
 * - `rejected`: the refresh token (or the code) is refused, its account is gone, or is in another data center (status 488). To be
 *   confirmed before it is believed.
 * - `client`: the request is refused, or the app itself (`isAppRefused`). No account is at fault.
 */
export type FailureClass = 'transient' | 'parked' | 'unauthorized' | 'forbidden' | 'rejected' | 'client'

export interface ProviderFailure {
  class: FailureClass
  /** Short, stable, for logs and metrics: `429`, `BAD_REFRESH_TOKEN`, `timeout`, `unreadable`. */
  code: string
  /** One line for people, free of secrets. */
  message: string
  /** HTTP status; 0 where there was no answer. */
  status: number
  /** How long to pause, by the answer or its rate limit. */
  retryAfterMs?: number
  /**
   * For `forbidden`: the scopes that the answer names, any one of which may do. The provider is known to name the wrong
   * ones.
   */
  scopes?: string[]
  /** The answer of the token endpoint that can't be read, where it may hold tokens: they are nowhere else. */
  unread?: UnreadAnswer
}

export interface UnreadAnswer {
  /** In base64. */
  body: Secret
  /** The refresh token or the code that was sent, and when, ms. */
  sent: Secret
  sentAt: number
}

/** Code of the refusal of an account whose data is in another data center: trying again never helps, connecting again does. */
export const OTHER_DATA_CENTER = 'other-data-center'

export type ProviderResult<T> = { ok: true; value: T } | { ok: false; failure: ProviderFailure }

/** Result of a call to the CRM: beside value or failure, the account's bucket if the answer has it. */
export type CrmResult<T> = ProviderResult<T> & { bucket?: AccountBucket }

export function failed(failure: ProviderFailure): { ok: false; failure: ProviderFailure } {
  return { ok: false, failure }
}

/**
 * The account's bucket of calls at the provider, as an answer's headers describe it: so many per interval, so many left.
 * All of the app's calls for the account draw from it, not only ours. Source: the provider's usage guidelines.
 */
export interface AccountBucket {
  intervalMs: number
  max: number
  remaining: number
}

const LONGEST_INTERVAL_MS = 24 * 3_600_000
const LARGEST_BUCKET = 1_000_000_000

/** Undefined unless all three headers are there and make sense together: nothing is decided by half of it. */
export function readAccountBucket(headers: HttpResponse['headers']): AccountBucket | undefined {
  const intervalMs = readWhole(headers['x-hubspot-ratelimit-interval-milliseconds'])
  const max = readWhole(headers['x-hubspot-ratelimit-max'])
  const remaining = readWhole(headers['x-hubspot-ratelimit-remaining'])
  if (intervalMs === undefined || max === undefined || remaining === undefined) return undefined
  if (intervalMs < 1 || intervalMs > LONGEST_INTERVAL_MS) return undefined
  if (max < 1 || max > LARGEST_BUCKET || remaining > max) return undefined
  return { intervalMs, max, remaining }
}

/** A header that came twice is a list, and is ignored. */
function readWhole(value: string | string[] | undefined): number | undefined {
  return typeof value === 'string' && /^\d{1,10}$/.test(value.trim()) ? Number(value) : undefined
}
