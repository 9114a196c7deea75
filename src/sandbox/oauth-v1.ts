import type { FastifyInstance, FastifyRequest } from 'fastify'
import { json, noContent } from './answer.ts'
import { tokenNotFound, tokenOfWrongFormat, usualMetadataError, usualTokenError } from './provider-errors.ts'
import { type Caller, provide, type SandboxParts } from './provider-route.ts'
import { grantCaller, redeem } from './token-grant.ts'
import { accessTokenMetadata, refreshTokenMetadata } from './token-metadata.ts'

/** The OAuth endpoints whose paths carry v1, where metadata and deletion name the token in the path. */
export function serveOAuthV1(server: FastifyInstance, parts: SandboxParts): void {
  const { world, app } = parts

  provide(server, parts, {
    method: 'POST',
    path: '/oauth/v1/token',
    endpoint: 'token',
    identify: (request) => grantCaller(request, world),
    usualError: (status, { grant }) => usualTokenError(status, grant),
    answer: (request) => {
      const outcome = redeem(request, parts)
      if ('refusal' in outcome) return outcome.refusal
      const { accessToken, refreshToken, expiresIn } = outcome.tokens
      return json(200, {
        token_type: 'bearer',
        refresh_token: refreshToken,
        access_token: accessToken.token,
        expires_in: expiresIn,
      })
    },
  })

  provide(server, parts, {
    method: 'GET',
    path: '/oauth/v1/access-tokens/:token',
    endpoint: 'metadata',
    identify: (request): Caller => ({ hubId: world.hubIdOfAccessToken(tokenInPath(request)) }),
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
    method: 'GET',
    path: '/oauth/v1/refresh-tokens/:token',
    endpoint: 'metadata',
    identify: (request): Caller => ({ hubId: world.hubIdOfRefreshToken(tokenInPath(request)) }),
    usualError: usualMetadataError,
    answer: (request) => {
      const token = tokenInPath(request)
      const grant = world.refreshToken(token)
      return grant === undefined ? tokenNotFound() : json(200, refreshTokenMetadata(token, grant, app.clientId))
    },
  })

  provide(server, parts, {
    method: 'DELETE',
    path: '/oauth/v1/refresh-tokens/:token',
    endpoint: 'delete',
    identify: (request): Caller => ({ hubId: world.hubIdOfRefreshToken(tokenInPath(request)) }),
    usualError: usualMetadataError,
    answer: (request) => (world.deleteRefreshToken(tokenInPath(request)) ? noContent() : tokenNotFound()),
  })
}

function tokenInPath(request: FastifyRequest): string {
  return (request.params as { token: string }).token
}
