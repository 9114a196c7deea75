import type { AccountBucket } from './account-bucket.ts'

/**
 * A failed call, as a value that decides what to do next:
 * - `transient`: it may work later. Overload, outage, a broken connection, an answer that can't be read.
 * - `parked`: the provider asks for a pause of `retryAfterMs` (an account that moves to another data center).
 * - `unauthorized`: the access token was not accepted. Refresh once, try once more.
 * - `forbidden`: the grant lacks a scope. Nothing to retry until the customer grants it.
 * - `rejected`: the refresh token (or the code) is refused, or its account is gone. To be confirmed before it is believed.
 * - `client`: the app itself is refused - its id, its secret, the request's form. No account is at fault.
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
  /** Of `forbidden`: the scopes that the answer names, any one of which may do. It is known to name the wrong ones. */
  scopes?: string[]
}

export type ProviderResult<T> = { ok: true; value: T } | { ok: false; failure: ProviderFailure }

/** Of a call to the CRM: beside value or failure, the account's bucket if the answer has it. */
export type CrmResult<T> = ProviderResult<T> & { bucket?: AccountBucket }

export function failed(failure: ProviderFailure): { ok: false; failure: ProviderFailure } {
  return { ok: false, failure }
}
