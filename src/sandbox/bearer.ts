import type { FastifyRequest } from 'fastify'
import type { Answer } from './answer.ts'
import { expiredAuthentication, invalidAuthentication, missingScopes, rateLimited } from './provider-errors.ts'
import type { Caller, SandboxParts } from './provider-route.ts'
import { RATE_LIMIT, type RateLimit } from './rate-limit.ts'

/** The account of the access token that a request carries, even if the token has expired. */
export function bearerCaller(request: FastifyRequest, { world }: Pick<SandboxParts, 'world'>): Caller {
  const { from, to } = request.params as { from?: string; to?: string }
  return { hubId: world.hubIdOfAccessToken(bearerOf(request)), from: clipped(from), to: clipped(to) }
}

/** Lets a call through that comes with a live token, within its account's rate and scopes. */
export function withAccount(
  request: FastifyRequest,
  { world, clock }: Pick<SandboxParts, 'world' | 'clock'>,
  rate: RateLimit,
  answer: (hubId: number, headers: Readonly<Record<string, string>>) => Answer,
): Answer {
  const token = world.accessToken(bearerOf(request))
  if (token === undefined) return invalidAuthentication()
  const now = clock.now()
  if (world.isExpired(token)) return expiredAuthentication(token.expiresAt, now)
  const { hubId } = token.grant.account
  const remaining = rate.take(hubId, now)
  if (remaining < 0) return rateLimited(hubId)
  if (!token.grant.readsLimits) return missingScopes()
  return answer(hubId, { ...RATE_HEADERS, 'x-hubspot-ratelimit-remaining': String(remaining) })
}

const RATE_HEADERS = {
  'x-hubspot-ratelimit-interval-milliseconds': String(RATE_LIMIT.perMs),
  'x-hubspot-ratelimit-max': String(RATE_LIMIT.requests),
}

function bearerOf(request: FastifyRequest): string {
  return /^bearer +(\S+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? ''
}

/** The journal keeps object type ids, not other text in their place. */
function clipped(id: string | undefined): string | undefined {
  return id?.slice(0, 40)
}
