import type { Family } from './classify.ts'
import type { HttpRequest } from './http.ts'

/**
 * The two versions of the interface. `v1` is what is in force today, until the provider switches its OAuth endpoints off.
 * `2026-03` is the announced successor: tokens travel in bodies, no longer in paths.
 */
export type DialectName = 'v1' | '2026-03'

export interface AppCredentials {
  clientId: string
  clientSecret: string
}

/** How each call is written in one dialect. Tokens come in clear text here and nowhere else. */
export interface Dialect {
  /** The day on which the provider switches it off, ISO 8601. Source: its changelog. */
  ends?: string
  /** Form of a grant (interface 4.1, 4.2). */
  token(form: Record<string, string>): HttpRequest
  metadata(accessToken: string, app: AppCredentials): HttpRequest
  /** Family of the metadata endpoint's refusals. */
  metadataFamily: Family
  deleteRefreshToken(refreshToken: string, app: AppCredentials): HttpRequest
  /** One of the limits endpoints, by its path below their base. */
  limits(accessToken: string, path: string): HttpRequest
}

/** Proxies that compress without being asked are known to forget to say so. */
const ACCEPT_JSON = { accept: 'application/json', 'accept-encoding': 'identity' }

export const DIALECTS: Record<DialectName, Dialect> = {
  v1: {
    ends: '2027-02-16',
    token: (form) => post('/oauth/v1/token', form),
    metadataFamily: 'crm',
    metadata: (accessToken) => ({
      method: 'GET',
      path: `/oauth/v1/access-tokens/${encodeURIComponent(accessToken)}`,
      headers: ACCEPT_JSON,
    }),
    deleteRefreshToken: (refreshToken) => ({
      method: 'DELETE',
      path: `/oauth/v1/refresh-tokens/${encodeURIComponent(refreshToken)}`,
      headers: ACCEPT_JSON,
    }),
    limits: (accessToken, path) => getJson(accessToken, `/crm/v3/limits${path}`),
  },
  '2026-03': {
    token: (form) => post('/oauth/2026-03/token', form),
    metadataFamily: 'token',
    metadata: (accessToken, app) =>
      post('/oauth/2026-03/token/introspect', {
        ...credentials(app),
        token: accessToken,
        token_type_hint: 'access_token',
      }),
    deleteRefreshToken: (refreshToken, app) =>
      post('/oauth/2026-03/token/revoke', {
        ...credentials(app),
        token: refreshToken,
        token_type_hint: 'refresh_token',
      }),
    limits: (accessToken, path) => getJson(accessToken, `/crm/limits/2026-03${path}`),
  },
}

const DAY_MS = 24 * 3_600_000

/**
 * The day on which a dialect is switched off, and the whole days until then (below 0: since); undefined if no day is
 * set.
 */
export function endOf(dialect: DialectName, now: number): { day: string; daysLeft: number } | undefined {
  const { ends } = DIALECTS[dialect]
  return ends === undefined ? undefined : { day: ends, daysLeft: Math.floor((Date.parse(ends) - now) / DAY_MS) }
}

function getJson(accessToken: string, path: string): HttpRequest {
  return { method: 'GET', path, headers: { ...ACCEPT_JSON, authorization: `Bearer ${accessToken}` } }
}

const FORM_HEADERS = { ...ACCEPT_JSON, 'content-type': 'application/x-www-form-urlencoded' }

function post(path: string, form: Record<string, string>): HttpRequest {
  return { method: 'POST', path, headers: FORM_HEADERS, body: encodeForm(form) }
}

/** Characters that a form sends unescaped: most tokens have no others. */
const PLAIN = /^[\w*.-]*$/

/** The form as `URLSearchParams` would write it, which takes five times as long: 3 us of every refresh. */
function encodeForm(form: Record<string, string>): string {
  let body = ''
  for (const name in form) {
    const value = form[name] ?? ''
    const text = PLAIN.test(value) ? value : new URLSearchParams([['', value]]).toString().slice(1)
    body += `${body === '' ? '' : '&'}${name}=${text}`
  }
  return body
}

function credentials(app: AppCredentials): Record<string, string> {
  return { client_id: app.clientId, client_secret: app.clientSecret }
}

/** Any one of these lets both limits endpoints be read; `oauth` and schema scopes don't. */
const LIMITS_SCOPE = /^(crm\.objects\..+\.(read|write)(\.v\d+)?|tickets(\..+)?|e-commerce|media_bridge\.read)$/

/** True where polls will be answered with these scopes, not refused. */
export function opensLimits(scopes: readonly string[]): boolean {
  return scopes.some((scope) => LIMITS_SCOPE.test(scope))
}
