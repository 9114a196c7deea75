import type { FastifyInstance, FastifyRequest } from 'fastify'
import { type Answer, json } from './answer.ts'
import { missingParameter, notAForm, usualMetadataError, usualTokenError } from './provider-errors.ts'
import { type Caller, formOf, provide, type SandboxParts } from './provider-route.ts'
import { clientRefusal, grantCaller, redeem } from './token-grant.ts'
import { APP_ID, accessTokenMetadata, refreshTokenMetadata } from './token-metadata.ts'

const VERSIONS = ['2026-03', '2026-09', 'v3']

/** The announced successor of v1: tokens only ever travel in form bodies, and each call names the app. */
export function serveOAuth2026(server: FastifyInstance, parts: SandboxParts): void {
  for (const version of VERSIONS) serveVersion(server, parts, `/oauth/${version}/token`)
}

function serveVersion(server: FastifyInstance, parts: SandboxParts, path: string): void {
  const { world } = parts

  provide(server, parts, {
    method: 'POST',
    path,
    endpoint: 'token',
    identify: (request) => grantCaller(request, world),
    usualError: (status, { grant }) => usualTokenError(status, grant),
    answer: (request) => {
      const outcome = redeem(request, parts)
      if ('refusal' in outcome) return outcome.refusal
      const { accessToken, refreshToken, expiresIn } = outcome.tokens
      const { account, scopes } = accessToken.grant
      return json(200, {
        token_type: 'bearer',
        refresh_token: refreshToken,
        access_token: accessToken.token,
        expires_in: expiresIn,
        hub_id: account.hubId,
        user_id: account.userId,
        scopes,
        token_use: 'access_token',
      })
    },
  })

  const identify = (request: FastifyRequest): Caller => {
    const token = formOf(request)?.get('token') ?? ''
    return { hubId: world.hubIdOfAccessToken(token) ?? world.hubIdOfRefreshToken(token) }
  }

  provide(server, parts, {
    method: 'POST',
    path: `${path}/introspect`,
    endpoint: 'metadata',
    identify,
    usualError: usualMetadataError,
    answer: (request) => withToken(request, parts, (token) => json(200, introspection(token, parts))),
  })

  provide(server, parts, {
    method: 'POST',
    path: `${path}/revoke`,
    endpoint: 'delete',
    identify,
    usualError: usualMetadataError,
    answer: (request) =>
      withToken(request, parts, (token) => {
        // RFC 7009, section 2.2: 200, also for a token that isn't known, as it is as good as revoked.
        world.deleteRefreshToken(token)
        const accessToken = world.accessToken(token)
        if (accessToken !== undefined) accessToken.revoked = true
        return { status: 200, body: '' }
      }),
  })
}

function withToken(request: FastifyRequest, { app }: SandboxParts, answer: (token: string) => Answer): Answer {
  const form = formOf(request)
  if (form === undefined) return notAForm()
  const missing = ['client_id', 'client_secret', 'token'].find((name) => !form.get(name))
  if (missing !== undefined) return missingParameter(missing)
  return clientRefusal(form, app) ?? answer(form.get('token') ?? '')
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
