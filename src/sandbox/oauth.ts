import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Answer, json, noContent } from './answer.ts'
import type { GrantType } from './journal.ts'
import {
  missingParameter,
  oauthRefusal,
  tokenNotFound,
  tokenOfWrongFormat,
  tokenRateLimited,
  usualMetadataError,
  usualTokenError,
} from './provider-errors.ts'
import { type Caller, formOf, provide, type RegisteredApp, type SandboxParts } from './provider-route.ts'
import type { AccessToken, Approval, IssuedTokens, World } from './world.ts'

/**
 * The OAuth endpoints. In v1 the paths of metadata and deletion carry the token. In its announced successors tokens only ever
 * travel in form bodies, and each call names the app.
 */
export function serveOAuth(server: FastifyInstance, parts: SandboxParts): void {
  serveToken(server, parts, '/oauth/v1/token', () => ({}))
  serveV1Tokens(server, parts)
  for (const version of ['2026-03', '2026-09']) {
    serveToken(server, parts, `/oauth/${version}/token`, ({ account, scopes }) => ({
      hub_id: account.hubId,
      user_id: account.userId,
      scopes,
      token_use: 'access_token',
    }))
    serveTokensInForms(server, parts, `/oauth/${version}/token`)
  }
}

function serveToken(
  server: FastifyInstance,
  parts: SandboxParts,
  path: string,
  more: (grant: Approval) => object,
): void {
  provide(server, parts, {
    method: 'POST',
    path,
    endpoint: 'token',
    identify: (request) => grantCaller(request, parts.world),
    usualError: (status, { grant }) => usualTokenError(status, grant),
    answer: (request) => {
      const secondsToWait = parts.tokenLimit.take(parts.clock.now())
      if (secondsToWait !== undefined) return tokenRateLimited(secondsToWait)
      const tokens = redeem(formOf(request), parts)
      if ('status' in tokens) return tokens
      const { accessToken, refreshToken, expiresIn } = tokens
      return json(200, {
        token_type: 'bearer',
        refresh_token: refreshToken,
        access_token: accessToken.token,
        expires_in: expiresIn,
        ...more(accessToken.grant),
      })
    },
  })
}

/** Finds the account of a code or refresh token. */
function grantCaller(request: FastifyRequest, world: World): Caller {
  const form = formOf(request)
  const grant = form?.get('grant_type')
  if (grant === 'authorization_code') return { grant, hubId: world.hubIdOfCode(form?.get('code') ?? '') }
  if (grant === 'refresh_token') return { grant, hubId: world.hubIdOfRefreshToken(form?.get('refresh_token') ?? '') }
  return { hubId: null }
}

const REQUIRED: Record<GrantType, readonly string[]> = {
  authorization_code: ['code', 'redirect_uri', 'client_id', 'client_secret'],
  refresh_token: ['refresh_token', 'client_id', 'client_secret'],
}

/** Tokens for the code or refresh token in the form, in either dialect, or the answer that refuses it. */
function redeem(form: URLSearchParams | undefined, { world, app }: SandboxParts): IssuedTokens | Answer {
  if (form === undefined) return oauthRefusal('no-form')
  const grant = form.get('grant_type') ?? ''
  if (grant === '') return missingParameter('grant_type')
  if (!isSupported(grant)) return oauthRefusal('other-grant-type')
  const refusal = formRefusal(form, REQUIRED[grant], app)
  if (refusal !== undefined) return refusal
  const tokens =
    grant === 'authorization_code'
      ? world.redeemCode(form.get('code') ?? '', form.get('redirect_uri') ?? '')
      : world.refresh(form.get('refresh_token') ?? '')
  return typeof tokens === 'string' ? oauthRefusal(tokens) : tokens
}

function isSupported(grant: string): grant is GrantType {
  return Object.hasOwn(REQUIRED, grant)
}

/** Nothing if the form is complete and carries the app's own credentials. */
function formRefusal(form: URLSearchParams, required: readonly string[], app: RegisteredApp): Answer | undefined {
  const missing = required.find((name) => !form.get(name))
  if (missing !== undefined) return missingParameter(missing)
  if (form.get('client_id') !== app.clientId) return oauthRefusal('unknown-client')
  return form.get('client_secret') === app.clientSecret ? undefined : oauthRefusal('wrong-secret')
}

function serveV1Tokens(server: FastifyInstance, parts: SandboxParts): void {
  const { world, app } = parts
  const tokenInPath = (request: FastifyRequest) => (request.params as { token: string }).token
  const ofRefreshToken = {
    path: '/oauth/v1/refresh-tokens/:token',
    identify: (request: FastifyRequest): Caller => ({ hubId: world.hubIdOfRefreshToken(tokenInPath(request)) }),
    usualError: usualMetadataError,
  }

  provide(server, parts, {
    method: 'GET',
    path: '/oauth/v1/access-tokens/:token',
    endpoint: 'metadata',
    identify: (request) => ({ hubId: world.hubIdOfAccessToken(tokenInPath(request)) }),
    usualError: usualMetadataError,
    answer: (request) => {
      const text = tokenInPath(request)
      if (text.startsWith('pat-')) return tokenOfWrongFormat()
      const token = world.accessToken(text)
      if (token === undefined || world.isExpired(token)) return tokenNotFound()
      return json(200, accessTokenMetadata(token, world))
    },
  })
  provide(server, parts, {
    ...ofRefreshToken,
    method: 'GET',
    endpoint: 'metadata',
    answer: (request) => {
      const token = tokenInPath(request)
      const grant = world.refreshToken(token)
      return grant === undefined ? tokenNotFound() : json(200, refreshTokenMetadata(token, grant, app.clientId))
    },
  })
  provide(server, parts, {
    ...ofRefreshToken,
    method: 'DELETE',
    endpoint: 'delete',
    answer: (request) => (world.deleteRefreshToken(tokenInPath(request)) ? noContent() : tokenNotFound()),
  })
}

function serveTokensInForms(server: FastifyInstance, parts: SandboxParts, path: string): void {
  const { world, app } = parts
  const serve = (action: string, endpoint: 'metadata' | 'delete', answer: (token: string) => Answer) =>
    provide(server, parts, {
      method: 'POST',
      path: `${path}/${action}`,
      endpoint,
      identify: (request) => {
        const token = formOf(request)?.get('token') ?? ''
        return { hubId: world.hubIdOfAccessToken(token) ?? world.hubIdOfRefreshToken(token) }
      },
      usualError: usualMetadataError,
      answer: (request) => {
        const form = formOf(request)
        if (form === undefined) return oauthRefusal('no-form')
        return formRefusal(form, ['client_id', 'client_secret', 'token'], app) ?? answer(form.get('token') ?? '')
      },
    })
  serve('introspect', 'metadata', (token) => json(200, introspection(token, parts)))
  serve('revoke', 'delete', (token) => {
    // RFC 7009, section 2.2: 200, also for a token that isn't known, as it is as good as revoked.
    world.deleteRefreshToken(token)
    return { status: 200, body: '' }
  })
}

function introspection(text: string, { world, app }: SandboxParts): object {
  const token = world.accessToken(text)
  if (token !== undefined && !world.isExpired(token)) {
    return {
      active: true,
      ...accessTokenMetadata(token, world),
      client_id: app.clientId,
      token_use: 'access_token',
      is_private_distribution: false,
    }
  }
  const grant = world.refreshToken(text)
  if (grant === undefined) return { active: false }
  const metadata = refreshTokenMetadata(text, grant, app.clientId)
  return { active: true, ...metadata, app_id: APP_ID, token_use: 'refresh_token' }
}

/** The app's id at the provider. */
const APP_ID = 2_210_331

/** Everything that is known of a live access token: the fields of the v1 metadata endpoint. */
function accessTokenMetadata(token: AccessToken, world: World): object {
  return {
    token: token.token,
    ...grantFields(token.grant),
    signed_access_token: signedAccessToken(token),
    app_id: APP_ID,
    expires_in: world.secondsLeft(token),
    token_type: 'access',
  }
}

function refreshTokenMetadata(token: string, grant: Approval, clientId: string): object {
  return { token, ...grantFields(grant), client_id: clientId, token_type: 'refresh' }
}

function grantFields({ account, scopes }: Approval): object {
  const { user, hubDomain, hubId, userId } = account
  return { user, hub_domain: hubDomain, scopes, hub_id: hubId, user_id: userId }
}

function signedAccessToken({ token, grant, expiresAt }: AccessToken): object {
  const { account, scopes } = grant
  return {
    expiresAt,
    scopes: encoded(scopes.join(' ')),
    hubId: account.hubId,
    userId: account.userId,
    appId: APP_ID,
    signature: encoded(token, 20),
    scopeToScopeGroupPks: encoded(`groups of ${scopes.join(' ')}`),
    newSignature: encoded(`new ${token}`, 32),
    hublet: 'na1',
    trialScopes: '',
    trialScopeToScopeGroupPks: '',
    isUserLevel: false,
  }
}

/** Opaque and one-way, but the same for the same thing: a client must not be able to read anything into it. */
function encoded(text: string, bytes = 12): string {
  return createHash('sha256').update(text).digest().subarray(0, bytes).toString('base64')
}
