import { retryAfterMs } from '../runtime/retry-after.ts'
import type { FailureClass, ProviderFailure } from './failure.ts'
import { CallError, type HttpResponse } from './http.ts'
import { asObject, type JsonObject, optionalString, parseJson, UnreadableError } from './read.ts'

/** Which family of endpoints answered: they use different words for the same number. */
export type Family = 'token' | 'crm'

/** An account that moves to another data center: a pause of up to a day. */
const MIGRATING = 477

/**
 * The failure in an answer that is no success, by the provider's three shapes of error bodies: OAuth's (`error`,
 * `error_description`, `status`), the CRM's (`category`, `message`, `context`), the rate limit's (`errorType`,
 * `policyName`). Any field may be missing, the body may be HTML. `clean` takes out the secrets that were sent, which an
 * error text may repeat.
 */
export function classifyAnswer(
  family: Family,
  answer: HttpResponse,
  now: number,
  clean: (text: string) => string,
): ProviderFailure {
  const body = readErrorBody(answer.body)
  const wait = retryAfterMs(answer.headers['retry-after'], now) ?? waitOfPolicy(family, answer.status, body)
  const detail = optionalString(body, 'error_description') ?? optionalString(body, 'message')
  const kind = classOf(family, answer.status, body)
  const scopes = kind === 'forbidden' ? readScopes(body, clean) : []
  return {
    class: kind,
    code: codeOf(answer.status, body, clean),
    message: `the provider answered ${answer.status}${detail === undefined ? '' : `: ${shorten(clean(detail))}`}`,
    status: answer.status,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    ...(scopes.length === 0 ? {} : { scopes }),
  }
}

/** No answer, or an unreadable one with a status of success. */
export function classifyError(error: unknown): ProviderFailure {
  if (error instanceof CallError) return { class: 'transient', code: error.code, message: error.message, status: 0 }
  if (error instanceof UnreadableError) {
    return { class: 'transient', code: 'unreadable', message: error.message, status: 200 }
  }
  throw error
}

function classOf(family: Family, status: number, body: JsonObject): FailureClass {
  if (status === MIGRATING) return 'parked'
  if (status === 408 || status === 423 || status === 425 || status === 429 || status >= 500) return 'transient'
  return family === 'token' ? tokenClass(status, body) : crmClass(status)
}

function tokenClass(status: number, body: JsonObject): FailureClass {
  const words = [optionalString(body, 'status'), optionalString(body, 'error')]
  const says = (...refusals: string[]) => words.some((word) => word !== undefined && refusals.includes(word))
  if (status === 400 && says('BAD_REFRESH_TOKEN', 'BAD_AUTH_CODE', 'EXPIRED_AUTH_CODE', 'invalid_grant'))
    return 'rejected'
  // The account was deleted, or has disconnected the app; an older answer has 403.
  if ((status === 400 || status === 403) && says('BAD_HUB')) return 'rejected'
  return 'client'
}

function crmClass(status: number): FailureClass {
  if (status === 401) return 'unauthorized'
  if (status === 403) return 'forbidden'
  return 'client'
}

function codeOf(status: number, body: JsonObject, clean: (text: string) => string): string {
  const word =
    optionalString(body, 'category') ??
    optionalString(body, 'policyName') ??
    // "error" adds nothing to the number.
    [optionalString(body, 'status'), optionalString(body, 'error')].find(
      (value) => value !== undefined && value !== 'error',
    )
  return word !== undefined && /^[A-Za-z_]{1,60}$/.test(word) && clean(word) === word ? word : String(status)
}

/** How long the window is of a rate limit that was reached, where the answer has no `Retry-After`. */
const WAIT_OF_POLICY: ReadonlyMap<unknown, number> = new Map([
  ['TEN_SECONDLY_ROLLING', 10_000],
  // The end of the provider's day is not known: trying each hour costs little.
  ['DAILY', 3_600_000],
])

/** Only of an account's calls: those of the token endpoint have a pace of their own. */
function waitOfPolicy(family: Family, status: number, body: JsonObject): number | undefined {
  return family === 'crm' && status === 429 ? WAIT_OF_POLICY.get(body.policyName) : undefined
}

const MOST_SCOPES = 20
const SCOPE = /^(?=.{1,80}$)[a-z][a-z_-]*(\.[a-z][a-z0-9_-]*)*$/

/**
 * `requiredScopes` and `requiredGranularScopes` in `errors[].context`, if they have the form of scopes: text from outside, to be
 * shown to people.
 */
function readScopes(body: JsonObject, clean: (text: string) => string): string[] {
  const named = listOf(body.errors).flatMap((error) => {
    const context = fieldOf(error, 'context')
    return [...listOf(fieldOf(context, 'requiredScopes')), ...listOf(fieldOf(context, 'requiredGranularScopes'))]
  })
  const scopes = named.filter((scope) => typeof scope === 'string' && SCOPE.test(scope) && clean(scope) === scope)
  return [...new Set(scopes as string[])].slice(0, MOST_SCOPES)
}

/** Longer texts are cut. */
const MOST_LISTED = 200

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value.slice(0, MOST_LISTED) : []
}

function fieldOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null ? (value as JsonObject)[name] : undefined
}

function readErrorBody(body: Buffer): JsonObject {
  try {
    return asObject(parseJson(body), 'the answer')
  } catch {
    return {}
  }
}

/**
 * A sentence from outside, fit for logs and terminals. Every word with the form of a token is taken out: an answer may repeat
 * more than what we sent.
 */
function shorten(text: string): string {
  const line = text
    .replace(/\p{Cf}/gu, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/(?=\S*\d)[\w+/=~.%-]{20,}/g, '[removed]')
  // A cut may go through an emoji, and half of one is no text any more.
  return line.length <= 200 ? line : `${line.slice(0, 199).toWellFormed()}…`
}
