import type { FastifyRequest } from 'fastify'
import type { Answer } from './answer.ts'
import type { GrantType } from './journal.ts'
import {
  badAuthCode,
  badClientId,
  badClientSecret,
  badGrantType,
  badHub,
  badRedirectUri,
  badRefreshToken,
  expiredAuthCode,
  missingParameter,
  notAForm,
  tokenRateLimited,
} from './provider-errors.ts'
import { type Caller, formOf, type RegisteredApp, type SandboxParts } from './provider-route.ts'
import type { IssuedTokens, World } from './world.ts'

/** Whose code or refresh token this is. */
export function grantCaller(request: FastifyRequest, world: World): Caller {
  const form = formOf(request)
  const grant = form?.get('grant_type')
  if (grant === 'authorization_code') return { grant, hubId: world.hubIdOfCode(form?.get('code') ?? '') }
  if (grant === 'refresh_token') return { grant, hubId: world.hubIdOfRefreshToken(form?.get('refresh_token') ?? '') }
  return { hubId: null }
}

/** Tokens for the code or refresh token in the form, in either dialect; a refusal is the answer to send. */
export function redeem(
  request: FastifyRequest,
  { world, app, tokenLimit, clock }: Pick<SandboxParts, 'world' | 'app' | 'tokenLimit' | 'clock'>,
): { tokens: IssuedTokens } | { refusal: Answer } {
  const secondsToWait = tokenLimit.take(clock.now())
  if (secondsToWait !== undefined) return { refusal: tokenRateLimited(secondsToWait) }
  const form = formOf(request)
  if (form === undefined) return { refusal: notAForm() }
  const grant = form.get('grant_type') ?? ''
  if (grant === '') return { refusal: missingParameter('grant_type') }
  if (!isSupported(grant)) return { refusal: badGrantType() }
  const missing = REQUIRED[grant].find((name) => !form.get(name))
  if (missing !== undefined) return { refusal: missingParameter(missing) }
  const stranger = clientRefusal(form, app)
  if (stranger !== undefined) return { refusal: stranger }
  return grant === 'authorization_code' ? redeemCode(form, world) : redeemRefreshToken(form, world)
}

/** Nothing if the form carries the app's own credentials. */
export function clientRefusal(form: URLSearchParams, app: RegisteredApp): Answer | undefined {
  if (form.get('client_id') !== app.clientId) return badClientId()
  if (form.get('client_secret') !== app.clientSecret) return badClientSecret()
  return undefined
}

const REQUIRED: Record<GrantType, readonly string[]> = {
  authorization_code: ['code', 'redirect_uri', 'client_id', 'client_secret'],
  refresh_token: ['refresh_token', 'client_id', 'client_secret'],
}

function isSupported(grant: string): grant is GrantType {
  return Object.hasOwn(REQUIRED, grant)
}

function redeemCode(form: URLSearchParams, world: World): { tokens: IssuedTokens } | { refusal: Answer } {
  const tokens = world.redeemCode(form.get('code') ?? '', form.get('redirect_uri') ?? '')
  if (tokens === 'unknown-code') return { refusal: badAuthCode() }
  if (tokens === 'expired-code') return { refusal: expiredAuthCode() }
  if (tokens === 'other-redirect-uri') return { refusal: badRedirectUri() }
  return { tokens }
}

function redeemRefreshToken(form: URLSearchParams, world: World): { tokens: IssuedTokens } | { refusal: Answer } {
  const tokens = world.refresh(form.get('refresh_token') ?? '')
  if (tokens === 'unknown-refresh-token') return { refusal: badRefreshToken() }
  return tokens === 'deleted-account' ? { refusal: badHub() } : { tokens }
}
