/**
 * A failed call, as a value that says what to do next:
 * - `transient`: it may work later. Overload, outage, a broken connection, an answer that can't be read.
 * - `parked`: the provider says to stay away for `retryAfterMs` (an account that moves to another data centre).
 * - `unauthorized`: the access token was not accepted. Refresh once, try once more.
 * - `forbidden`: the grant lacks a scope. Nothing to retry until somebody grants it.
 * - `rejected`: the refresh token (or the code) is refused. To be confirmed before it is believed.
 * - `client`: the app itself is refused - its id, its secret, the request's form. Nobody's account is at fault.
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
  retryAfterMs?: number
  /** Scopes that the provider says would do, where it refused for want of one. */
  scopes?: string[]
}

export type ProviderResult<T> = { ok: true; value: T } | { ok: false; failure: ProviderFailure }

export function failed(failure: ProviderFailure): { ok: false; failure: ProviderFailure } {
  return { ok: false, failure }
}
