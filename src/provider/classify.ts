import { retryAfterMs } from '../runtime/retry-after.ts'
import { CallError } from './call-error.ts'
import { type FailureClass, OTHER_DATA_CENTER, type ProviderFailure } from './failure.ts'
import type { HttpResponse } from './http.ts'
import { asObject, type JsonObject, optionalString, parseJson, UnreadableError } from './read.ts'

/** Which family of endpoints answered: they use different words for the same number. */
export type Family = 'token' | 'crm'

/** An account that moves to another data center: a pause of up to a day. */
const MIGRATING = 477
/** An account that is in another data center than the one that was asked. */
const MISDIRECTED = 488

/** Code of a failure whose answer is not the provider's: the page of a firewall, of a proxy, of a captive portal. */
export const INTERMEDIARY = 'intermediary'

/** Code of a failure whose answer came with a status of success, and can't be read. */
export const UNREADABLE = 'unreadable'

/**
 * The failure in an answer that is no success, by the provider's three shapes of error bodies: OAuth's (`error`,
 * `error_description`, `status`), the CRM's (`category`, `message`, `context`), the rate limit's (`errorType`,
 * `policyName`). Any field may be missing. An answer without a known word in one of these shapes is not the provider's: firewalls
 * and proxies answer with any status, for all accounts alike, and nothing follows from it about an account or the app. `clean`
 * takes out the secrets that were sent, which an error text may repeat.
 */
export function classifyAnswer(
  family: Family,
  answer: HttpResponse,
  now: number,
  clean: (text: string) => string,
): ProviderFailure {
  const { status } = answer
  const body = readErrorBody(answer.body)
  const said = family === 'token' ? tokenWord(body) : undefined
  const wait = retryAfterMs(answer.headers['retry-after'], now) ?? waitOfPolicy(family, status, body)
  const pause = wait === undefined ? {} : { retryAfterMs: wait }
  const dataCenter = status === MISDIRECTED ? dataCenterIn(body) : undefined
  if (dataCenter !== undefined) {
    const message = `the account is in data center ${dataCenter}: connect it again`
    return { class: 'rejected', code: OTHER_DATA_CENTER, message, status }
  }
  const kind = classOf(family, status, body, said)
  if (isPage(answer.body) || (kind === undefined && !asksForLater(status))) {
    const code = asksForLater(status) ? String(status) : INTERMEDIARY
    return { class: 'transient', code, message: describeStranger(answer, body, clean), status, ...pause }
  }
  const detail = detailOf(body)
  const scopes = kind === 'forbidden' ? readScopes(body, clean) : []
  return {
    class: kind ?? 'transient',
    code: codeOf(status, body, said, clean),
    message: `the provider answered ${status}${detail === undefined ? '' : `: ${shorten(clean(detail))}`}`,
    status,
    ...pause,
    ...(scopes.length === 0 ? {} : { scopes }),
  }
}

/** No answer, or an unreadable one with a status of success. */
export function classifyError(error: unknown): ProviderFailure {
  if (error instanceof CallError) return { class: 'transient', code: error.code, message: error.message, status: 0 }
  if (error instanceof UnreadableError) {
    return { class: 'transient', code: UNREADABLE, message: error.message, status: 200 }
  }
  throw error
}

/** True where the app's secret is refused: another one may be right. */
export function isSecretRefused({ class: kind, code }: ProviderFailure): boolean {
  return kind === 'client' && SECRET_REFUSED.has(code.toLowerCase())
}

const SECRET_REFUSED: ReadonlySet<string> = new Set(['invalid_client', 'bad_client_secret'])

/** True where the app itself is refused, by its id, its secret or its redirect address: no account has a part in it. */
export function isAppRefused({ class: kind, code }: Pick<ProviderFailure, 'class' | 'code'>): boolean {
  return kind === 'client' && (APP_REFUSED.has(code.toLowerCase()) || REDIRECT.test(code))
}

const APP_REFUSED: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'bad_client_id',
  'bad_client_secret',
])
const REDIRECT = /redirect[_ ]ur[il]/i
const GRANT_REFUSED: ReadonlySet<string> = new Set([
  'invalid_grant',
  'bad_refresh_token',
  'bad_auth_code',
  'expired_auth_code',
  // The account was deleted, or has disconnected the app.
  'bad_hub',
])
const LATER: ReadonlySet<string> = new Set(['temporarily_unavailable', 'server_error'])
/** The request itself, in OAuth's words. */
const REQUEST_REFUSED: ReadonlySet<string> = new Set([
  'invalid_request',
  'unsupported_grant_type',
  'invalid_scope',
  'bad_request',
  'bad_grant_type',
])

interface TokenWord {
  means: 'app' | 'grant' | 'later' | 'request'
  word: string
}

const MISMATCH: TokenWord = { means: 'app', word: 'redirect_uri_mismatch' }

/** The most telling word of an answer of the token endpoint: the app's own error may come as a kind of refused grant. */
function tokenWord(body: JsonObject): TokenWord | undefined {
  const words = [body.status, body.error].filter((word) => typeof word === 'string')
  const find = (means: TokenWord['means'], known: (word: string) => boolean): TokenWord | undefined => {
    const word = words.find((one) => known(one.toLowerCase()))
    return word === undefined ? undefined : { means, word }
  }
  const refused = find('grant', (word) => GRANT_REFUSED.has(word))
  return (
    find('app', (word) => APP_REFUSED.has(word) || REDIRECT.test(word)) ??
    // OAuth has no word of its own for it (RFC 6749, 5.2).
    (refused !== undefined && REDIRECT.test(detailOf(body) ?? '') ? MISMATCH : refused) ??
    find('later', (word) => LATER.has(word)) ??
    find('request', (word) => REQUEST_REFUSED.has(word))
  )
}

/** Undefined: the answer is not the provider's. */
function classOf(
  family: Family,
  status: number,
  body: JsonObject,
  said: TokenWord | undefined,
): FailureClass | undefined {
  if (status === 429 || isOfIntermediary(status)) return undefined
  if (said?.means === 'app') return 'client'
  if (said?.means === 'grant') return 'rejected'
  const isMigrating = status === MIGRATING && /migrat/i.test(optionalString(body, 'message') ?? '')
  if (said === undefined && !isCrmError(body) && !isMigrating) return undefined
  if (status === MIGRATING) return 'parked'
  if (said?.means === 'later' || asksForLater(status)) return 'transient'
  if (family === 'token') return 'client'
  if (status === 401) return 'unauthorized'
  return status === 403 ? 'forbidden' : 'client'
}

/** Statuses with one meaning for every sender. */
function asksForLater(status: number): boolean {
  return status === 408 || status === 423 || status === 425 || status === 429 || status >= 500
}

/** Redirects, and statuses of proxies and load balancers: the provider has no others of its own than these two. */
function isOfIntermediary(status: number): boolean {
  if (status >= 460 && status <= 499) return status !== MIGRATING && status !== MISDIRECTED
  return (status >= 300 && status < 400) || status === 407 || status === 421 || status === 451
}

const CATEGORIES: ReadonlySet<unknown> = new Set([
  'EXPIRED_AUTHENTICATION',
  'INVALID_AUTHENTICATION',
  'MISSING_SCOPES',
  'FORBIDDEN',
  'OBJECT_NOT_FOUND',
  'VALIDATION_ERROR',
  'RATE_LIMITS',
  'LOCKED',
  'INTERNAL_ERROR',
])

/** The form of the provider's errors outside OAuth; their categories are many, and each comes with `status` and `message`. */
function isCrmError(body: JsonObject): boolean {
  if (CATEGORIES.has(body.category)) return true
  const status = optionalString(body, 'status')
  const isKnown = status === 'error' || GRANT_REFUSED.has(status?.toLowerCase() ?? '')
  return isKnown && optionalString(body, 'message') !== undefined
}

const DATA_CENTER = /\bHublet ([a-z]{2}\d{1,2})\b/g

function dataCenterIn(body: JsonObject): string | undefined {
  const named = optionalString(body, 'correctHublet')
  if (named !== undefined && /^[a-z]{2}\d{1,2}$/.test(named)) return named
  return [...(optionalString(body, 'message') ?? '').matchAll(DATA_CENTER)].at(-1)?.[1]
}

function detailOf(body: JsonObject): string | undefined {
  return optionalString(body, 'error_description') ?? optionalString(body, 'message')
}

function codeOf(
  status: number,
  body: JsonObject,
  said: TokenWord | undefined,
  clean: (text: string) => string,
): string {
  const word =
    said?.word ??
    optionalString(body, 'category') ??
    optionalString(body, 'policyName') ??
    // "error" adds nothing to the number.
    [optionalString(body, 'status'), optionalString(body, 'error')].find(
      (value) => value !== undefined && value !== 'error',
    )
  return word !== undefined && /^[A-Za-z_]{1,60}$/.test(word) && clean(word) === word ? word : String(status)
}

/** Part of a body in which a title may be: pages begin with it. */
const HEAD_BYTES = 20_000

/** True where a body is HTML or XML, whatever it is labeled: no answer of the provider is. */
export function isPage(body: Buffer): boolean {
  return /^\s*</.test(body.toString('latin1', 0, 1_000))
}

/** The failure of a page that came with a status of success. */
export function classifyPage(answer: HttpResponse, clean: (text: string) => string): ProviderFailure {
  return { class: 'transient', code: INTERMEDIARY, message: describeStranger(answer, {}, clean), status: answer.status }
}

function describeStranger({ status, body }: HttpResponse, json: JsonObject, clean: (text: string) => string): string {
  const text = body.toString('utf8', 0, HEAD_BYTES)
  if (isPage(body)) {
    const title = titleOf(text, clean)
    return `a page of a firewall or proxy (${status})${title === '' ? '' : `: ${title}`}`
  }
  if (status >= 300 && status < 400) return `a redirect by a firewall or proxy (${status})`
  if (text.trim() === '') return `an empty answer of a firewall or proxy (${status})`
  const detail = detailOf(json) ?? optionalString(json, 'error') ?? (/^\s*[[{]/.test(text) ? '' : text)
  const said = shorten(clean(detail), MOST_TITLE).trim()
  return `an answer of a firewall or proxy (${status})${said === '' ? '' : `: ${said}`}`
}

const MOST_TITLE = 80

function titleOf(page: string, clean: (text: string) => string): string {
  const [, title = ''] = /<title[^>]*>([^<]*)/i.exec(page) ?? /<h1[^>]*>([^<]*)/i.exec(page) ?? []
  return shorten(clean(withoutEntities(title)), MOST_TITLE).trim()
}

const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }

function withoutEntities(text: string): string {
  return text.replace(/&(?:#(\d{1,6})|#x([\da-f]{1,5})|([a-z]{2,5}));/gi, (whole, decimal, hex, name) => {
    const point = decimal === undefined ? Number.parseInt(hex, 16) : Number(decimal)
    return name === undefined
      ? String.fromCodePoint(Math.min(point, 0x10ffff))
      : (ENTITIES[name.toLowerCase()] ?? whole)
  })
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
function shorten(text: string, most = 200): string {
  const line = text
    .replace(/\p{Cf}/gu, '')
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/(?=\S*\d)[\w+/=~.%-]{20,}/g, '[removed]')
  // A cut may go through an emoji, and half of one is no text any more.
  return line.length <= most ? line : `${line.slice(0, most - 1).toWellFormed()}…`
}
