import { createHash } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type Answer, json, noContent } from './answer.ts'
import {
  missingParameter,
  oauthRefusal,
  tokenNotFound,
  tokenRateLimited,
  usualMetadataError,
  usualTokenError,
} from './provider-errors.ts'
import { formOf, provide, type RegisteredApp, type SandboxParts } from './provider-route.ts'
import type { AccessToken, Approval, GrantRefusal, IssuedTokens, World } from './world.ts'

/**
 * The OAuth endpoints. In v1 the paths of metadata and deletion carry the token. In its announced successors tokens only ever
 * travel in form bodies, and each call names the app.
 */
export function serveOAuth(server: FastifyInstance, parts: SandboxParts): void {
  serveGrants(server, parts, '/oauth/v1/token', () => ({}))
  serveTokensInPaths(server, parts)
  for (const version of ['2026-03', '2026-09']) {
    const path = `/oauth/${version}/token`
    serveGrants(server, parts, path, ({ account, scopes }) => ({
      hub_id: account.hubId,
      user_id: account.userId,
      scopes,
      token_use: 'access_token',
    }))
    serveTokensInForms(server, parts, path)
  }
}

const text = z.string().min(1)
const appFields = { client_id: text, client_secret: text }
const exchangeShape = z.object({ code: text, redirect_uri: text, ...appFields })
const refreshShape = z.object({ refresh_token: text, ...appFields })
const tokenShape = z.object({ ...appFields, token: text })

type Form = Record<string, string> | undefined

/** The answer to a form of this shape with the app's own credentials, or its refusal. */
function answerForm<T extends { client_id: string; client_secret: string }>(
  form: Form,
  shape: z.ZodType<T>,
  app: RegisteredApp,
  answer: (fields: T) => Answer,
): Answer {
  if (form === undefined) return oauthRefusal('no-form')
  const { data, error } = shape.safeParse(form)
  if (error !== undefined) return missingParameter(String(error.issues[0]?.path[0]))
  if (data.client_id !== app.clientId) return oauthRefusal('unknown-client')
  return data.client_secret === app.clientSecret ? answer(data) : oauthRefusal('wrong-secret')
}

function serveGrants(
  server: FastifyInstance,
  parts: SandboxParts,
  path: string,
  more: (grant: Approval) => object,
): void {
  const { world, app, clock } = parts
  const issued = (tokens: IssuedTokens | GrantRefusal) => {
    if (typeof tokens === 'string') return oauthRefusal(tokens)
    const { accessToken, refreshToken, expiresIn } = tokens
    return json(200, {
      token_type: 'bearer',
      refresh_token: refreshToken,
      access_token: accessToken.token,
      expires_in: expiresIn,
      ...more(accessToken.grant),
    })
  }
  provide(server, parts, {
    method: 'POST',
    path,
    endpoint: 'token',
    identify: (request) => {
      const { grant_type: grant, code = '', refresh_token = '' } = formOf(request) ?? {}
      if (grant === 'authorization_code') return { grant, hubId: world.hubIdOf(code) }
      return grant === 'refresh_token' ? { grant, hubId: world.hubIdOf(refresh_token) } : { hubId: null }
    },
    usualError: (status, { grant }) => usualTokenError(status, grant),
    answer: (request, { grant }) => {
      const now = clock.now()
      if (world.grantRate !== undefined && world.grantRate.take(now) < 0) {
        const seconds = Math.max(1, Math.ceil(world.grantRate.msUntilRoom(now) / 1000))
        const { headers, ...refusal } = tokenRateLimited()
        return { ...refusal, headers: { ...headers, 'retry-after': String(seconds) } }
      }
      const form = formOf(request)
      if (grant === 'authorization_code') {
        return answerForm(form, exchangeShape, app, (fields) =>
          issued(world.redeemCode(fields.code, fields.redirect_uri)),
        )
      }
      if (grant === 'refresh_token') {
        return answerForm(form, refreshShape, app, (fields) => issued(world.refresh(fields.refresh_token)))
      }
      if (form === undefined) return oauthRefusal('no-form')
      return form.grant_type ? oauthRefusal('other-grant-type') : missingParameter('grant_type')
    },
  })
}

function serveTokensInPaths(server: FastifyInstance, parts: SandboxParts): void {
  const { world, app } = parts
  const serve = (
    method: 'GET' | 'DELETE',
    kind: 'access-tokens' | 'refresh-tokens',
    answer: (token: string) => Answer,
  ) => {
    const tokenIn = (request: FastifyRequest) => (request.params as { token: string }).token
    provide(server, parts, {
      method,
      path: `/oauth/v1/${kind}/:token`,
      endpoint: method === 'GET' ? 'metadata' : 'delete',
      identify: (request) => ({ hubId: world.hubIdOf(tokenIn(request)) }),
      usualError: usualMetadataError,
      answer: (request) => answer(tokenIn(request)),
    })
  }
  serve('GET', 'access-tokens', (text) => {
    const token = world.accessToken(text)
    return token === undefined || world.isExpired(token)
      ? tokenNotFound()
      : json(200, accessTokenMetadata(token, world))
  })
  serve('GET', 'refresh-tokens', (token) => {
    const grant = world.refreshToken(token)
    return grant === undefined ? tokenNotFound() : json(200, refreshTokenMetadata(token, grant, app.clientId))
  })
  serve('DELETE', 'refresh-tokens', (token) => (world.deleteRefreshToken(token) ? noContent() : tokenNotFound()))
}

function serveTokensInForms(server: FastifyInstance, parts: SandboxParts, path: string): void {
  const { world, app } = parts
  const serve = (action: string, endpoint: 'metadata' | 'delete', answer: (token: string) => Answer) =>
    provide(server, parts, {
      method: 'POST',
      path: `${path}/${action}`,
      endpoint,
      identify: (request) => ({ hubId: world.hubIdOf(formOf(request)?.token ?? '') }),
      usualError: usualMetadataError,
      answer: (request) => answerForm(formOf(request), tokenShape, app, ({ token }) => answer(token)),
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
  return {
    active: true,
    ...refreshTokenMetadata(text, grant, app.clientId),
    app_id: APP_ID,
    token_use: 'refresh_token',
  }
}

/** The app's id at the provider. */
const APP_ID = 2_210_331

/** Everything that is known of a live access token: the fields of the v1 metadata endpoint. */
function accessTokenMetadata(accessToken: AccessToken, world: World): object {
  const { token, grant, expiresAt } = accessToken
  const scopes = grant.scopes.join(' ')
  return {
    token,
    ...grantFields(grant),
    signed_access_token: {
      expiresAt,
      scopes: encoded(scopes),
      hubId: grant.account.hubId,
      userId: grant.account.userId,
      appId: APP_ID,
      signature: encoded(token),
      scopeToScopeGroupPks: encoded(`groups of ${scopes}`),
      newSignature: encoded(`new ${token}`),
      hublet: 'na1',
      trialScopes: '',
      trialScopeToScopeGroupPks: '',
      isUserLevel: false,
    },
    app_id: APP_ID,
    expires_in: world.secondsLeft(accessToken),
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

/** Opaque and one-way, but the same for the same thing: a client must not be able to read anything into it. */
function encoded(text: string): string {
  return createHash('sha256').update(text).digest('base64')
}
