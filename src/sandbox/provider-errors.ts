import { randomUUID } from 'node:crypto'
import { type Answer, json } from './answer.ts'
import type { GrantType } from './journal.ts'

/**
 * The provider's error bodies. There are three families: the token endpoint's (RFC 6749 plus `status` and `message`),
 * that of everything else (`category`, `correlationId`), and that of rate limits (`errorType`, `policyName`).
 * Sources: its published OpenAPI descriptions, its changelog of January 2026 on OAuth errors, and answers quoted in
 * public issues (HubSpot/hubspot-api-nodejs#268, HubSpot/hubspot-api-python#117, airbytehq/airbyte#74726).
 */

/** Why the token endpoint refuses a form: error, status and message. */
const OAUTH_REFUSALS = {
  'unknown-refresh-token': ['invalid_grant', 'BAD_REFRESH_TOKEN', 'refresh token is invalid, expired or revoked'],
  'unknown-code': ['invalid_grant', 'BAD_AUTH_CODE', 'missing or unknown auth code'],
  'expired-code': ['invalid_grant', 'EXPIRED_AUTH_CODE', 'the auth code expired'],
  'other-redirect-uri': [
    'invalid_grant',
    'BAD_REDIRECT_URI',
    'redirect_uri is not the one that the auth code was issued for',
  ],
  'unknown-client': ['invalid_client', 'BAD_CLIENT_ID', 'missing or unknown client id'],
  'wrong-secret': ['invalid_client', 'BAD_CLIENT_SECRET', 'missing or invalid client secret'],
  'other-grant-type': [
    'unsupported_grant_type',
    'BAD_GRANT_TYPE',
    'grant_type must be authorization_code or refresh_token',
  ],
  'no-form': ['invalid_request', 'BAD_REQUEST', 'the content type must be application/x-www-form-urlencoded'],
} satisfies Record<string, string[]>

export function oauthRefusal(why: keyof typeof OAUTH_REFUSALS | 'deleted-account', httpStatus = 400): Answer {
  // The account itself is gone, with all its grants: in its own words, of which the older answer had 403 and no `error`.
  if (why === 'deleted-account') {
    return json(400, { status: 'BAD_HUB', error: 'access_denied', message: 'hub is deleted or disconnected' })
  }
  const [error = '', status = '', message = ''] = OAUTH_REFUSALS[why]
  return oauthError(error, status, message, httpStatus)
}

export const missingParameter = (name: string): Answer =>
  oauthError('invalid_request', 'BAD_REQUEST', `missing required parameter ${name}`)

function oauthError(error: string, status: string, message: string, httpStatus = 400): Answer {
  return json(httpStatus, { error, error_description: message, status, message })
}

function crmError(status: number, category: string, message: string, more: object = {}): Answer {
  return json(status, { status: 'error', message, correlationId: randomUUID(), category, ...more })
}

export const invalidAuthentication = (): Answer =>
  crmError(
    401,
    'INVALID_AUTHENTICATION',
    'Authentication credentials not found. This API supports OAuth 2.0 authentication and you can find more details at https://developers.hubspot.com/docs/methods/auth/oauth-overview',
  )

/** Both in milliseconds since 1970. */
export function expiredAuthentication(expiredAt: number, now: number): Answer {
  const seconds = Math.max(0, Math.floor((now - expiredAt) / 1000))
  return crmError(
    401,
    'EXPIRED_AUTHENTICATION',
    `The OAuth token used to make this call expired ${seconds} second(s) ago.`,
    { context: { 'expire time': [new Date(expiredAt).toISOString()] } },
  )
}

export const missingScopes = (requiredScopes: readonly string[]): Answer =>
  crmError(
    403,
    'MISSING_SCOPES',
    "This app hasn't been granted all required scopes to make this call. Read more about required scopes here: https://developers.hubspot.com/scopes.",
    {
      errors: [{ message: 'One or more of the following scopes are required.', context: { requiredScopes } }],
      links: { scopes: 'https://developers.hubspot.com/scopes' },
    },
  )

export const tokenNotFound = (): Answer =>
  crmError(404, 'OBJECT_NOT_FOUND', 'The token is unknown, was deleted or has expired.')

export const tokenOfWrongFormat = (): Answer =>
  json(400, {
    status: 'error',
    message: 'The access token must have the correct format',
    correlationId: randomUUID(),
  })

export const pathNotFound = (): Answer => crmError(404, 'OBJECT_NOT_FOUND', 'resource not found')

export const rateLimited = (hubId: number | null): Answer => {
  const groupName = `publicapi:public-api-calls-per-ten-seconds:${hubId ?? 0}`
  return tooManyCalls('You have reached your ten_secondly_rolling limit.', 'TEN_SECONDLY_ROLLING', { groupName })
}

export const tokenRateLimited = (): Answer => tooManyCalls('You have reached your rate limit.', 'SECONDLY', {})

function tooManyCalls(message: string, policyName: string, more: object): Answer {
  const correlationId = randomUUID()
  return json(429, { status: 'error', message, errorType: 'RATE_LIMIT', correlationId, policyName, ...more })
}

const MESSAGES: Record<number, readonly [category: string, message: string]> = {
  400: ['VALIDATION_ERROR', 'Invalid input JSON'],
  403: ['FORBIDDEN', 'This account may not make this call.'],
  404: ['OBJECT_NOT_FOUND', 'resource not found'],
  423: ['LOCKED', 'The resource is locked. Try again in a moment.'],
  477: ['MIGRATION_IN_PROGRESS', 'This account is being migrated between data hosting locations.'],
  500: ['INTERNAL_ERROR', 'internal error'],
  502: ['GATEWAY_ERROR', 'bad gateway'],
  503: ['SERVICE_UNAVAILABLE', 'service unavailable'],
  504: ['TIMEOUT', 'gateway timeout'],
}

export const anyError = (status: number): Answer => {
  const [category, message] = MESSAGES[status] ?? [status < 500 ? 'VALIDATION_ERROR' : 'INTERNAL_ERROR', 'error']
  return crmError(status, category, message)
}

/** The token endpoint's usual answer with this status. */
export function usualTokenError(status: number, grant: GrantType | undefined): Answer {
  if (status === 400) return oauthRefusal(grant === 'authorization_code' ? 'unknown-code' : 'unknown-refresh-token')
  if (status === 401) return oauthRefusal('unknown-client', 401)
  return status === 429 ? tokenRateLimited() : anyError(status)
}

/** The usual answer of token metadata and deletion with this status. */
export function usualMetadataError(status: number): Answer {
  if (status === 400) return tokenOfWrongFormat()
  if (status === 401) return invalidAuthentication()
  if (status === 404) return tokenNotFound()
  return status === 429 ? tokenRateLimited() : anyError(status)
}

/** The usual answer of a limits endpoint with this status. */
export function usualLimitsError(
  status: number,
  { hubId, now, scopes }: { hubId: number | null; now: number; scopes: readonly string[] },
): Answer {
  // Clients keep well-formed tokens, so in practice the provider's 401 is about the time.
  if (status === 401) return expiredAuthentication(now, now)
  if (status === 403) return missingScopes(scopes)
  return status === 429 ? rateLimited(hubId) : anyError(status)
}
