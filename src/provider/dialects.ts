import type { Family } from './classify.ts'
import type { HttpRequest } from './http.ts'

/** The versions of the interface. `v1` has tokens in paths; the dated ones have them in bodies, and each call names the app. */
export const DIALECT_NAMES = ['2026-09', '2026-03', 'v1'] as const
export type DialectName = (typeof DIALECT_NAMES)[number]

export interface AppCredentials {
  clientId: string
  clientSecret: string
}

/** How each call is written in one dialect. Tokens come in clear text here and nowhere else. */
export interface Dialect {
  /** Last day, or the month of the end: the provider's changelog for v1, 18 months of support for a dated version. */
  ends: string
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
  '2026-03': dated('2026-03', '2027-09'),
  '2026-09': dated('2026-09', '2028-03'),
}

function dated(version: string, ends: string): Dialect {
  const withToken = (path: string, app: AppCredentials, token: string, token_type_hint: string) =>
    post(`/oauth/${version}/token${path}`, { ...credentials(app), token, token_type_hint })
  return {
    ends,
    token: (form) => post(`/oauth/${version}/token`, form),
    metadataFamily: 'token',
    metadata: (accessToken, app) => withToken('/introspect', app, accessToken, 'access_token'),
    deleteRefreshToken: (refreshToken, app) => withToken('/revoke', app, refreshToken, 'refresh_token'),
    limits: (accessToken, path) => getJson(accessToken, `/crm/limits/${version}${path}`),
  }
}

const DAY_MS = 24 * 3_600_000
const NAMED_FROM_DAYS = 90

/** The end of a dialect in words, and what to do about it. `near`: fewer than 90 days are left. */
export interface DialectEnd {
  is: 'far' | 'near' | 'over'
  message: string
  fix: string
}

export function endOf(dialect: DialectName, now: number): DialectEnd {
  const { ends } = DIALECTS[dialect]
  const [newest] = DIALECT_NAMES
  const daysLeft = Math.floor((Date.parse(ends) - now) / DAY_MS)
  const when = `${ends.length === 7 ? 'about' : 'on'} ${ends}`
  const fix =
    dialect === newest
      ? 'install a version of Plimsoll that knows a newer API'
      : `set provider.api: ${newest} and send SIGHUP`
  if (daysLeft < 0) return { is: 'over', message: `API ${dialect} ended ${when}`, fix }
  const left = daysLeft === 1 ? '1 day' : `${daysLeft} days`
  return { is: daysLeft < NAMED_FROM_DAYS ? 'near' : 'far', message: `API ${dialect} ends ${when}, in ${left}`, fix }
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
